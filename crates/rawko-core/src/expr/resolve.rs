//! Name resolution, with help for unknown names. Constant parts are evaluated here, once.

use super::ast::{Binary, SyntaxTree, TreeKind};
use super::env::{Env, NULL, Val};
use super::functions::{self, ExprFunction};
use super::limits::FOLDING_FUEL_MAX;
use super::node::{EventPart, ExprKind, ExprNode, InstancePart};
use super::problem::{ExprProblem, ExprProblemKind, ExprSpan};
use super::suggest::{nearest, synonym};
use super::{EvalScope, NameResolver};
use crate::configuration::{Active, Configuration};
use crate::value::Value;
use crate::world::{InstanceFacts, World};

const BINDINGS: [&str; 6] = ["context", "event", "input", "env", "agents", "instance"];

pub(crate) fn resolve(
    text: &str,
    root: &SyntaxTree,
    names: &dyn NameResolver,
) -> Result<ExprNode, Vec<ExprProblem>> {
    let mut resolver = Resolver { text, names, problems: Vec::new(), fuel: FOLDING_FUEL_MAX };
    let node = resolver.node(root);
    if resolver.problems.is_empty() { Ok(node) } else { Err(resolver.problems) }
}

struct Resolver<'r> {
    text: &'r str,
    names: &'r dyn NameResolver,
    problems: Vec<ExprProblem>,
    fuel: u64,
}

impl Resolver<'_> {
    fn node(&mut self, tree: &SyntaxTree) -> ExprNode {
        let kind = match &tree.kind {
            TreeKind::Literal(value) => ExprKind::Constant(value.clone()),
            TreeKind::Name(name) => self.name(name, tree.span),
            TreeKind::List(items) => ExprKind::List(self.nodes(items)),
            TreeKind::Map(entries) => {
                ExprKind::Map(entries.iter().map(|(key, value)| (key.clone(), self.node(value))).collect())
            }
            TreeKind::Field(base, name, place) => self.field(base, name, *place),
            TreeKind::Index(two) => self.index(&two[0], &two[1]),
            TreeKind::Call(callee, arguments) => self.call(callee, arguments, tree.span),
            TreeKind::Negate(operand) => ExprKind::Negate(Box::new(self.node(operand))),
            TreeKind::Not(operand) => ExprKind::Not(Box::new(self.node(operand))),
            TreeKind::Binary(operator, two) => {
                binary(*operator, Box::new([self.node(&two[0]), self.node(&two[1])]))
            }
            TreeKind::Conditional(three) => ExprKind::Conditional(Box::new([
                self.node(&three[0]),
                self.node(&three[1]),
                self.node(&three[2]),
            ])),
        };
        self.folded(ExprNode { kind, span: tree.span })
    }

    fn nodes(&mut self, trees: &[SyntaxTree]) -> Vec<ExprNode> {
        trees.iter().map(|tree| self.node(tree)).collect()
    }

    /// Records a problem; null replaces the node so that the rest is checked as well.
    fn problem(&mut self, problem: ExprProblem) -> ExprKind {
        self.problems.push(problem);
        ExprKind::Constant(Value::Null)
    }

    fn name(&mut self, name: &str, span: ExprSpan) -> ExprKind {
        if let Some(number) = self.names.local(name) {
            return ExprKind::Local(number);
        }
        match name {
            "context" => ExprKind::Context,
            "event" => ExprKind::Event(EventPart::Whole),
            "input" => ExprKind::Input,
            "env" => ExprKind::Env,
            _ => self.unknown_name(name, span),
        }
    }

    fn unknown_name(&mut self, name: &str, span: ExprSpan) -> ExprKind {
        let problem = |message: String| ExprProblem::new(ExprProblemKind::UnknownName, span, message);
        let found = if name == "agents" {
            problem("`agents` is not a value".into())
                .help("write `agents.select(role, task_type)`, `agents.get(id)` or `agents.list()`")
        } else if name == "instance" {
            problem("`instance` is not a value".into())
                .help("write `instance.id`, `instance.parent` or `instance.started`")
        } else if self.names.context_key(name).is_none()
            && (name == "stateIn" || functions::named(name).is_some())
        {
            problem(format!("`{name}` is a function")).help(format!("write `{name}(…)`"))
        } else {
            let unknown = problem(format!("unknown name `{name}`"));
            match self.name_help(name) {
                Some(help) => unknown.help(help),
                None => unknown,
            }
        };
        self.problem(found)
    }

    fn name_help(&self, name: &str) -> Option<String> {
        let keys = self.names.context_keys();
        if keys.iter().any(|key| key == name) {
            return Some(format!("did you mean `context.{name}`?"));
        }
        let known = match name {
            "undefined" | "nil" | "none" | "NULL" => "null",
            "TRUE" => "true",
            "FALSE" => "false",
            "ctx" | "self" | "this" | "data" | "_data" => "context",
            "_event" | "evt" => "event",
            "params" | "args" => "input",
            _ => match nearest(name, BINDINGS) {
                Some(binding) => binding,
                None => {
                    return nearest(name, keys.iter().map(String::as_str))
                        .map(|key| format!("did you mean `context.{key}`?"))
                        .or_else(|| Some(format!("put a string in quotes: `'{name}'`")));
                }
            },
        };
        Some(format!("did you mean `{known}`?"))
    }

    /// Returns true if the tree is this binding, and not a local of the same name.
    fn is_binding(&self, tree: &SyntaxTree, binding: &str) -> bool {
        matches!(&tree.kind, TreeKind::Name(name) if name == binding) && self.names.local(binding).is_none()
    }

    fn field(&mut self, base: &SyntaxTree, name: &str, place: ExprSpan) -> ExprKind {
        if self.is_binding(base, "context") {
            return self.context_key(name, place);
        }
        if self.is_binding(base, "event") {
            return self.event_part(name, place);
        }
        if self.is_binding(base, "instance") {
            return self.instance_part(name, place);
        }
        if self.is_binding(base, "agents") {
            return self.unknown_name("agents", base.span);
        }
        ExprKind::Field(Box::new(self.node(base)), name.into())
    }

    fn context_key(&mut self, key: &str, place: ExprSpan) -> ExprKind {
        if let Some(slot) = self.names.context_key(key) {
            return ExprKind::Slot(slot);
        }
        let message = format!("the context has no key `{key}`");
        let problem = ExprProblem::new(ExprProblemKind::UnknownContextKey, place, message);
        let keys = self.names.context_keys();
        let problem = match nearest(key, keys.iter().map(String::as_str)) {
            Some(known) => problem.help(format!("did you mean `{known}`?")),
            None => problem.help(format!("declare `{key}` in the chart's `context`")),
        };
        self.problem(problem)
    }

    fn event_part(&mut self, name: &str, place: ExprSpan) -> ExprKind {
        if let Some(part) = EventPart::named(name) {
            return ExprKind::Event(part);
        }
        let message = format!("an event has no field `{name}`");
        let fields = EventPart::FIELDS.map(|(field, _)| field);
        let help = match nearest(name, fields) {
            _ if name == "name" => "did you mean `event.type`?".to_owned(),
            Some(field) => format!("did you mean `event.{field}`?"),
            None => format!("the payload of an event is in `event.data`: `event.data.{name}`"),
        };
        self.problem(ExprProblem::new(ExprProblemKind::UnknownName, place, message).help(help))
    }

    fn instance_part(&mut self, name: &str, place: ExprSpan) -> ExprKind {
        if let Some(part) = InstancePart::named(name) {
            return ExprKind::Instance(part);
        }
        let message = format!("an instance has no field `{name}`");
        let close = nearest(name, InstancePart::FIELDS.map(|(field, _)| field));
        let help = match close {
            Some(field) => format!("did you mean `instance.{field}`?"),
            None => "the fields are `instance.id`, `instance.parent` and `instance.started`".to_owned(),
        };
        self.problem(ExprProblem::new(ExprProblemKind::UnknownName, place, message).help(help))
    }

    fn index(&mut self, base: &SyntaxTree, index: &SyntaxTree) -> ExprKind {
        if let TreeKind::Literal(Value::Str(key)) = &index.kind {
            return self.field(base, key, index.span);
        }
        if self.is_binding(base, "context") {
            return ExprKind::ContextAt(Box::new(self.node(index)));
        }
        ExprKind::Index(Box::new([self.node(base), self.node(index)]))
    }

    fn call(&mut self, callee: &SyntaxTree, arguments: &[SyntaxTree], span: ExprSpan) -> ExprKind {
        match &callee.kind {
            TreeKind::Name(name) if name == "stateIn" => self.state_in(arguments, span),
            TreeKind::Name(name) => self.function_call(name, callee.span, arguments, span),
            TreeKind::Field(base, method, place) if self.is_binding(base, "agents") => {
                self.function_call(&format!("agents.{method}"), *place, arguments, span)
            }
            TreeKind::Field(base, method, place) => {
                self.node(base);
                self.nodes(arguments);
                self.no_method(base, method, *place, arguments.is_empty())
            }
            _ => {
                self.node(callee);
                self.nodes(arguments);
                self.problem(ExprProblem::syntax(callee.span, "this is not a function", None))
            }
        }
    }

    fn no_method(&mut self, base: &SyntaxTree, method: &str, place: ExprSpan, alone: bool) -> ExprKind {
        let problem = ExprProblem::new(
            ExprProblemKind::UnknownName,
            place,
            format!("values have no methods: `{method}` cannot be called"),
        );
        let known = synonym(method).or_else(|| functions::named(method).map(|function| function.name));
        let problem = match known {
            Some(function) => {
                let operand = self.text.get(base.span.range()).unwrap_or("x");
                let more = if alone { "" } else { ", …" };
                problem.help(format!("write `{function}({operand}{more})`"))
            }
            None => problem,
        };
        self.problem(problem)
    }

    fn function_call(
        &mut self,
        name: &str,
        place: ExprSpan,
        arguments: &[SyntaxTree],
        span: ExprSpan,
    ) -> ExprKind {
        let nodes = self.nodes(arguments);
        let Some(function) = functions::named(name) else { return self.unknown_function(name, place) };
        match wrong_count(function, nodes.len()) {
            Some(message) => {
                let problem = ExprProblem::new(ExprProblemKind::Arity, span, message);
                self.problem(problem.help(format!("usage: `{}`", function.signature())))
            }
            None => ExprKind::Call(function, nodes),
        }
    }

    fn unknown_function(&mut self, name: &str, place: ExprSpan) -> ExprKind {
        let problem =
            ExprProblem::new(ExprProblemKind::UnknownName, place, format!("there is no function `{name}`"));
        let known = synonym(name).or_else(|| nearest(name, functions::function_names()));
        let problem = match known {
            Some(known) => problem.help(format!("did you mean `{known}`?")),
            None if name.starts_with("agents.") => {
                problem.help("the functions are `select`, `get` and `list`")
            }
            None => problem,
        };
        self.problem(problem)
    }

    fn state_in(&mut self, arguments: &[SyntaxTree], span: ExprSpan) -> ExprKind {
        let unknown = |span, message: String| ExprProblem::new(ExprProblemKind::UnknownState, span, message);
        let [argument] = arguments else {
            let problem = ExprProblem::new(ExprProblemKind::Arity, span, "`stateIn` takes one state");
            return self.problem(problem.help("usage: `stateIn('a.b')`"));
        };
        let TreeKind::Literal(Value::Str(path)) = &argument.kind else {
            let problem = unknown(argument.span, "`stateIn` takes the state as a literal string".into());
            return self.problem(problem.help("write `stateIn('a.b')`"));
        };
        match self.names.state(path) {
            Some(node) => ExprKind::StateIn(node),
            None => self.problem(unknown(argument.span, format!("there is no state `{path}`"))),
        }
    }

    /// Replaces a node with its value if it is constant. A failing one stays: it fails when it is evaluated.
    fn folded(&mut self, node: ExprNode) -> ExprNode {
        if let Some(short) = shortcut(&node) {
            return short;
        }
        let known = node.constant().is_none()
            && node.reads_nothing()
            && node.children().iter().all(|child| child.constant().is_some());
        if !known || !self.problems.is_empty() {
            return node;
        }
        let (value, fuel) = evaluate_constant(self.text, &node, self.fuel);
        self.fuel = fuel;
        match value {
            Ok(value) => ExprNode { kind: ExprKind::Constant(value), span: node.span },
            Err(_) => node,
        }
    }
}

/// Evaluates a constant node; returns the remaining fuel.
pub(crate) fn evaluate_constant(
    text: &str,
    node: &ExprNode,
    fuel: u64,
) -> (Result<Value, super::EvalError>, u64) {
    let (world, configuration) = (World::default(), Configuration::default());
    let instance = InstanceFacts::default();
    let scope = EvalScope {
        context: &[],
        context_names: &[],
        locals: &[],
        event: None,
        input: &NULL,
        now_ms: 0,
        world: &world,
        instance: &instance,
        configuration: Active::new(&configuration, &[]),
        sizes: None,
    };
    let env = Env::with_fuel(&scope, text, fuel);
    let value = node.eval(&env).map(Val::into_value).map_err(Into::into);
    (value, env.fuel())
}

/// Simplifies `false and …`, `true or …` and a decided conditional.
fn shortcut(node: &ExprNode) -> Option<ExprNode> {
    let decided = |node: &ExprNode| node.constant().and_then(Value::as_bool);
    let truth = |value| Some(ExprNode { kind: ExprKind::Constant(Value::Bool(value)), span: node.span });
    match &node.kind {
        ExprKind::And(two) if decided(&two[0]) == Some(false) => truth(false),
        ExprKind::Or(two) if decided(&two[0]) == Some(true) => truth(true),
        ExprKind::Conditional(three) => decided(&three[0]).map(|yes| three[if yes { 1 } else { 2 }].clone()),
        _ => None,
    }
}

fn wrong_count(function: &ExprFunction, given: usize) -> Option<String> {
    let (least, most) = (function.required, function.arguments_max());
    if (least..=most).contains(&given) {
        return None;
    }
    let wanted = match most {
        usize::MAX => format!("at least {least}"),
        most if most == least => least.to_string(),
        most => format!("{least} to {most}"),
    };
    let noun = if wanted == "1" || wanted == "at least 1" { "argument" } else { "arguments" };
    Some(format!("`{}` takes {wanted} {noun}, not {given}", function.name))
}

fn binary(operator: Binary, two: Box<[ExprNode; 2]>) -> ExprKind {
    match operator {
        Binary::Arithmetic(operator) => ExprKind::Arithmetic(operator, two),
        Binary::Order(operator) => ExprKind::Order(operator, two),
        Binary::Equal => ExprKind::Equal(two),
        Binary::NotEqual => ExprKind::NotEqual(two),
        Binary::In => ExprKind::In(two),
        Binary::NotIn => ExprKind::NotIn(two),
        Binary::Concat => ExprKind::Concat(two),
        Binary::Coalesce => ExprKind::Coalesce(two),
        Binary::And => ExprKind::And(two),
        Binary::Or => ExprKind::Or(two),
    }
}
