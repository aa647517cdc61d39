//! The syntax tree before name resolution. Separate from the resolved tree so that a chart's reader can check if a text
//! parses that may turn out to be a plain string.

use std::sync::Arc;

use super::problem::Span;
use crate::value::Value;

#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) kind: TreeKind,
    pub(crate) span: Span,
    pub(crate) height: u16,
}

#[derive(Clone, Debug)]
pub(crate) enum TreeKind {
    Literal(Value),
    Name(String),
    List(Vec<Tree>),
    Map(Vec<(Arc<str>, Tree)>),
    /// The span is the field's name alone.
    Field(Box<Tree>, String, Span),
    Index(Box<[Tree; 2]>),
    Call(Box<Tree>, Vec<Tree>),
    Negate(Box<Tree>),
    Not(Box<Tree>),
    Binary(Binary, Box<[Tree; 2]>),
    /// Condition, value when true, value when false.
    Conditional(Box<[Tree; 3]>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Arithmetic(Arithmetic),
    Order(Order),
    Equal,
    NotEqual,
    In,
    NotIn,
    Concat,
    Coalesce,
    And,
    Or,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Binary {
    pub(crate) fn from_symbol(symbol: &str) -> Option<Binary> {
        Some(match symbol {
            "+" => Binary::Arithmetic(Arithmetic::Add),
            "-" => Binary::Arithmetic(Arithmetic::Subtract),
            "*" => Binary::Arithmetic(Arithmetic::Multiply),
            "/" => Binary::Arithmetic(Arithmetic::Divide),
            "%" => Binary::Arithmetic(Arithmetic::Remainder),
            "**" => Binary::Arithmetic(Arithmetic::Power),
            "<" => Binary::Order(Order::Less),
            "<=" => Binary::Order(Order::LessOrEqual),
            ">" => Binary::Order(Order::Greater),
            ">=" => Binary::Order(Order::GreaterOrEqual),
            "==" => Binary::Equal,
            "!=" => Binary::NotEqual,
            "in" => Binary::In,
            "~" => Binary::Concat,
            "??" => Binary::Coalesce,
            "and" | "&&" => Binary::And,
            "or" | "||" => Binary::Or,
            _ => return None,
        })
    }

    /// Returns the precedence; the table in the guide goes from 9 (`**`) down.
    pub(crate) fn strength(self) -> u8 {
        match self {
            Binary::Or => 1,
            Binary::And => 2,
            Binary::Equal | Binary::NotEqual | Binary::Order(_) | Binary::In | Binary::NotIn => COMPARISON,
            Binary::Coalesce => 5,
            Binary::Concat => 6,
            Binary::Arithmetic(Arithmetic::Add | Arithmetic::Subtract) => 7,
            Binary::Arithmetic(Arithmetic::Multiply | Arithmetic::Divide | Arithmetic::Remainder) => 8,
            Binary::Arithmetic(Arithmetic::Power) => POWER,
        }
    }
}

/// `not` binds looser than a comparison; `-` and `!` bind tighter than `*` and looser than `**`.
pub(crate) const NOT: u8 = 3;
pub(crate) const COMPARISON: u8 = 4;
pub(crate) const UNARY: u8 = 9;
pub(crate) const POWER: u8 = 10;

impl Arithmetic {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Arithmetic::Add => "+",
            Arithmetic::Subtract => "-",
            Arithmetic::Multiply => "*",
            Arithmetic::Divide => "/",
            Arithmetic::Remainder => "%",
            Arithmetic::Power => "**",
        }
    }
}

impl Order {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Order::Less => "<",
            Order::LessOrEqual => "<=",
            Order::Greater => ">",
            Order::GreaterOrEqual => ">=",
        }
    }
}
