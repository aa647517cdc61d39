//! The syntax tree before name resolution. Separate from the resolved tree so that a chart's reader can check if a text
//! parses that may turn out to be a plain string.

use std::sync::Arc;

use super::problem::ExprSpan;
use crate::value::Value;

#[derive(Clone, Debug)]
pub(crate) struct SyntaxTree {
    pub(crate) kind: TreeKind,
    pub(crate) span: ExprSpan,
    pub(crate) height: u16,
}

#[derive(Clone, Debug)]
pub(crate) enum TreeKind {
    Literal(Value),
    Name(String),
    List(Vec<SyntaxTree>),
    Map(Vec<(Arc<str>, SyntaxTree)>),
    /// The span is the field's name alone.
    Field(Box<SyntaxTree>, String, ExprSpan),
    Index(Box<[SyntaxTree; 2]>),
    Call(Box<SyntaxTree>, Vec<SyntaxTree>),
    Negate(Box<SyntaxTree>),
    Not(Box<SyntaxTree>),
    Binary(Binary, Box<[SyntaxTree; 2]>),
    /// Condition, value when true, value when false.
    Conditional(Box<[SyntaxTree; 3]>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Arithmetic(Arithmetic),
    Order(OrderOperator),
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
pub(crate) enum OrderOperator {
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
            "<" => Binary::Order(OrderOperator::Less),
            "<=" => Binary::Order(OrderOperator::LessOrEqual),
            ">" => Binary::Order(OrderOperator::Greater),
            ">=" => Binary::Order(OrderOperator::GreaterOrEqual),
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

impl OrderOperator {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            OrderOperator::Less => "<",
            OrderOperator::LessOrEqual => "<=",
            OrderOperator::Greater => ">",
            OrderOperator::GreaterOrEqual => ">=",
        }
    }
}
