//! `tools`, `budget` and `loop`: each state narrows its parent's policy and never widens it.

use rawko_core::{Map, Value};

use super::Lowering;
use super::docs::texts;
use crate::def::{BudgetKey, ChartBudgetKey, PolicyDef, ToolsKey};
use crate::finding::{Finding, Severity};
use crate::source::Span;
use crate::tree::{NodeView, to_value};

const POLICY_WIDENS: &str = crate::codes::POLICY_WIDENS.name;
const UNKNOWN_TOOL: &str = crate::codes::UNKNOWN_TOOL.name;

impl<'a> Lowering<'a> {
    /// Returns the state's policy within its parent's. Times are in milliseconds, so that they can be compared.
    pub(super) fn policy(&mut self, def: &PolicyDef<'a>, inherited: Option<Value>) -> Value {
        let outer = inherited.unwrap_or(Value::Null);
        if def.tools.is_none() && def.budget.is_none() && def.loop_control.is_none() {
            return outer;
        }
        let tools = self.tools(def.tools, outer.get("tools"));
        let budget = self.budget(def.budget, outer.get("budget"));
        let loop_control = loop_settings(def.loop_control, outer.get("loop"));
        let budget_key = self.budget_key(def.budget, outer.get("budget_key"));
        let parts =
            [("tools", tools), ("budget", budget), ("budget_key", budget_key), ("loop", loop_control)];
        Value::map(parts.into_iter().filter(|(_, part)| !part.is_null()))
    }

    fn tools(&mut self, view: Option<NodeView<'a>>, outer: &Value) -> Value {
        let Some(view) = view else { return outer.clone() };
        let (mut allowed, mut blocked) = (None, strings(outer.get("blocked")));
        for pair in view.each_pair() {
            match ToolsKey::parse(pair.key) {
                Some(ToolsKey::Allowed) => {
                    // It grants nothing.
                    self.unknown_tools(pair.value, Severity::Error);
                    allowed = Some((texts(pair.value), pair.value.span()));
                }
                Some(ToolsKey::Blocked) => {
                    // The tool that was meant would stay allowed.
                    self.unknown_tools(pair.value, Severity::Fatal);
                    let new = texts(pair.value)
                        .into_iter()
                        .filter(|name| !blocked.contains(name))
                        .collect::<Vec<_>>();
                    blocked.extend(new);
                }
                None => {}
            }
        }
        let mut tools = Map::default();
        let outer_allowed = outer.get("allowed");
        let allowed = match (allowed, outer_allowed.is_null()) {
            (Some((own, span)), false) => Some(self.narrowed(&own, &strings(outer_allowed), span)),
            (Some((own, _)), true) => Some(own),
            (None, false) => Some(strings(outer_allowed)),
            (None, true) => None,
        };
        if let Some(allowed) = allowed {
            tools.insert("allowed".into(), list(&allowed));
        }
        if !blocked.is_empty() {
            tools.insert("blocked".into(), list(&blocked));
        }
        Value::Map(tools.into())
    }

    fn unknown_tools(&mut self, list: NodeView<'a>, severity: Severity) {
        let Some(tools) = self.registry.tools() else { return };
        for item in list.one_or_many() {
            let Some(rule) = item.text().filter(|rule| (tools.is_unknown)(rule)) else { continue };
            let name = rule.split('(').next().unwrap_or(rule).trim();
            let finding = Finding::new(
                UNKNOWN_TOOL,
                severity,
                item.span(),
                format!("there is no tool `{name}`, which the policy of this state names"),
            );
            let help = match (tools.suggestion)(name) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    "tools of MCP servers are `mcp__SERVER__TOOL`, those of services `mcp__services__NAME`"
                        .to_owned()
                }
            };
            self.report(finding.help(help));
        }
    }

    /// Returns the names that both lists allow; reports a name that only the inner one has.
    fn narrowed(&mut self, own: &[String], outer: &[String], span: Span) -> Vec<String> {
        let within =
            |name: &String, patterns: &[String]| patterns.iter().any(|pattern| covers(pattern, name));
        for name in own.iter().filter(|name| !within(name, outer) && !outer.iter().any(|o| covers(name, o))) {
            let message =
                format!("`{name}` is not allowed by the enclosing state, so allowing it here has no effect");
            let finding = Finding::new(POLICY_WIDENS, Severity::Warning, span, message);
            self.report(finding.help(format!("allow `{name}` in the enclosing state as well")));
        }
        let inner = own.iter().filter(|name| within(name, outer));
        let narrower = outer.iter().filter(|name| within(name, own) && !own.contains(name));
        inner.chain(narrower).cloned().collect()
    }

    fn budget(&mut self, view: Option<NodeView<'a>>, outer: &Value) -> Value {
        let Some(view) = view else { return outer.clone() };
        let mut budget = outer.as_map().cloned().unwrap_or_default();
        for pair in view.each_pair() {
            let value = match BudgetKey::parse(pair.key) {
                Some(BudgetKey::Time) => {
                    Value::Int(i64::try_from(self.fixed_delay(pair.value)).unwrap_or(i64::MAX))
                }
                Some(BudgetKey::Tokens | BudgetKey::CostUsd | BudgetKey::ToolCalls) => to_value(pair.value),
                None => continue,
            };
            let limit = outer.get(pair.key);
            match (value.as_f64(), limit.as_f64()) {
                (Some(own), Some(outer)) if own > outer => {
                    let message = format!("`{}` is larger than the enclosing state's {limit}", pair.key);
                    let finding = Finding::new(POLICY_WIDENS, Severity::Warning, pair.value.span(), message);
                    self.report(
                        finding.help("the smaller limit applies; remove this one, or raise the outer one"),
                    );
                }
                _ => drop(budget.insert(pair.key.into(), value)),
            }
        }
        if budget.is_empty() { Value::Null } else { Value::Map(budget.into()) }
    }

    /// Returns the context key that holds a budget of the whole run. Apart from `budget`, whose values are known here.
    fn budget_key(&mut self, view: Option<NodeView<'a>>, outer: &Value) -> Value {
        let own = view.into_iter().flat_map(|view| view.each_pair());
        let named = own.filter(|pair| ChartBudgetKey::parse(pair.key) == Some(ChartBudgetKey::FromContext));
        let Some((name, span)) = named.last().and_then(|pair| Some((pair.value.text()?, pair.value.span())))
        else {
            return outer.clone();
        };
        self.context.read(name, span);
        Value::str(name)
    }
}

/// Numbers narrow, everything else is replaced.
fn loop_settings(view: Option<NodeView<'_>>, outer: &Value) -> Value {
    let Some(view) = view else { return outer.clone() };
    let mut settings = outer.as_map().cloned().unwrap_or_default();
    for pair in view.each_pair() {
        let value = to_value(pair.value);
        let narrower = match (value.as_f64(), outer.get(pair.key).as_f64()) {
            (Some(own), Some(outer)) => own <= outer,
            _ => true,
        };
        if narrower {
            settings.insert(pair.key.into(), value);
        }
    }
    Value::Map(settings.into())
}

fn strings(value: &Value) -> Vec<String> {
    value.as_list().unwrap_or_default().iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn list(names: &[String]) -> Value {
    Value::list(names.iter().map(|name| Value::str(name)).collect())
}

/// Returns true if a pattern (`*` matches anything) covers a name or a narrower pattern.
fn covers(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        last = Some(part);
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    match last {
        None => rest.is_empty(),
        Some(part) => part.is_empty() || name.ends_with(part),
    }
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn patterns_cover_names_and_narrower_patterns() {
        for (pattern, name, expected) in [
            ("Read", "Read", true),
            ("Read", "Reader", false),
            ("mcp__*", "mcp__git", true),
            ("mcp__*", "mcp__git__*", true),
            ("*", "Bash", true),
            ("*_read", "file_read", true),
            ("*_read", "file_reader", false),
        ] {
            assert_eq!(covers(pattern, name), expected, "{pattern} {name}");
        }
    }
}
