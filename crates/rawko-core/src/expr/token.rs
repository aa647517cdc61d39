//! The tokenizer. Separate from the parser so that habits from other languages (`===`, `=`, `?.`) get help in one
//! place.

use super::problem::{ExprProblem, ExprSpan};
use crate::value::Value;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    Literal(Value),
    Name(String),
    Symbol(&'static str),
    End,
}

#[derive(Clone, Debug)]
pub(crate) struct ExprToken {
    pub(crate) kind: TokenKind,
    pub(crate) span: ExprSpan,
}

/// Longest first, so that `**` is not read as two stars.
const SYMBOLS: [&str; 31] = [
    "===", "!==", "**", "==", "!=", "<=", ">=", "<>", "&&", "||", "??", "?.", "=>", "=", "<", ">", "+", "-",
    "*", "/", "%", "~", "!", "?", ":", ".", ",", "(", ")", "[", "]",
];
const BRACES: [&str; 2] = ["{", "}"];

/// Returns the replacement of a symbol from another language.
fn foreign(symbol: &str) -> Option<&'static str> {
    match symbol {
        "===" => Some("write `==`; values of different types are never equal"),
        "!==" => Some("write `!=`; values of different types are never equal"),
        "<>" => Some("write `!=`"),
        "=" => Some("write `==` to compare; an expression cannot assign"),
        "=>" => Some("expressions cannot define functions; use `where`, `count` or `pluck` on lists of maps"),
        "?." => Some("write `.`; a field of null is null"),
        _ => None,
    }
}

/// Returns all tokens with `End` last, or every problem in the text.
pub(crate) fn tokens(text: &str) -> Result<Vec<ExprToken>, Vec<ExprProblem>> {
    let mut lexer = Lexer { text, at: 0, tokens: Vec::new(), problems: Vec::new() };
    while let Some(next) = lexer.skip_space() {
        lexer.token(next);
    }
    lexer.push(TokenKind::End, text.len());
    if lexer.problems.is_empty() { Ok(lexer.tokens) } else { Err(lexer.problems) }
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    tokens: Vec<ExprToken>,
    problems: Vec<ExprProblem>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) -> Option<char> {
        self.at = self.text.len() - self.rest().trim_start().len();
        self.rest().chars().next()
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        self.tokens.push(ExprToken { kind, span: ExprSpan::new(start, self.at) });
    }

    fn problem(&mut self, start: usize, message: impl Into<String>, help: Option<&str>) {
        self.problems.push(ExprProblem::syntax(ExprSpan::new(start, self.at), message, help));
    }

    fn token(&mut self, next: char) {
        match next {
            '\'' | '"' => self.string(next),
            '0'..='9' => self.number(),
            '_' => self.name(),
            letter if letter.is_alphabetic() => self.name(),
            _ => self.symbol(next),
        }
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|next| !keep(next)).unwrap_or(rest.len());
    }

    fn name(&mut self) {
        let start = self.at;
        self.take_while(|next| next.is_alphanumeric() || next == '_');
        self.push(TokenKind::Name(self.text[start..self.at].to_owned()), start);
    }

    fn number(&mut self) {
        let start = self.at;
        self.take_while(|next| next.is_ascii_digit());
        let mut whole = true;
        if self
            .rest()
            .strip_prefix('.')
            .is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_digit()))
        {
            whole = false;
            self.at += 1;
            self.take_while(|next| next.is_ascii_digit());
        }
        if self.exponent() {
            whole = false;
        }
        if self.rest().starts_with(|next: char| next.is_alphanumeric() || next == '_') {
            self.take_while(|next| next.is_alphanumeric() || next == '_');
            let help = "write a duration as a string: `duration('15m')`";
            return self.problem(start, "letters directly after a number", Some(help));
        }
        match number(&self.text[start..self.at], whole) {
            Some(value) => self.push(TokenKind::Literal(value), start),
            None => self.problem(start, "this number is too large", None),
        }
    }

    fn exponent(&mut self) -> bool {
        let Some(rest) = self.rest().strip_prefix(['e', 'E']) else { return false };
        let digits = rest.strip_prefix(['+', '-']).unwrap_or(rest);
        if !digits.starts_with(|next: char| next.is_ascii_digit()) {
            return false;
        }
        self.at = self.text.len() - digits.len();
        self.take_while(|next| next.is_ascii_digit());
        true
    }

    fn string(&mut self, quote: char) {
        let start = self.at;
        let mut content = String::new();
        self.at += 1;
        while let Some(next) = self.rest().chars().next() {
            let place = self.at;
            self.at += next.len_utf8();
            match next {
                '\\' => match self.escape() {
                    Some(escaped) => content.push(escaped),
                    None => {
                        let help =
                            "known escapes are \\n \\t \\r \\0 \\\\ \\' \\\" and \\u{1F600} or \\u00e9";
                        self.problem(place, "unknown escape in a string", Some(help));
                    }
                },
                end if end == quote => {
                    return self.push(TokenKind::Literal(Value::Str(content.into())), start);
                }
                other => content.push(other),
            }
        }
        self.problem(start, format!("this string has no closing {quote}"), None);
    }

    fn escape(&mut self) -> Option<char> {
        let next = self.rest().chars().next()?;
        self.at += next.len_utf8();
        match next {
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' => Some('\r'),
            '0' => Some('\0'),
            '\\' | '\'' | '"' | '/' => Some(next),
            'u' => self.code_point(),
            _ => None,
        }
    }

    /// Parses `\u{1F600}` or `\u00e9`; two of the latter may form a surrogate pair, as in JSON.
    fn code_point(&mut self) -> Option<char> {
        if let Some(rest) = self.rest().strip_prefix('{') {
            let digits = &rest[..rest.find('}')?];
            let code = u32::from_str_radix(digits, 16).ok()?;
            self.at += digits.len() + 2;
            return char::from_u32(code);
        }
        let first = self.four_digits()?;
        if !(0xD800..0xDC00).contains(&first) {
            return char::from_u32(first);
        }
        self.at += self.rest().strip_prefix("\\u").map(|_| 2)?;
        let second = self.four_digits()?.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
        char::from_u32(0x10000 + ((first - 0xD800) << 10) + second)
    }

    fn four_digits(&mut self) -> Option<u32> {
        let digits =
            self.rest().get(..4).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        let code = u32::from_str_radix(digits, 16).ok()?;
        self.at += 4;
        Some(code)
    }

    fn symbol(&mut self, next: char) {
        let start = self.at;
        let Some(symbol) = SYMBOLS.iter().chain(&BRACES).find(|symbol| self.rest().starts_with(**symbol))
        else {
            self.at += next.len_utf8();
            return self.problem(start, format!("unexpected character `{next}`"), stray(next));
        };
        self.at += symbol.len();
        match foreign(symbol) {
            Some(help) => {
                self.problem(start, format!("`{symbol}` is not an operator of expressions"), Some(help))
            }
            None => self.push(TokenKind::Symbol(symbol), start),
        }
    }
}

fn stray(next: char) -> Option<&'static str> {
    match next {
        '&' => Some("write `and` or `&&`"),
        '|' => Some("write `or` or `||`; a function is called as `f(x)`"),
        '$' => Some("the whole text is an expression; write `context.name` without `$` and braces"),
        '`' | '\u{2018}' | '\u{2019}' | '\u{201C}' | '\u{201D}' => Some("put strings in ' or \""),
        ';' => Some("an expression is one value, without `;`"),
        '^' => Some("write `**` for a power"),
        _ => None,
    }
}

/// Integers beyond 64 bits become floats, as the results of arithmetic do.
fn number(text: &str, whole: bool) -> Option<Value> {
    if whole && let Ok(value) = text.parse() {
        return Some(Value::Int(value));
    }
    text.parse().ok().filter(|value: &f64| value.is_finite()).map(Value::Float)
}
