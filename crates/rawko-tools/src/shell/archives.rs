//! Archives, compressors and converters: read-only when they list or print.

use super::options::{has_letter, may_mean};
use super::read_only::any;
use super::word::Word;

/// `tar t…`, without options that run a program.
pub(super) fn tar(args: &[Word]) -> Option<String> {
    let texts: Vec<&str> = args.iter().filter_map(Word::known).collect();
    let first = texts.first().copied().unwrap_or_default();
    let letters: String = texts
        .iter()
        .enumerate()
        .filter(|(at, text)| {
            (*at == 0 && !text.starts_with('-')) || (text.starts_with('-') && !text.starts_with("--"))
        })
        .map(|(_, text)| text.trim_start_matches('-'))
        .collect();
    let lists = has_letter(first, 't')
        || (!first.starts_with('-') && first.contains('t'))
        || texts.iter().any(|text| has_letter(text, 't') || may_mean(text, "--list"));
    let is_plain = letters.chars().all(|letter| "tvfzjJaZO".contains(letter))
        || letters
            .split_once('f')
            .is_some_and(|(before, _)| before.chars().all(|letter| "tvzjJaZO".contains(letter)));
    let longs = [
        "--list",
        "--verbose",
        "--file",
        "--gzip",
        "--xz",
        "--bzip2",
        "--zstd",
        "--auto-compress",
        "--wildcards",
    ];
    let is_known = |text: &&&str| longs.iter().any(|long| text.split('=').next() == Some(long));
    let unknown = texts.iter().filter(|text| text.starts_with("--")).find(|text| !is_known(text));
    match (lists && is_plain, unknown) {
        (true, None) => None,
        (true, Some(option)) => Some(format!("`tar {option}` can change something")),
        (false, _) => Some("`tar` writes, unless it lists with `t`".into()),
    }
}

pub(super) fn unzip(args: &[Word]) -> Option<String> {
    let first = args.first().and_then(Word::known).unwrap_or_default();
    let lists = first.starts_with('-') && first.contains(['l', 'p', 'v', 't', 'Z', 'c', 'z']);
    let writes = any(args, "unzip", |text| has_letter(text, 'd') || has_letter(text, 'o'));
    if lists { writes } else { Some("`unzip` writes, unless it lists with `-l`".into()) }
}

/// `gzip -l`, `gunzip -c`: to standard output.
pub(super) fn compressor(args: &[Word]) -> Option<String> {
    let prints = |text: &str| {
        ["--stdout", "--to-stdout", "--list", "--test"].contains(&text)
            || ['c', 'l', 't'].iter().any(|letter| has_letter(text, *letter))
    };
    let is_printed = args.iter().filter_map(Word::known).any(prints);
    let writes = any(args, "the compressor", |text| {
        has_letter(text, 'o') || text.starts_with("--output") || text == "--rm"
    });
    if is_printed { writes } else { Some("a compressor replaces files, unless it prints with `-c`".into()) }
}

pub(super) fn ar(args: &[Word]) -> Option<String> {
    let first = args.first().and_then(Word::known).unwrap_or_default().trim_start_matches('-');
    let lists = first.starts_with(['t', 'p']) && first.chars().all(|letter| "tpvOV".contains(letter));
    (!lists).then(|| "`ar` writes, unless it lists with `t`".into())
}

/// The second file of `xxd` is written.
pub(super) fn xxd(args: &[Word]) -> Option<String> {
    const WITH_VALUE: [&str; 12] =
        ["-c", "-cols", "-g", "-groupsize", "-l", "-len", "-n", "-name", "-o", "-s", "-seek", "-R"];
    let (mut files, mut rest) = (0, args.iter());
    while let Some(word) = rest.next() {
        match word.known() {
            Some(text) if WITH_VALUE.contains(&text) => drop(rest.next()),
            Some(text) if text.starts_with('-') && text != "-" => {}
            _ => files += 1,
        }
    }
    (files > 1).then(|| "`xxd` writes its second file".into())
}

/// Prints only with `-` as its second file.
pub(super) fn pdftotext(args: &[Word]) -> Option<String> {
    let prints = args.last().is_some_and(|last| last.is("-"));
    (!prints).then(|| "`pdftotext` writes a file, unless its second argument is `-`".into())
}
