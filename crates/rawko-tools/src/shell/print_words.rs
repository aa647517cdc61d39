//! Prints words in their canonical form: literal text quoted, expansions from their parsed parts.

use brush_parser::word::{
    self, Parameter, ParameterExpr, ParameterTestType, ParameterTransformOp, SubstringMatchKind, TildeExpr,
    WordPiece, WordPieceWithSource,
};

use super::ansi_c;
use super::expansions::substitutions;
use super::print::{PrintResult, Unprintable, text, unprintable};
use super::walk::options;

/// Where a piece stands, which decides how it is quoted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum QuotePlace {
    Bare,
    /// Between double quotes.
    Quoted,
    /// In the text of `${x:-text}`, bare or between double quotes.
    Inside(bool),
}

pub(super) fn word(value: &str, depth: usize) -> PrintResult {
    let pieces = parsed(value)?;
    if pieces.is_empty() {
        return Ok("''".to_owned());
    }
    pieces_in(&pieces, QuotePlace::Bare, depth)
}

fn parsed(value: &str) -> Result<Vec<WordPieceWithSource>, Unprintable> {
    word::parse(value, &options()).map_err(|error| Unprintable(error.to_string()))
}

/// Prints the text of a here-document with expansions, as one double-quoted word.
pub(super) fn heredoc(value: &str, depth: usize) -> PrintResult {
    let pieces = word::parse_heredoc(value, &options()).map_err(|error| Unprintable(error.to_string()))?;
    Ok(format!("\"{}\"", pieces_in(&pieces, QuotePlace::Quoted, depth)?))
}

/// Prints the right side of `=~`. Quoting would make it plain text, so only an expression that needs none is accepted.
pub(super) fn regex(value: &str, depth: usize) -> PrintResult {
    let is_plain =
        |letter: char| letter.is_ascii_alphanumeric() || "_^$.*+?|()[]{}-/:,=@%\\".contains(letter);
    let is_variable = value.starts_with('$') || value.starts_with('"') || value.starts_with('\'');
    let mut open = 0_i32;
    let is_balanced = value.chars().all(|letter| {
        open += i32::from(letter == '(') - i32::from(letter == ')');
        open >= 0
    }) && open == 0;
    if !is_variable
        && value.chars().all(is_plain)
        && is_balanced
        && !value.contains("$(")
        && !value.contains("${")
    {
        return Ok(value.to_owned());
    }
    word(value, depth)
}

pub(super) fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn pieces_in(pieces: &[WordPieceWithSource], place: QuotePlace, depth: usize) -> PrintResult {
    let mut out = String::new();
    for (at, piece) in pieces.iter().enumerate() {
        let printed = piece_in(&piece.piece, place, (at == 0 && out.is_empty(), depth))?;
        out.push_str(&printed);
    }
    Ok(out)
}

fn piece_in(piece: &WordPiece, place: QuotePlace, (is_first, depth): (bool, usize)) -> PrintResult {
    Ok(match (piece, place) {
        (WordPiece::Text(text), QuotePlace::Bare) => bare(text)?,
        (WordPiece::Text(text), QuotePlace::Quoted) => quoted(text),
        (WordPiece::Text(text), QuotePlace::Inside(_)) => inside(text)?,
        (WordPiece::SingleQuotedText(text), QuotePlace::Bare | QuotePlace::Inside(false)) => {
            single_quoted(text)
        }
        (WordPiece::AnsiCQuotedText(text), QuotePlace::Bare | QuotePlace::Inside(false)) => {
            match ansi_c::decoded(text) {
                Some(text) => single_quoted(&text),
                None => return unprintable(format!("`$'{text}'` has an unusual escape")),
            }
        }
        (
            WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner),
            QuotePlace::Bare | QuotePlace::Inside(false),
        ) => format!("\"{}\"", pieces_in(inner, QuotePlace::Quoted, depth)?),
        (
            WordPiece::SingleQuotedText(_)
            | WordPiece::AnsiCQuotedText(_)
            | WordPiece::DoubleQuotedSequence(_)
            | WordPiece::GettextDoubleQuotedSequence(_),
            QuotePlace::Quoted | QuotePlace::Inside(true),
        ) => return unprintable("there are quotes within quotes: use a variable"),
        (WordPiece::TildeExpansion(tilde), QuotePlace::Bare) if is_first => match tilde {
            TildeExpr::Home => "~".to_owned(),
            TildeExpr::UserHome(user)
                if user.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c)) =>
            {
                format!("~{user}")
            }
            TildeExpr::WorkingDir => "~+".to_owned(),
            TildeExpr::OldWorkingDir => "~-".to_owned(),
            _ => return unprintable("`~` with a number"),
        },
        (WordPiece::TildeExpansion(_), _) => return unprintable("`~` within a word"),
        (WordPiece::ParameterExpansion(parameter), _) => {
            parameter_in(parameter, matches!(place, QuotePlace::Quoted | QuotePlace::Inside(true)), depth)?
        }
        (WordPiece::CommandSubstitution(line), _) => format!("$( {} )", text(line, depth + 1)?),
        (WordPiece::BackquotedCommandSubstitution(line), _) if !line.contains('\\') => {
            format!("$( {} )", text(line, depth + 1)?)
        }
        (WordPiece::BackquotedCommandSubstitution(_), _) => {
            return unprintable("there is a backslash between backquotes: write `$(…)`");
        }
        (WordPiece::EscapeSequence(text), QuotePlace::Bare) => match text.strip_prefix('\\') {
            Some("\n") => String::new(),
            Some("'") => "\\'".to_owned(),
            Some(rest) => single_quoted(rest),
            None => return unprintable("an unusual escape"),
        },
        (WordPiece::EscapeSequence(text), QuotePlace::Quoted) => text.clone(),
        (WordPiece::EscapeSequence(text), QuotePlace::Inside(_)) => match text.as_str() {
            "\\/" | "\\." | "\\*" | "\\?" | "\\[" | "\\]" | "\\-" | "\\ " | "\\:" => text.clone(),
            _ => return unprintable(format!("`{text}` within `${{…}}`")),
        },
        (WordPiece::ArithmeticExpression(expression), _) => {
            format!("$(({}))", calculated(&expression.value, depth)?)
        }
    })
}

/// Prints unquoted text: patterns and braces stay, everything else that bash could take for syntax is quoted.
fn bare(text: &str) -> PrintResult {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            _ if letter.is_ascii_alphanumeric() || "_-./:,=+@%^*?[]{}!".contains(letter) => out.push(letter),
            '`' | '\\' | '"' | '\'' | '|' | '&' | ';' | '<' | '>' | '(' | ')' | ' ' | '\t' | '\n' => {
                return unprintable(format!("`{}` stands unquoted in a word", letter.escape_default()));
            }
            _ => out.push_str(&single_quoted(&letter.to_string())),
        }
    }
    Ok(out)
}

fn quoted(text: &str) -> String {
    // A backslash before a newline joins the lines.
    let text = text.replace("\\\n", "");
    let mut out = String::new();
    for letter in text.chars() {
        if "\"\\$`".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

fn inside(text: &str) -> PrintResult {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:,=+@%^*?[] ".contains(letter);
    if text.chars().all(is_plain) {
        return Ok(text.to_owned());
    }
    // A letter beyond ASCII has no meaning to bash.
    match text.chars().all(|letter| is_plain(letter) || (!letter.is_ascii() && letter.is_alphanumeric())) {
        true => Ok(text.to_owned()),
        false => unprintable(format!("`{text}` within `${{…}}`: use a variable")),
    }
}

/// Prints arithmetic that may contain the output of commands.
pub(super) fn calculated(text: &str, depth: usize) -> PrintResult {
    let Some((outside, lines)) = substitutions(text).filter(|(_, lines)| !lines.is_empty()) else {
        return arithmetic(text);
    };
    // A number in place of each line: the text around them must be plain by itself.
    arithmetic(&outside.join("0"))?;
    let mut printed = String::new();
    for (at, around) in outside.iter().enumerate() {
        printed.push_str(around);
        if let Some(line) = lines.get(at) {
            printed.push_str(&format!("$( {} )", super::print::text(line, depth + 1)?));
        }
    }
    Ok(printed)
}

/// Prints arithmetic of numbers, variables and operators.
pub(super) fn arithmetic(text: &str) -> PrintResult {
    let text = text.trim();
    let is_plain =
        |letter: char| letter.is_ascii_alphanumeric() || "_ \t+-*/%<>=!&|^~?:,()#${}[]".contains(letter);
    let mut open = 0_i32;
    let mut is_balanced = true;
    for letter in text.chars() {
        open += i32::from(letter == '(') - i32::from(letter == ')');
        is_balanced &= open >= 0;
    }
    let mut rest = text;
    let mut is_simple = true;
    while let Some(at) = rest.find('$') {
        rest = &rest[at + 1..];
        let inner = rest.strip_prefix('{').map(|inner| inner.split('}').next().unwrap_or_default());
        let name = inner.unwrap_or(rest);
        let length = name.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').count();
        is_simple &= length > 0 && (inner.is_none() || length == name.len());
    }
    if text.chars().all(is_plain) && is_balanced && open == 0 && is_simple {
        return Ok(text.to_owned());
    }
    unprintable(format!("`{text}` is calculated"))
}

fn name(parameter: &Parameter) -> PrintResult {
    Ok(match parameter {
        Parameter::Positional(number) => number.to_string(),
        Parameter::Special(special) => special.to_string(),
        Parameter::Named(name) => name.clone(),
        Parameter::NamedWithIndex { name, index } => format!("{name}[{}]", arithmetic(index)?),
        Parameter::NamedWithAllIndices { name, concatenate } => {
            format!("{name}[{}]", if *concatenate { '*' } else { '@' })
        }
    })
}

fn parameter_in(expression: &ParameterExpr, is_quoted: bool, depth: usize) -> PrintResult {
    let operand = |text: &Option<String>| -> PrintResult {
        let Some(text) = text else { return Ok(String::new()) };
        pieces_in(&parsed(text)?, QuotePlace::Inside(is_quoted), depth + 1)
    };
    let colon = |test: &ParameterTestType| match test {
        ParameterTestType::UnsetOrNull => ":",
        ParameterTestType::Unset => "",
    };
    let (parameter, indirect, rest) = match expression {
        ParameterExpr::Parameter { parameter, indirect } => (parameter, indirect, String::new()),
        ParameterExpr::UseDefaultValues { parameter, indirect, test_type, default_value } => {
            (parameter, indirect, format!("{}-{}", colon(test_type), operand(default_value)?))
        }
        ParameterExpr::AssignDefaultValues { parameter, indirect, test_type, default_value } => {
            (parameter, indirect, format!("{}={}", colon(test_type), operand(default_value)?))
        }
        ParameterExpr::IndicateErrorIfNullOrUnset { parameter, indirect, test_type, error_message } => {
            (parameter, indirect, format!("{}?{}", colon(test_type), operand(error_message)?))
        }
        ParameterExpr::UseAlternativeValue { parameter, indirect, test_type, alternative_value } => {
            (parameter, indirect, format!("{}+{}", colon(test_type), operand(alternative_value)?))
        }
        ParameterExpr::ParameterLength { parameter, indirect: false } => {
            return Ok(format!("${{#{}}}", name(parameter)?));
        }
        ParameterExpr::RemoveSmallestSuffixPattern { parameter, indirect, pattern } => {
            (parameter, indirect, format!("%{}", operand(pattern)?))
        }
        ParameterExpr::RemoveLargestSuffixPattern { parameter, indirect, pattern } => {
            (parameter, indirect, format!("%%{}", operand(pattern)?))
        }
        ParameterExpr::RemoveSmallestPrefixPattern { parameter, indirect, pattern } => {
            (parameter, indirect, format!("#{}", operand(pattern)?))
        }
        ParameterExpr::RemoveLargestPrefixPattern { parameter, indirect, pattern } => {
            (parameter, indirect, format!("##{}", operand(pattern)?))
        }
        ParameterExpr::Substring { parameter, indirect, offset, length } => {
            let length = match length {
                Some(length) => format!(":{}", arithmetic(&length.value)?),
                None => String::new(),
            };
            // The space keeps a negative offset from being read as a default value.
            (parameter, indirect, format!(": {}{length}", arithmetic(&offset.value)?))
        }
        ParameterExpr::Transform { parameter, indirect, op } => {
            let op = match op {
                ParameterTransformOp::ToUpperCase => "U",
                ParameterTransformOp::CapitalizeInitial => "u",
                ParameterTransformOp::ToLowerCase => "L",
                ParameterTransformOp::Quoted => "Q",
                ParameterTransformOp::ExpandEscapeSequences => "E",
                _ => return unprintable("an unusual `${…@…}`"),
            };
            (parameter, indirect, format!("@{op}"))
        }
        ParameterExpr::UppercaseFirstChar { parameter, indirect, pattern } => {
            (parameter, indirect, format!("^{}", operand(pattern)?))
        }
        ParameterExpr::UppercasePattern { parameter, indirect, pattern } => {
            (parameter, indirect, format!("^^{}", operand(pattern)?))
        }
        ParameterExpr::LowercaseFirstChar { parameter, indirect, pattern } => {
            (parameter, indirect, format!(",{}", operand(pattern)?))
        }
        ParameterExpr::LowercasePattern { parameter, indirect, pattern } => {
            (parameter, indirect, format!(",,{}", operand(pattern)?))
        }
        ParameterExpr::ReplaceSubstring { parameter, indirect, pattern, replacement, match_kind } => {
            let sign = match match_kind {
                SubstringMatchKind::Prefix => "/#",
                SubstringMatchKind::Suffix => "/%",
                SubstringMatchKind::FirstOccurrence => "/",
                SubstringMatchKind::Anywhere => "//",
            };
            let pattern = operand(&Some(pattern.clone()))?;
            if pattern.starts_with(['/', '#', '%']) || pattern.replace("\\/", "").contains('/') {
                return unprintable("a `/` in the pattern of `${…/…}`");
            }
            let replacement = match replacement {
                Some(_) => format!("/{}", operand(replacement)?),
                None => String::new(),
            };
            (parameter, indirect, format!("{sign}{pattern}{replacement}"))
        }
        ParameterExpr::ParameterLength { indirect: true, .. }
        | ParameterExpr::VariableNames { .. }
        | ParameterExpr::MemberKeys { .. } => return unprintable("`${!…}` uses a value as a name"),
    };
    let indirect = if *indirect { "!" } else { "" };
    Ok(format!("${{{indirect}{}{rest}}}", name(parameter)?))
}

#[cfg(test)]
mod tests {
    use super::super::print::canonical;

    /// Includes lines that bash and the parser read differently.
    #[test]
    fn lines_are_printed_in_a_form_without_two_readings() {
        for (line, expected) in [
            ("ls -l # all", "ls -l"),
            ("ls \"a b\" 'c d' e\\ f", "ls \"a b\" 'c d' e' 'f"),
            ("echo `ls`", "echo $( ls )"),
            ("cat <<EOF\na $x\nEOF\n", "cat <<< \"a ${x}\""),
            ("cat <<'EOF'\na $x\nEOF\n", "cat <<< 'a $x'"),
            ("a=1 b=$(ls) cat x > y 2>&1", "a=1 b=$( ls ) cat x > y 2>&1"),
            ("if true; then ls; else pwd; fi", "if true; then ls; else pwd; fi"),
            ("for f in *.c; do wc -l \"$f\"; done | sort", "for f in *.c; do wc -l \"${f}\"; done | sort"),
            ("while read -r l; do echo $l; done < x", "while read -r l; do echo ${l}; done < x"),
            ("case $x in a|b) ls;; *) pwd;; esac", "case ${x} in (a | b) ls ;; (*) pwd ;; esac"),
            ("[[ -f x && $y == z* ]] && cat x", "[[ -f x && ${y} == z* ]] && cat x"),
            ("[ -f x ] && cat x", "[ -f x ] && cat x"),
            (
                "echo $((1 + x)) ${x:-a} ${f##*/} ${f%.c} ${#x}",
                "echo $((1 + x)) ${x:-a} ${f##*/} ${f%.c} ${#x}",
            ),
            ("diff <(sort a) <(sort b)", "diff <( sort a ) <( sort b )"),
            ("f() { ls; }; f", "f() { ls; }; f"),
            ("(cd x && ls) & wait", "( cd x && ls ) & wait"),
            ("! grep -q x y", "! grep -q x y"),
            ("bash -c 'ls # x'", "bash -c 'ls'"),
            ("echo a{1,2} ~/x", "echo a{1,2} ~/x"),
            ("ls |& cat", "ls 2>&1 | cat"),
            ("echo \"a\\nb\" $'a\\tb'", "echo \"a\\\\nb\" 'a\tb'"),
            ("'if' x", "'if' x"),
            ("x\\=1 y", "x'='1 y"),
        ] {
            assert_eq!(canonical(line).as_deref(), Ok(expected), "{line}");
        }
    }
}
