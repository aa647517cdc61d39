//! The expression language: closed, side-effect free, bounded in cost.
//!
//! Text is parsed once, at load, into an [`Ast`] with spans; names are then resolved to context slots, locals and state
//! nodes, giving an [`Expr`] that a step evaluates without name lookups.

mod ast;
mod claims;
mod env;
mod eval;
mod functions;
mod infer;
mod known;
pub mod limits;
mod measure;
mod node;
mod ops;
mod parse;
mod partial;
mod problem;
mod progress;
mod resolve;
mod sizes;
mod suggest;
mod token;
mod uses;

use std::sync::Arc;

use crate::configuration::Active;
use crate::event::NamedEvent;
use crate::ids::{NodeId, Slot};
use crate::value::Value;
use crate::world::{InstanceFacts, World};

use ast::SyntaxTree;
pub use claims::{ClaimSubject, Claims, GuardClaim, Operand, Relation, SubjectRoot};
use env::{Env, Val};
pub use functions::{function_names, function_signatures};
pub use known::{KnownTypes, SchemaRoot};
pub use measure::{check_size, check_size_with};
use node::{ExprKind, ExprNode};
pub(crate) use ops::with_article;
pub use partial::{OTHER_FIELDS, has_unknown, is_unknown, partly_known, unknown};
use problem::ExprSpan;
pub use problem::{ExprProblem, ExprProblemKind};
pub use progress::{LoopBound, LoopDrift, LoopMeasure};
pub use sizes::ListSizes;
pub(crate) use suggest::nearest;
pub use uses::{DataUse, DataUseKind};

/// A parsed expression with unresolved names.
#[derive(Clone, Debug)]
pub struct Ast {
    text: Arc<str>,
    root: SyntaxTree,
    rooted: bool,
}

/// Parses an expression. Names are checked by [`Ast::resolve`].
pub fn parse(text: &str) -> Result<Ast, Vec<ExprProblem>> {
    let (root, rooted) = parse::parse_tree(text)?;
    Ok(Ast { text: text.into(), root, rooted })
}

impl Ast {
    /// Resolves every name, or returns all problems.
    pub fn resolve(&self, names: &dyn NameResolver) -> Result<Expr, Vec<ExprProblem>> {
        resolve::resolve(&self.text, &self.root, names).map(|root| Expr::new(self.text.clone(), root))
    }

    /// Returns true if the first token is a binding (`context`, `event`, `input`, `env`, `agents`, `now(`): if a string
    /// may be a literal or an expression, this marks an expression.
    pub fn starts_with_binding_root(&self) -> bool {
        self.rooted
    }
}

/// A resolved expression, ready to evaluate. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Expr {
    inner: Arc<ResolvedExpression>,
}

#[derive(Debug)]
struct ResolvedExpression {
    text: Arc<str>,
    root: ExprNode,
    nodes: u64,
}

impl Expr {
    fn new(text: Arc<str>, root: ExprNode) -> Self {
        let mut nodes = 0;
        root.walk(&mut |_| nodes += 1);
        Self { inner: Arc::new(ResolvedExpression { text, root, nodes }) }
    }

    /// Returns an expression with this value: for positions that require an expression where the author wrote plain
    /// data.
    pub fn literal(value: Value) -> Self {
        let text = serde_json::to_string(&value).unwrap_or_default();
        Self::new(text.into(), ExprNode { kind: ExprKind::Constant(value), span: ExprSpan::default() })
    }

    /// Returns the source text.
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// Evaluates the expression. Fails on data of the wrong type or once the cost limit is reached.
    #[inline]
    pub fn eval(&self, scope: &EvalScope<'_>) -> Result<Value, EvalError> {
        let env = Env::new(scope, &self.inner.text, self.inner.nodes);
        match self.inner.root.eval(&env) {
            Ok(Val::Own(value)) => Ok(value),
            Ok(Val::Ref(value)) => Ok(value.clone()),
            Err(fault) => Err(fault.into()),
        }
    }

    /// Returns the value as a condition: null counts as false, anything but a boolean is a type mismatch.
    #[inline]
    pub fn eval_guard(&self, scope: &EvalScope<'_>) -> Result<bool, EvalError> {
        let env = Env::new(scope, &self.inner.text, self.inner.nodes);
        self.inner.root.holds(&env).map_err(EvalError::from)
    }

    /// Returns the value if it is constant.
    pub fn constant(&self) -> Option<Value> {
        self.inner.root.constant().cloned()
    }

    /// Returns the text that the value surely begins with: `tool:` of `'tool:' ~ item.name`.
    pub fn prefix(&self) -> Option<&str> {
        self.inner.root.prefix()
    }

    /// Returns the type of the value (which may still be null), given the types of context slots.
    pub fn infer(&self, context_types: &dyn Fn(Slot) -> Type) -> Type {
        infer::infer(&self.inner.root, &known::SlotTypes(context_types))
    }

    /// The same, given all that is known of the data.
    pub fn infer_with(&self, known: &dyn KnownTypes) -> Type {
        infer::infer(&self.inner.root, known)
    }

    /// Returns the schema of the elements of a list, if it is known.
    pub fn items_with(&self, known: &dyn KnownTypes) -> Option<crate::schema::Schema> {
        match &known::schemas(&self.inner.root, known)?[..] {
            [list] => list.items(),
            _ => None,
        }
    }

    /// The problems of [`Expr::type_problems`], and keys that the data does not have.
    pub fn problems_with(&self, known: &dyn KnownTypes) -> Vec<ExprProblem> {
        let mut problems = infer::problems(&self.inner.text, &self.inner.root, known);
        problems.extend(known::unknown_fields(&self.inner.text, &self.inner.root, known));
        problems
    }

    /// Returns operations that fail for all data (unless it is missing, where null is allowed), and comparisons that
    /// can never be true.
    pub fn type_problems(&self, context_types: &dyn Fn(Slot) -> Type) -> Vec<ExprProblem> {
        infer::problems(&self.inner.text, &self.inner.root, &known::SlotTypes(context_types))
    }

    /// Returns the context slots it reads by name, each once, in order. The bare `context` reads them all: see
    /// [`Expr::reads_whole_context`].
    pub fn reads(&self) -> Vec<Slot> {
        let mut slots = Vec::new();
        self.inner.root.walk(&mut |node| {
            if let ExprKind::Slot(slot) = node.kind {
                slots.push(slot);
            }
        });
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// Returns the keys that it reads of `input` by name; `None` if it uses `input` as a whole, so that any may be read.
    pub fn input_keys(&self) -> Option<Vec<Arc<str>>> {
        let (mut keys, mut inputs) = (Vec::new(), 0);
        self.inner.root.walk(&mut |node| match &node.kind {
            ExprKind::Input => inputs += 1,
            ExprKind::Field(of, key) if matches!(of.kind, ExprKind::Input) => keys.push(Arc::clone(key)),
            _ => {}
        });
        (inputs == keys.len()).then_some(keys)
    }

    /// Returns true if it uses `context` as a map, so that any key may be read.
    pub fn reads_whole_context(&self) -> bool {
        let mut whole = false;
        self.inner
            .root
            .walk(&mut |node| whole |= matches!(node.kind, ExprKind::Context | ExprKind::ContextAt(_)));
        whole
    }
}

impl Expr {
    /// Returns true if it reads a local: the item or the index of a `foreach`.
    pub fn reads_local(&self, local: usize) -> bool {
        let mut reads = false;
        self.inner.root.walk(&mut |node| reads |= matches!(node.kind, ExprKind::Local(of) if of == local));
        reads
    }

    /// Returns true if it tests active states (`stateIn`).
    pub fn reads_states(&self) -> bool {
        let mut reads = false;
        self.inner.root.walk(&mut |node| reads |= matches!(node.kind, ExprKind::StateIn(_)));
        reads
    }
}

/// Resolves names. Implemented by the chart reader.
pub trait NameResolver {
    /// Returns the slot of a context key.
    fn context_key(&self, key: &str) -> Option<Slot>;
    /// Returns all known context keys, for "did you mean".
    fn context_keys(&self) -> Vec<String>;
    /// Returns the number of a local (an enclosing `foreach`'s item or index).
    fn local(&self, name: &str) -> Option<usize>;
    /// Returns the state of `stateIn('…')`.
    fn state(&self, path: &str) -> Option<NodeId>;
}

/// The input of an evaluation.
#[derive(Clone, Copy, Debug)]
pub struct EvalScope<'a> {
    /// Context values, indexed by slot.
    pub context: &'a [Value],
    /// Names of the context's slots, for the bare `context` as a map.
    pub context_names: &'a [Arc<str>],
    /// Values of `foreach` and `each` variables, by nesting.
    pub locals: &'a [Value],
    /// The event being processed; `None` in eventless transitions.
    pub event: Option<&'a NamedEvent>,
    /// Input of the instance.
    pub input: &'a Value,
    /// Time of the step in milliseconds since the Unix epoch.
    pub now_ms: i64,
    /// Settings and agents that the host exposes.
    pub world: &'a World,
    /// Values of `instance.*`.
    pub instance: &'a InstanceFacts,
    /// Active states, for `stateIn`.
    pub configuration: Active<'a>,
    /// Sizes of long lists that were measured before.
    pub sizes: Option<&'a ListSizes>,
}

/// A failed evaluation: a fault of the data, which raises `error.execution` in the chart.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EvalError {
    /// Message with the failing part of the expression.
    pub message: String,
}

/// The static type of a value. Except for `Null`, a value of the type or null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Unknown, or different types.
    Any,
    /// Only null.
    Null,
    /// True or false.
    Bool,
    /// An integer or a float.
    Number,
    /// Text.
    String,
    /// A list of any values.
    List,
    /// A map with string keys.
    Map,
}

impl Type {
    /// Returns the type of a value.
    pub fn of(value: &Value) -> Type {
        match value {
            Value::Null => Type::Null,
            Value::Bool(_) => Type::Bool,
            Value::Int(_) | Value::Float(_) => Type::Number,
            Value::Str(_) => Type::String,
            Value::List(_) => Type::List,
            Value::Map(_) => Type::Map,
        }
    }

    /// Returns the name used in messages, like [`Value::type_name`].
    pub fn name(self) -> &'static str {
        match self {
            Type::Any => "any value",
            Type::Null => "null",
            Type::Bool => "boolean",
            Type::Number => "number",
            Type::String => "string",
            Type::List => "list",
            Type::Map => "map",
        }
    }
}
