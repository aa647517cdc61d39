//! The parser: precedence climbing with a limit on nesting and on the height of the tree, so that neither parsing,
//! evaluating nor dropping a hostile text can exhaust the stack.

use std::sync::Arc;

use super::ast::{Arithmetic, Binary, COMPARISON, NOT, POWER, SyntaxTree, TreeKind, UNARY};
use super::limits::{HEIGHT_MAX, NESTING_MAX, SOURCE_BYTES_MAX};
use super::problem::{ExprProblem, ExprSpan};
use super::token::{ExprToken, TokenKind, tokens};
use crate::value::Value;

type ParseResult<T> = Result<T, ExprProblem>;

pub(crate) fn parse_tree(text: &str) -> Result<(SyntaxTree, bool), Vec<ExprProblem>> {
    if text.len() > SOURCE_BYTES_MAX {
        let message = format!("this expression is longer than {SOURCE_BYTES_MAX} bytes");
        return Err(vec![ExprProblem::syntax(ExprSpan::new(0, 0), message, None)]);
    }
    let tokens = tokens(text)?;
    let rooted = starts_with_binding_root(&tokens);
    let mut parser = ExprParser { tokens, at: 0, nesting: 0 };
    parser.whole().map(|tree| (tree, rooted)).map_err(|problem| vec![problem])
}

fn starts_with_binding_root(tokens: &[ExprToken]) -> bool {
    match tokens.first().map(|token| &token.kind) {
        Some(TokenKind::Name(name)) if name == "now" => {
            tokens.get(1).is_some_and(|token| token.kind == TokenKind::Symbol("("))
        }
        // The bare word is far more often data than a mistake.
        Some(TokenKind::Name(name)) if name == "instance" => {
            tokens.get(1).is_some_and(|token| token.kind == TokenKind::Symbol("."))
        }
        Some(TokenKind::Name(name)) => {
            ["context", "event", "input", "env", "agents"].contains(&name.as_str())
        }
        _ => false,
    }
}

struct ExprParser {
    tokens: Vec<ExprToken>,
    at: usize,
    nesting: usize,
}

impl ExprParser {
    fn whole(&mut self) -> ParseResult<SyntaxTree> {
        if self.peek().kind == TokenKind::End {
            return Err(ExprProblem::syntax(self.peek().span, "expected an expression", None));
        }
        let tree = self.expression()?;
        match &self.peek().kind {
            TokenKind::End => Ok(tree),
            _ => Err(self.unexpected("an operator or the end")),
        }
    }

    /// The last token is `End` and is never consumed, so there is always a current one.
    fn peek(&self) -> &ExprToken {
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> ExprToken {
        let token = self.peek().clone();
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        token
    }

    fn is_symbol(&self, symbol: &str) -> bool {
        matches!(&self.peek().kind, TokenKind::Symbol(found) if *found == symbol)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(&self.peek().kind, TokenKind::Name(found) if found == word)
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &'static str) -> ParseResult<ExprSpan> {
        let span = self.peek().span;
        if self.accept(symbol) { Ok(span) } else { Err(self.unexpected(&format!("`{symbol}`"))) }
    }

    fn unexpected(&self, wanted: &str) -> ExprProblem {
        let token = self.peek();
        let (found, help) = match &token.kind {
            TokenKind::End => ("the end of the expression".to_owned(), None),
            TokenKind::Symbol(symbol) => (format!("`{symbol}`"), None),
            TokenKind::Name(name) => (format!("`{name}`"), word_help(name)),
            TokenKind::Literal(_) => ("a literal".to_owned(), None),
        };
        ExprProblem::syntax(token.span, format!("expected {wanted}, found {found}"), help)
    }

    /// Runs `inner` one level deeper.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> ParseResult<T>) -> ParseResult<T> {
        if self.nesting == NESTING_MAX {
            let message = format!("this expression nests deeper than {NESTING_MAX} levels");
            return Err(ExprProblem::syntax(self.peek().span, message, None));
        }
        self.nesting += 1;
        let result = inner(self);
        self.nesting -= 1;
        result
    }

    /// Parses a conditional, in either spelling, or anything that binds tighter.
    fn expression(&mut self) -> ParseResult<SyntaxTree> {
        self.nested(|parser| {
            let first = parser.binary(0)?;
            if parser.accept("?") {
                let yes = parser.expression()?;
                parser.expect(":")?;
                let no = parser.expression()?;
                return conditional(first.span.to(no.span), [first, yes, no]);
            }
            if parser.is_word("if") {
                parser.at += 1;
                let condition = parser.binary(0)?;
                if !parser.is_word("else") {
                    return Err(parser.unexpected("`else`"));
                }
                parser.at += 1;
                let no = parser.expression()?;
                return conditional(first.span.to(no.span), [condition, first, no]);
            }
            Ok(first)
        })
    }

    fn binary(&mut self, weakest: u8) -> ParseResult<SyntaxTree> {
        let mut left = self.unary()?;
        while let Some((operator, words)) = self.operator()
            && operator.strength() >= weakest
        {
            self.at += words;
            let strength = operator.strength();
            let right = if operator == Binary::Arithmetic(Arithmetic::Power) {
                self.nested(|parser| parser.binary(UNARY))?
            } else {
                self.binary(strength + 1)?
            };
            left = binary(operator, left, right)?;
            self.refuse_chain(strength)?;
        }
        Ok(left)
    }

    fn refuse_chain(&self, strength: u8) -> ParseResult<()> {
        match self.operator() {
            Some((next, _)) if strength == COMPARISON && next.strength() == COMPARISON => {
                Err(ExprProblem::syntax(
                    self.peek().span,
                    "comparisons do not chain",
                    Some("write `a < b and b < c`"),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Returns the next operator, and its number of tokens.
    fn operator(&self) -> Option<(Binary, usize)> {
        match &self.peek().kind {
            TokenKind::Symbol(symbol) => Binary::from_symbol(symbol).map(|operator| (operator, 1)),
            TokenKind::Name(word) if word == "not" => {
                let next = self.tokens.get(self.at + 1).map(|token| &token.kind);
                matches!(next, Some(TokenKind::Name(word)) if word == "in").then_some((Binary::NotIn, 2))
            }
            TokenKind::Name(word) => Binary::from_symbol(word).map(|operator| (operator, 1)),
            TokenKind::Literal(_) | TokenKind::End => None,
        }
    }

    fn unary(&mut self) -> ParseResult<SyntaxTree> {
        let start = self.peek().span;
        if self.is_word("not") {
            return self.prefix(start, NOT, TreeKind::Not);
        }
        if self.is_symbol("!") {
            return self.prefix(start, UNARY, TreeKind::Not);
        }
        if self.is_symbol("-") {
            if let Some(tree) = self.least_integer() {
                return Ok(tree);
            }
            return self.prefix(start, UNARY, TreeKind::Negate);
        }
        if self.is_symbol("+") {
            return Err(self.unexpected("a value"));
        }
        let primary = self.primary()?;
        self.postfix(primary)
    }

    fn prefix(
        &mut self,
        start: ExprSpan,
        strength: u8,
        kind: fn(Box<SyntaxTree>) -> TreeKind,
    ) -> ParseResult<SyntaxTree> {
        self.at += 1;
        let operand = self.nested(|parser| parser.binary(strength))?;
        let (span, height) = (start.to(operand.span), operand.height);
        tree(kind(Box::new(operand)), span, height)
    }

    /// Parses `-9223372036854775808`, whose digits alone overflow 64 bits.
    fn least_integer(&mut self) -> Option<SyntaxTree> {
        let (minus, digits) = (self.peek().span, self.tokens.get(self.at + 1)?);
        let least = digits.kind == TokenKind::Literal(Value::Float(9_223_372_036_854_775_808.0));
        if !least || digits.span.range().len() != 19 {
            return None;
        }
        let span = minus.to(digits.span);
        self.at += 2;
        Some(SyntaxTree { kind: TreeKind::Literal(Value::Int(i64::MIN)), span, height: 0 })
    }

    fn primary(&mut self) -> ParseResult<SyntaxTree> {
        let token = self.peek().clone();
        match token.kind {
            TokenKind::Literal(value) => self.leaf(TreeKind::Literal(value)),
            TokenKind::Name(name) => match name.as_str() {
                "true" | "True" => self.leaf(TreeKind::Literal(Value::Bool(true))),
                "false" | "False" => self.leaf(TreeKind::Literal(Value::Bool(false))),
                "null" | "None" => self.leaf(TreeKind::Literal(Value::Null)),
                "and" | "or" | "in" | "if" | "else" => Err(self.unexpected("a value")),
                _ => self.leaf(TreeKind::Name(name)),
            },
            TokenKind::Symbol("(") => self.parenthesised(),
            TokenKind::Symbol("[") => self.list(),
            TokenKind::Symbol("{") => self.map(),
            TokenKind::Symbol(_) | TokenKind::End => Err(self.unexpected("a value")),
        }
    }

    fn leaf(&mut self, kind: TreeKind) -> ParseResult<SyntaxTree> {
        let span = self.next().span;
        Ok(SyntaxTree { kind, span, height: 0 })
    }

    fn parenthesised(&mut self) -> ParseResult<SyntaxTree> {
        let start = self.next().span;
        let inner = self.expression()?;
        let end = self.expect(")")?;
        Ok(SyntaxTree { span: start.to(end), ..inner })
    }

    /// Parses expressions up to `close`; a trailing comma is allowed.
    fn elements(&mut self, close: &'static str) -> ParseResult<(Vec<SyntaxTree>, ExprSpan)> {
        let mut items = Vec::new();
        while !self.is_symbol(close) {
            items.push(self.expression()?);
            if !self.accept(",") {
                break;
            }
        }
        Ok((items, self.expect(close)?))
    }

    fn list(&mut self) -> ParseResult<SyntaxTree> {
        let start = self.next().span;
        let (items, end) = self.elements("]")?;
        let height = highest(&items);
        tree(TreeKind::List(items), start.to(end), height)
    }

    fn map(&mut self) -> ParseResult<SyntaxTree> {
        let start = self.next().span;
        let mut entries: Vec<(Arc<str>, SyntaxTree)> = Vec::new();
        while !self.is_symbol("}") {
            let place = self.peek().span;
            let key = self.map_key()?;
            if entries.iter().any(|(earlier, _)| *earlier == key) {
                return Err(ExprProblem::syntax(place, format!("duplicate key `{key}`"), None));
            }
            self.expect(":")?;
            entries.push((key, self.expression()?));
            if !self.accept(",") {
                break;
            }
        }
        let end = self.expect("}")?;
        let height = entries.iter().map(|(_, value)| value.height).max().unwrap_or(0);
        tree(TreeKind::Map(entries), start.to(end), height)
    }

    fn map_key(&mut self) -> ParseResult<Arc<str>> {
        match &self.peek().kind {
            TokenKind::Name(name) => {
                let key = name.as_str().into();
                self.at += 1;
                Ok(key)
            }
            TokenKind::Literal(Value::Str(text)) => {
                let key = text.clone();
                self.at += 1;
                Ok(key)
            }
            TokenKind::Literal(_) | TokenKind::Symbol(_) | TokenKind::End => Err(self.unexpected("a key")),
        }
    }

    fn postfix(&mut self, mut base: SyntaxTree) -> ParseResult<SyntaxTree> {
        loop {
            base = if self.accept(".") {
                self.field(base)?
            } else if self.accept("[") {
                let index = self.expression()?;
                let span = base.span.to(self.expect("]")?);
                let height = base.height.max(index.height);
                tree(TreeKind::Index(Box::new([base, index])), span, height)?
            } else if self.accept("(") {
                let (arguments, end) = self.elements(")")?;
                let (span, height) = (base.span.to(end), base.height.max(highest(&arguments)));
                tree(TreeKind::Call(Box::new(base), arguments), span, height)?
            } else {
                return Ok(base);
            };
        }
    }

    fn field(&mut self, base: SyntaxTree) -> ParseResult<SyntaxTree> {
        let token = self.peek().clone();
        let TokenKind::Name(name) = token.kind else {
            let mut problem = self.unexpected("the name of a field");
            if matches!(token.kind, TokenKind::Literal(_)) {
                problem = problem.help("use brackets for elements and unusual keys: `x[0]`, `x['a-b']`");
            }
            return Err(problem);
        };
        self.at += 1;
        let (span, height) = (base.span.to(token.span), base.height);
        tree(TreeKind::Field(Box::new(base), name, token.span), span, height)
    }
}

fn word_help(name: &str) -> Option<&'static str> {
    match name {
        "is" => Some("write `==` or `!=`"),
        "equals" | "eq" => Some("write `==`"),
        "AND" | "And" => Some("write `and`"),
        "OR" | "Or" => Some("write `or`"),
        "NOT" | "Not" => Some("write `not`"),
        "for" => Some("expressions have no loops; use `where`, `count` or `pluck` on lists of maps"),
        _ => None,
    }
}

fn highest(trees: &[SyntaxTree]) -> u16 {
    trees.iter().map(|tree| tree.height).max().unwrap_or(0)
}

/// Creates a node above others of the given height.
fn tree(kind: TreeKind, span: ExprSpan, below: u16) -> ParseResult<SyntaxTree> {
    if below >= HEIGHT_MAX {
        let message = format!("this expression chains more than {HEIGHT_MAX} operations");
        return Err(ExprProblem::syntax(
            span,
            message,
            Some("put parts of it in brackets, or use a function"),
        ));
    }
    Ok(SyntaxTree { kind, span, height: below + 1 })
}

fn binary(operator: Binary, left: SyntaxTree, right: SyntaxTree) -> ParseResult<SyntaxTree> {
    let (span, height) = (left.span.to(right.span), left.height.max(right.height));
    tree(TreeKind::Binary(operator, Box::new([left, right])), span, height)
}

fn conditional(span: ExprSpan, parts: [SyntaxTree; 3]) -> ParseResult<SyntaxTree> {
    let height = highest(&parts);
    tree(TreeKind::Conditional(Box::new(parts)), span, height)
}

const _: () = assert!(POWER > UNARY, "`-2 ** 2` is the negative of a square");
