//! Text in other languages than the shell's, as interpreters get it on a command line: where it is, and whether it may
//! start programs. Not a parser: a word that can start one is enough.

use std::sync::LazyLock;

use regex::Regex;

use super::word::Word;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScriptLanguage {
    Python,
    JavaScript,
    Perl,
    Ruby,
    Php,
    Lua,
}

/// Where an interpreter finds its program.
#[derive(Debug)]
pub(super) enum ScriptSource<'w> {
    /// Texts on the command line; `None` for one that is not known.
    Texts(Vec<Option<String>>),
    Input,
    File(&'w Word),
    /// It prints its version, or runs a module by name.
    Nothing,
}

impl ScriptLanguage {
    pub(crate) fn of_program(name: &str) -> Option<Self> {
        let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        Some(match stem {
            "python" | "pypy" | "ipython" => ScriptLanguage::Python,
            "node" | "nodejs" | "deno" | "bun" | "tsx" | "ts-node" => ScriptLanguage::JavaScript,
            "perl" => ScriptLanguage::Perl,
            "ruby" => ScriptLanguage::Ruby,
            "php" => ScriptLanguage::Php,
            "lua" | "luajit" => ScriptLanguage::Lua,
            _ => return None,
        })
    }

    /// Letters of short options with code, and long options with it.
    fn options(self) -> (&'static str, &'static [&'static str]) {
        match self {
            ScriptLanguage::Python => ("c", &[]),
            ScriptLanguage::JavaScript => ("ep", &["--eval", "--print"]),
            ScriptLanguage::Perl => ("eE", &[]),
            ScriptLanguage::Ruby | ScriptLanguage::Lua => ("e", &[]),
            ScriptLanguage::Php => ("rRBE", &["--run", "--process-code", "--process-begin", "--process-end"]),
        }
    }

    /// Letters of short options that take the rest of the word, or the next one.
    fn with_value(self) -> &'static str {
        match self {
            ScriptLanguage::Python => "mWXQ",
            ScriptLanguage::JavaScript => "rC",
            ScriptLanguage::Perl => "",
            ScriptLanguage::Ruby => "rICEKTWx",
            ScriptLanguage::Php => "dczSt",
            ScriptLanguage::Lua => "l",
        }
    }
}

/// Finds the program of an interpreter in its arguments.
pub(super) fn source(language: ScriptLanguage, args: &[Word]) -> ScriptSource<'_> {
    let (letters, longs) = language.options();
    let mut texts: Vec<Option<String>> = Vec::new();
    let mut rest = args.iter().peekable();
    let mut texts_of_modules: Vec<Option<String>> = Vec::new();
    let mut is_query = false;
    while let Some(word) = rest.next() {
        let text = word.prefix.as_str();
        let next = |rest: &mut std::iter::Peekable<std::slice::Iter<'_, Word>>| {
            rest.next().and_then(|word| word.known().map(str::to_owned))
        };
        if text == "-" {
            return if texts.is_empty() { ScriptSource::Input } else { ScriptSource::Texts(texts) };
        }
        if language == ScriptLanguage::JavaScript
            && ["eval", "repl", "exec"].contains(&text)
            && texts.is_empty()
        {
            let all: Vec<Option<String>> = rest.map(|word| word.known().map(str::to_owned)).collect();
            return if all.is_empty() { ScriptSource::Input } else { ScriptSource::Texts(all) };
        }
        if let Some(name) = text.strip_prefix("--").map(|long| long.split('=').next().unwrap_or_default()) {
            if longs.iter().any(|long| &long[2..] == name) {
                texts.push(match (word.known(), text.split_once('=')) {
                    (Some(_), Some((_, value))) => Some(value.to_owned()),
                    (Some(_), None) => next(&mut rest),
                    (None, _) => None,
                });
            } else if ["import", "loader", "experimental-loader"].contains(&name) {
                texts.push(Some(format!("import({text})")));
            }
            is_query |= ["version", "help", "check", "test", "watch"].contains(&name);
            continue;
        }
        let Some(bundle) = text.strip_prefix('-') else {
            if texts.is_empty() {
                return ScriptSource::File(word);
            }
            texts.extend(texts_of_modules);
            return ScriptSource::Texts(texts);
        };
        // The rest of such a word is a value: a module, a directory, the ending of backups.
        let bundle = match language {
            ScriptLanguage::Perl if bundle.starts_with(['m', 'M']) => {
                texts_of_modules.push(Some(bundle[1..].to_owned()));
                continue;
            }
            ScriptLanguage::Perl if bundle.starts_with(['I', 'd', 'D', 'V', 'x', 'C', 'F']) => continue,
            ScriptLanguage::Perl | ScriptLanguage::Ruby => {
                bundle.split(['i', 'F']).next().unwrap_or_default()
            }
            ScriptLanguage::Python
            | ScriptLanguage::JavaScript
            | ScriptLanguage::Php
            | ScriptLanguage::Lua => bundle,
        };
        if word.known().is_none() && !bundle.contains(|letter| letters.contains(letter)) {
            texts.push(None);
            continue;
        }
        is_query |= ["V", "v", "h", "l"].contains(&bundle) && language != ScriptLanguage::Lua;
        let ends = |letter: char| letters.contains(letter) || language.with_value().contains(letter);
        if let Some(at) = bundle.find(ends) {
            let letter = bundle[at..].chars().next().unwrap_or_default();
            let attached = &bundle[at + letter.len_utf8()..];
            // `-pe` of node, and `-i.bak` of perl before `-e`.
            let attached =
                if language == ScriptLanguage::JavaScript && attached == "e" { "" } else { attached };
            let value = match (attached.is_empty(), word.known()) {
                (true, _) => next(&mut rest),
                (false, Some(_)) => Some(attached.to_owned()),
                (false, None) => None,
            };
            if letters.contains(letter) {
                texts.push(value);
                if language == ScriptLanguage::Python {
                    return ScriptSource::Texts(texts);
                }
            } else if language == ScriptLanguage::Python && letter == 'm' {
                return match value.as_deref() {
                    Some("timeit") => {
                        ScriptSource::Texts(rest.map(|word| word.known().map(str::to_owned)).collect())
                    }
                    Some("code" | "pdb" | "runpy" | "idlelib") => ScriptSource::Input,
                    Some(_) => ScriptSource::Nothing,
                    None => ScriptSource::Texts(vec![None]),
                };
            }
        }
    }
    match (texts.is_empty(), is_query) {
        (false, _) => {
            texts.extend(texts_of_modules);
            ScriptSource::Texts(texts)
        }
        (true, true) => ScriptSource::Nothing,
        (true, false) => ScriptSource::Input,
    }
}

macro_rules! words {
    ($text:literal) => {
        LazyLock::new(|| Regex::new($text).ok())
    };
}

type ScriptWords = LazyLock<Option<Regex>>;

static PYTHON: ScriptWords = words!(
    r"(?x)\b(system|popen\w*|subprocess|exec[lv]?p?e?|execfile|posix[_]spawnp?|spawn\w*|fork\w*|eval|importlib|getattr
    |attrgetter|methodcaller|getmembers|globals|locals|vars|builtins|ctypes|cffi|pty|runpy|pickle|marshal|multiprocessing
    |pdb|timeit|startfile)\b
    |(^|[^.\w])compile\s*\(|sys\s*\.\s*modules
    |__(import|builtins|dict|class|subclasses|globals|getattribute|loader|self|mro|bases|code)\w*"
);
static JAVASCRIPT: ScriptWords = words!(
    r"(?x)child_process|\b(eval|Function|globalThis|constructor|Reflect|dlopen|createRequire|mainModule|worker_threads
    |getBuiltinModule|spawn\w*|execSync|execFile\w*|fork|vm|Bun|Deno|inspector|binding|_linkedBinding|prototype)\b|\bimport\s*\(|\bglobal\s*\[|\bthis\s*\["
);
static PERL: ScriptWords = words!(
    r"(?x)`|\b(system|exec|qx|open|eval|require|fork|syscall|CORE|IPC|POSIX|Inline|GLOB|can|readpipe|glob)\b
    |\bdo\s*[^\s\{]|&\s*[\{\$]|->\s*[\$&]|/[gimsxr]*ee|\*\{"
);
static RUBY: ScriptWords = words!(
    r"(?x)`|%x|\b(system|exec|spawn|p?open\w*|fork|\w*eval|\w*send|Open3|Kernel|method|const_get|syscall|load|autoload|Fiddle|PTY|ObjectSpace|IO|Process|define_method|instance_exec)\b"
);
static PHP: ScriptWords = words!(
    r"(?x)`|\b(exec|shell_exec|system|passthru|popen|proc_open|pcntl_\w+|eval|assert|create_function|call_user_func\w*|array_map|usort|include\w*|require\w*|FFI|dl|mail|Reflection\w*)\b|\$\w+\s*\(|\)\s*\("
);
static LUA: ScriptWords =
    words!(r"\b(os|io|load|loadstring|loadfile|dofile|require|package|debug|_G|_ENV|getfenv)\b");
static REQUIRE: ScriptWords = words!(r#"\brequire\s*\(\s*(?:"[\w@./: -]*"|'[\w@./: -]*')\s*\)"#);
static RUBY_REQUIRE: ScriptWords = words!(r#"\brequire(?:_relative)?\s*\(?\s*(?:"[\w./-]*"|'[\w./-]*')"#);

/// Returns a word of the text that can start a program.
pub(crate) fn starts_programs(language: ScriptLanguage, text: &str) -> Option<String> {
    // Letters that Python and others take for plain ones.
    let is_disguised = |letter: &char| matches!(*letter, '\u{ff00}'..='\u{ffef}' | '\u{1d400}'..='\u{1d7ff}' | '\u{2100}'..='\u{214f}' | '\u{2460}'..='\u{24ff}' | '\u{aa}' | '\u{ba}' | '\u{17f}');
    if let Some(letter) = text.chars().find(is_disguised) {
        return Some(letter.to_string());
    }
    let (words, text) = match language {
        ScriptLanguage::Python => (&PYTHON, text.to_owned()),
        ScriptLanguage::JavaScript => {
            let others = REQUIRE.as_ref().map_or_else(
                || text.to_owned(),
                |plain| {
                    plain
                        .replace_all(text, |found: &regex::Captures<'_>| {
                            let module = found.get(0).map_or("", |all| all.as_str());
                            let is_risky = ["child_process", "vm", "module", "cluster", "inspector", "repl"]
                                .iter()
                                .any(|risky| module.contains(risky));
                            if is_risky { "child_process".to_owned() } else { "0".to_owned() }
                        })
                        .into_owned()
                },
            );
            if others.contains("require") || others.contains("\\x") || others.contains("\\u") {
                return Some("require".to_owned());
            }
            (&JAVASCRIPT, others)
        }
        ScriptLanguage::Perl => (&PERL, text.to_owned()),
        ScriptLanguage::Ruby => {
            let plain = RUBY_REQUIRE.as_ref();
            let others =
                plain.map_or_else(|| text.to_owned(), |plain| plain.replace_all(text, "0").into_owned());
            if others.contains("require")
                || text.contains("open3")
                || text.contains("pty")
                || text.contains("fiddle")
            {
                return Some("require".to_owned());
            }
            (&RUBY, others)
        }
        ScriptLanguage::Php => (&PHP, text.to_owned()),
        ScriptLanguage::Lua => (&LUA, text.to_owned()),
    };
    match words.as_ref() {
        Some(words) => words.find(&text).map(|found| found.as_str().to_owned()),
        None => Some("?".to_owned()),
    }
}
