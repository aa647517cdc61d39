//! The syntax tree of ECMAScript expressions and its parser.

use super::Untranslatable;
use super::token::{EcmaToken, tokens};

/// An ECMAScript expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Js {
    Number(f64),
    Text(String),
    Bool(bool),
    /// `null` and `undefined`: the same value for us.
    Null,
    Name(String),
    Member(Box<Js>, String),
    Index(Box<Js>, Box<Js>),
    Call(Box<Js>, Vec<Js>),
    Unary(&'static str, Box<Js>),
    Binary(&'static str, Box<Js>, Box<Js>),
    Conditional(Box<Js>, Box<Js>, Box<Js>),
    List(Vec<Js>),
    Object(Vec<(String, Js)>),
}

/// Deeper nesting is rejected: an untrusted document must not exhaust the stack.
const DEPTH_MAX: usize = 60;

/// Limit of chained operators, fields and calls in one expression.
const OPERATIONS_MAX: usize = 200;

/// Binary operators, loosest first; all are left-associative.
const LEVELS: [&[&str]; 10] = [
    &["||", "??"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["===", "!==", "==", "!="],
    &["<", ">", "<=", ">=", "in", "instanceof"],
    &["<<", ">>", ">>>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// Parses one expression; a leading `return` and a trailing semicolon are allowed around it.
pub(crate) fn parse_expression(text: &str) -> Result<Js, Untranslatable> {
    let mut parser = EcmaParser::new(text)?;
    if parser.at_word("return") && parser.tokens.len() > 1 {
        parser.next();
    }
    let expression = parser.expression()?;
    parser.accept(";");
    match parser.peek() {
        None => Ok(expression),
        Some(EcmaToken::Sign("=" | "+=" | "-=" | "*=" | "/=" | "%=" | "++" | "--")) => {
            Err(Untranslatable::foreign("an expression that assigns"))
        }
        Some(EcmaToken::Sign("=>")) => Err(Untranslatable::foreign("a function")),
        Some(other) => Err(Untranslatable::Illegal(format!("unexpected {}", describe(other)))),
    }
}

pub(super) struct EcmaParser {
    tokens: Vec<EcmaToken>,
    at: usize,
    depth: usize,
    operations: usize,
}

impl EcmaParser {
    pub(super) fn new(text: &str) -> Result<Self, Untranslatable> {
        Ok(Self { tokens: tokens(text)?, at: 0, depth: 0, operations: 0 })
    }

    pub(super) fn peek(&self) -> Option<&EcmaToken> {
        self.tokens.get(self.at)
    }

    pub(super) fn next(&mut self) -> Option<EcmaToken> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    pub(super) fn at_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(EcmaToken::Word(found)) if found == word)
    }

    pub(super) fn accept(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(EcmaToken::Sign(found)) if *found == sign);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), Untranslatable> {
        if self.accept(sign) {
            return Ok(());
        }
        let found = self.peek().map_or("the end".to_owned(), describe);
        Err(Untranslatable::Illegal(format!("expected `{sign}`, found {found}")))
    }

    /// Resets the limit for the next statement of a script.
    pub(super) fn begin_statement(&mut self) {
        self.operations = 0;
    }

    pub(super) fn expression(&mut self) -> Result<Js, Untranslatable> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Untranslatable::foreign("an expression nested this deep"));
        }
        let condition = self.level(0)?;
        let result = if self.accept("?") {
            let yes = self.expression()?;
            self.expect(":")?;
            let no = self.expression()?;
            Js::Conditional(Box::new(condition), Box::new(yes), Box::new(no))
        } else {
            condition
        };
        self.depth -= 1;
        Ok(result)
    }

    fn level(&mut self, level: usize) -> Result<Js, Untranslatable> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1)?;
        while let Some(operator) = self.operator(operators) {
            self.at += 1;
            self.count()?;
            let right = self.level(level + 1)?;
            left = Js::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    /// Chains nest the tree without nesting the text; they are limited too.
    fn count(&mut self) -> Result<(), Untranslatable> {
        self.operations += 1;
        if self.operations > OPERATIONS_MAX {
            return Err(Untranslatable::foreign("an expression this long"));
        }
        Ok(())
    }

    fn operator(&self, operators: &[&'static str]) -> Option<&'static str> {
        match self.peek()? {
            EcmaToken::Sign(sign) => operators.iter().copied().find(|operator| operator == sign),
            EcmaToken::Word(word) => operators.iter().copied().find(|operator| operator == word),
            EcmaToken::Number(_) | EcmaToken::Text(_) => None,
        }
    }

    fn unary(&mut self) -> Result<Js, Untranslatable> {
        for sign in ["!", "-", "+"] {
            if self.accept(sign) {
                return self.operand(sign);
            }
        }
        match self.peek() {
            Some(EcmaToken::Sign("++" | "--")) => Err(Untranslatable::foreign("an expression that assigns")),
            Some(EcmaToken::Word(word)) if word == "typeof" => {
                self.at += 1;
                self.operand("typeof")
            }
            Some(EcmaToken::Word(word))
                if matches!(word.as_str(), "new" | "delete" | "void" | "function" | "class" | "await") =>
            {
                Err(Untranslatable::foreign(format!("`{word}`")))
            }
            _ => self.postfix(),
        }
    }

    fn operand(&mut self, operator: &str) -> Result<Js, Untranslatable> {
        let operator = ["!", "-", "+", "typeof"].into_iter().find(|known| *known == operator).unwrap_or("!");
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Untranslatable::foreign("an expression nested this deep"));
        }
        let operand = self.unary()?;
        self.depth -= 1;
        Ok(match (operator, operand) {
            ("-", Js::Number(number)) => Js::Number(-number),
            ("+", Js::Number(number)) => Js::Number(number),
            (operator, operand) => Js::Unary(operator, Box::new(operand)),
        })
    }

    fn postfix(&mut self) -> Result<Js, Untranslatable> {
        let mut value = self.primary()?;
        loop {
            if self.accept(".") || self.accept("?.") {
                match self.next() {
                    Some(EcmaToken::Word(name)) => value = Js::Member(Box::new(value), name),
                    _ => return Err(Untranslatable::Illegal("a dot without a name".to_owned())),
                }
            } else if self.accept("[") {
                let index = self.expression()?;
                self.expect("]")?;
                value = match index {
                    Js::Text(name) => Js::Member(Box::new(value), name),
                    index => Js::Index(Box::new(value), Box::new(index)),
                };
            } else if self.accept("(") {
                value = Js::Call(Box::new(value), self.list(")")?);
            } else {
                return Ok(value);
            }
            self.count()?;
        }
    }

    fn primary(&mut self) -> Result<Js, Untranslatable> {
        match self.next() {
            Some(EcmaToken::Number(number)) => Ok(Js::Number(number)),
            Some(EcmaToken::Text(text)) => Ok(Js::Text(text)),
            Some(EcmaToken::Word(word)) => named(word),
            Some(EcmaToken::Sign("(")) => {
                let inner = self.expression()?;
                self.expect(")")?;
                Ok(inner)
            }
            Some(EcmaToken::Sign("[")) => Ok(Js::List(self.list("]")?)),
            Some(EcmaToken::Sign("{")) => self.object(),
            Some(other) => Err(Untranslatable::Illegal(format!("unexpected {}", describe(&other)))),
            None => Err(Untranslatable::Illegal("unexpected end".to_owned())),
        }
    }

    fn list(&mut self, end: &str) -> Result<Vec<Js>, Untranslatable> {
        let mut items = Vec::new();
        while !self.accept(end) {
            items.push(self.expression()?);
            if !self.accept(",") {
                self.expect(end)?;
                break;
            }
        }
        Ok(items)
    }

    fn object(&mut self) -> Result<Js, Untranslatable> {
        let mut entries = Vec::new();
        while !self.accept("}") {
            let key = match self.next() {
                Some(EcmaToken::Word(key) | EcmaToken::Text(key)) => key,
                Some(EcmaToken::Number(number)) => number.to_string(),
                _ => return Err(Untranslatable::Illegal("a key of an object".to_owned())),
            };
            self.expect(":")?;
            entries.push((key, self.expression()?));
            if !self.accept(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(Js::Object(entries))
    }
}

fn named(word: String) -> Result<Js, Untranslatable> {
    match word.as_str() {
        "true" => Ok(Js::Bool(true)),
        "false" => Ok(Js::Bool(false)),
        "null" | "undefined" => Ok(Js::Null),
        "this" => Err(Untranslatable::foreign("`this`")),
        "return" | "continue" | "break" | "if" | "else" | "for" | "while" | "var" | "let" | "const"
        | "in" | "throw" => Err(Untranslatable::Illegal(format!("`{word}` is not an expression"))),
        _ => Ok(Js::Name(word)),
    }
}

fn describe(token: &EcmaToken) -> String {
    match token {
        EcmaToken::Number(number) => format!("`{number}`"),
        EcmaToken::Text(text) => format!("'{text}'"),
        EcmaToken::Word(word) => format!("`{word}`"),
        EcmaToken::Sign(sign) => format!("`{sign}`"),
    }
}
