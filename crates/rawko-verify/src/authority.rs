//! What a change of a chart adds in authority: the differences between two manifests.

use rawko_core::Value;

/// One difference between two manifests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestChange {
    /// True if the new chart may do more.
    pub is_more: bool,
    /// The difference in one line, for people.
    pub text: String,
}

/// Returns what a change of a chart adds in authority, and what it removes.
pub fn manifest_changes(old: &Value, new: &Value) -> Vec<ManifestChange> {
    let (old_lines, new_lines) = (authority(old, new), authority(new, old));
    let mut changes = Vec::new();
    let mut push = |is_more: bool, text: String| changes.push(ManifestChange { is_more, text });
    for line in new_lines.iter().filter(|line| !old_lines.contains(line)) {
        push(!line.is_limit, format!("+ {}", line.text));
    }
    for line in old_lines.iter().filter(|line| !new_lines.contains(line)) {
        push(line.is_limit, format!("- {}", line.text));
    }
    for (more, text) in budget_changes(old, new) {
        push(more, text);
    }
    let (before, after) = (old.get("approval_respected"), new.get("approval_respected"));
    let risk = |verdict: &Value| match verdict.as_str() {
        Some("violated") => 2,
        Some("unknown") => 1,
        _ => 0,
    };
    if risk(before) != risk(after) {
        let shown = |verdict: &Value| verdict.as_str().unwrap_or("holds").to_owned();
        push(risk(after) > risk(before), format!("approval_respected: {} → {}", shown(before), shown(after)));
    }
    for (key, after) in new.get("ceiling").as_map().into_iter().flatten() {
        let before = old.get("ceiling").get(key);
        let size = |value: &Value| value.as_f64().unwrap_or(f64::INFINITY);
        if before != after {
            push(size(after) > size(before), format!("{key}: {} → {}", limit(before), limit(after)));
        }
    }
    changes
}

fn limit(value: &Value) -> String {
    if value.is_null() { "no limit".to_owned() } else { value.to_string() }
}

/// Returns the budgets of states that differ, key by key; true if the new one is larger or gone.
fn budget_changes(old: &Value, new: &Value) -> Vec<(bool, String)> {
    let (olds, mut changes) = (list(old.get("states")), Vec::new());
    for state in list(new.get("states")) {
        let Some(there) = olds.iter().find(|old| old.get("state") == state.get("state")) else { continue };
        let (before, after) = (there.get("budget"), state.get("budget"));
        let keys = |budget: &Value| -> Vec<String> {
            budget.as_map().into_iter().flat_map(|map| map.keys().map(ToString::to_string)).collect()
        };
        let mut all = keys(before);
        all.extend(keys(after).into_iter().filter(|key| before.get(key).is_null()));
        for key in all {
            let (before, after) = (before.get(&key), after.get(&key));
            let size = |value: &Value| value.as_f64().unwrap_or(f64::INFINITY);
            if before != after {
                let path = word(state.get("state"));
                let name = if path.is_empty() { "the chart".to_owned() } else { format!("`{path}`") };
                let text = format!("budget of {name}: {key} {} → {}", limit(before), limit(after));
                changes.push((size(after) > size(before), text));
            }
        }
    }
    changes
}

#[derive(PartialEq)]
struct ManifestLine {
    /// It narrows what a chart may do: a blocked tool, a budget, an approval.
    is_limit: bool,
    text: String,
}

/// Returns what one manifest permits and limits, in lines that can be compared with those of the other.
fn authority(manifest: &Value, other: &Value) -> Vec<ManifestLine> {
    let mut lines = Vec::new();
    let mut add = |is_limit: bool, text: String| lines.push(ManifestLine { is_limit, text });
    let others = list(other.get("states"));
    for state in list(manifest.get("states")) {
        let path = word(state.get("state"));
        let there = others.iter().find(|other| other.get("state") == state.get("state"));
        let name = if path.is_empty() { "the chart".to_owned() } else { format!("`{path}`") };
        for invoke in list(state.get("invokes")) {
            add(false, format!("{name} invokes {}", word(invoke.get("src"))));
        }
        for call in list(state.get("inputs")) {
            add(false, format!("{name} calls {} with {}", word(call.get("tool")), call.get("input")));
        }
        for handler in list(state.get("calls")) {
            add(false, format!("{name} calls {}", word(&handler)));
        }
        for target in list(state.get("sends_to")) {
            add(false, format!("{name} sends events to {}", word(&target)));
        }
        let tools = state.get("tools");
        let allowed: Vec<String> = list(tools.get("allowed")).iter().map(word).collect();
        // What limits a state that is gone, or that uses nothing, limits nothing.
        let Some(there) = there else {
            let allows_more =
                ["invokes", "calls", "sends_to"].iter().any(|key| !list(state.get(key)).is_empty());
            let allowed = allowed.iter().filter(|_| allows_more);
            allowed.for_each(|tool| add(false, format!("{name} allows {tool}")));
            continue;
        };
        // Without a list every tool is allowed.
        if !tools.get("allowed").is_null() && there.get("tools").get("allowed").is_null() {
            add(true, format!("{name} allows only {}", allowed.join(", ")));
        } else {
            allowed.iter().for_each(|tool| add(false, format!("{name} allows {tool}")));
        }
        let blocked = list(tools.get("blocked"));
        blocked.iter().for_each(|tool| add(true, format!("{name} blocks {}", word(tool))));
    }
    for approval in list(manifest.get("approvals")) {
        let question = word(approval.get("question"));
        add(true, format!("a person is asked `{question}`"));
        let guarded = [approval.get("guards"), approval.get("inferred")].into_iter().flat_map(list);
        // Approvals are compared for effects that both charts start.
        for effect in guarded.filter(|effect| others.iter().any(|state| starts(state, effect))) {
            add(true, format!("`{}` needs the approval `{question}`", word(&effect)));
        }
    }
    lines
}

/// Returns true if a state starts an effect, which is named by its invoke or its handler.
fn starts(state: &Value, effect: &Value) -> bool {
    list(state.get("calls")).contains(effect)
        || list(state.get("invokes")).iter().any(|invoke| invoke.get("id") == effect)
}

fn list(value: &Value) -> Vec<Value> {
    value.as_list().unwrap_or_default().to_vec()
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
