//! The provenance checklist: fields that governance requires of each service, tool, MCP server and agent, and the
//! approvals that contain them. A call whose approval is incomplete or expired is refused.

use std::sync::Arc;

use rawko_core::{ServiceClass, ServiceName, Value};

use super::rules::{GateRule, covers};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// The fields that can be required.
pub const FIELDS: [&str; 4] = ["owner", "source", "reviewed", "expires"];
/// The kinds of names that a requirement can be about.
pub const KINDS: [&str; 4] = ["service", "tool", "mcp", "agent"];

/// The requirements and approvals of all settings files.
#[derive(Clone, Debug, Default)]
pub struct Checklist {
    required: Vec<Requirement>,
    approvals: Vec<ChecklistApproval>,
}

#[derive(Clone, Debug)]
struct Requirement {
    kind: String,
    field: String,
    file: Arc<str>,
}

#[derive(Clone, Debug)]
struct ChecklistApproval {
    rule: GateRule,
    record: Value,
}

/// An approval and the day on which it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// Approved service, tool, MCP server or agent.
    pub name: String,
    /// Settings file with the approval.
    pub file: String,
    /// Last day of the approval, as `YYYY-MM-DD`.
    pub day: String,
    /// Time until then; negative if it is over.
    pub left_ms: i64,
}

impl Checklist {
    /// Requires a field of every approval of this kind; `file` is reported when it is missing.
    pub fn require(&mut self, kind: &str, field: &str, file: &Arc<str>) {
        self.required.push(Requirement {
            kind: kind.to_owned(),
            field: field.to_owned(),
            file: Arc::clone(file),
        });
    }

    /// Adds an approval; `name` may be a pattern (`agent:*`). An invalid pattern approves nothing.
    pub fn approve(&mut self, name: &str, record: Value, file: &Arc<str>) {
        if let Ok(rule) = GateRule::new(name, file) {
            self.approvals.push(ChecklistApproval { rule, record });
        }
    }

    /// Returns true if no field is required.
    pub fn is_empty(&self) -> bool {
        self.required.is_empty()
    }

    /// Returns the approval that a call rests on, for the audit; `None` if nothing is required of its kind.
    pub(super) fn check(&self, name: &str, now_ms: i64) -> Result<Option<String>, String> {
        let Some((kind, subject)) = subject(name) else { return Ok(None) };
        let required: Vec<&Requirement> = self.required.iter().filter(|one| one.kind == kind).collect();
        let Some(first) = required.first() else { return Ok(None) };
        let place = format!("`governance.require.{kind}` of {}", first.file);
        let approval = self.approvals.iter().find(|approval| covers(&approval.rule.pattern, &subject));
        let record = approval.map_or(&Value::NULL, |approval| &approval.record);
        let missing: Vec<String> = required
            .iter()
            .filter(|one| !is_given(&one.field, record.get(&one.field)))
            .map(|one| format!("`{}`", one.field))
            .collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            return Err(format!(
                "`{subject}` has no {missing}, which {place} requires; add it to `governance.approvals`"
            ));
        }
        let file = approval.map_or("", |approval| &*approval.rule.file);
        if let Some(end) = end_ms(record.get("expires")).filter(|end| *end <= now_ms) {
            let day = text(record.get("expires"));
            debug_assert!(end <= now_ms);
            return Err(format!(
                "the approval of `{subject}` expired on {day} (`governance.approvals` of {file})"
            ));
        }
        let fields = FIELDS.iter().filter(|field| !record.get(field).is_null());
        let fields: Vec<String> =
            fields.map(|field| format!("{field} {}", text(record.get(field)))).collect();
        Ok(Some(format!("approval `{subject}` of {file}: {}", fields.join(", "))))
    }

    /// Returns the approvals that end, the earliest first.
    pub fn expiries(&self, now_ms: i64) -> Vec<Expiry> {
        let mut all: Vec<Expiry> = self
            .approvals
            .iter()
            .filter_map(|approval| {
                let end = end_ms(approval.record.get("expires"))?;
                Some(Expiry {
                    name: approval.rule.pattern.clone(),
                    file: approval.rule.file.to_string(),
                    day: text(approval.record.get("expires")),
                    left_ms: end - now_ms,
                })
            })
            .collect();
        all.sort_by_key(|expiry| expiry.left_ms);
        all
    }
}

/// Returns the kind of a call and the name of its approval. The tools of an MCP server share one.
fn subject(name: &str) -> Option<(&'static str, String)> {
    let ServiceName { class, member } = ServiceName::of(name);
    match class {
        ServiceClass::Plain => Some(("service", name.to_owned())),
        ServiceClass::Agent => Some(("agent", name.to_owned())),
        ServiceClass::Tool => match member.strip_prefix("mcp__") {
            Some(rest) => Some(("mcp", format!("mcp:{}", rest.split("__").next().unwrap_or(rest)))),
            None => Some(("tool", name.to_owned())),
        },
        _ => None,
    }
}

fn is_given(field: &str, value: &Value) -> bool {
    match field {
        "reviewed" | "expires" => end_ms(value).is_some(),
        _ => !text(value).trim().is_empty(),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Str(text) => text.to_string(),
        other => other.to_string(),
    }
}

/// Returns the end of a day (`2027-01-31`), in UTC.
fn end_ms(value: &Value) -> Option<i64> {
    Some((parse_day(&text(value))? + 1) * DAY_MS)
}

/// Parses a day as the number of days since 1970.
pub fn parse_day(text: &str) -> Option<i64> {
    let day = text.trim().get(..10)?;
    let mut parts = day.split('-').map(str::parse::<i64>);
    let (Some(Ok(year)), Some(Ok(month)), Some(Ok(day)), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    let lengths = [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *lengths.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    if !(1970..=9999).contains(&year) || !(1..=length).contains(&day) {
        return None;
    }
    let days: i64 = (1970..year).map(|year| if is_leap(year) { 366 } else { 365 }).sum();
    let before: i64 = lengths[..usize::try_from(month).ok()? - 1].iter().sum();
    Some(days + before + day - 1)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str) -> Value {
        Value::from_json(serde_json::from_str(text).unwrap_or_default())
    }

    #[test]
    fn an_incomplete_or_expired_approval_refuses() {
        let file: Arc<str> = "config.yaml".into();
        let mut list = Checklist::default();
        for (kind, field) in [("agent", "owner"), ("agent", "expires"), ("mcp", "owner")] {
            list.require(kind, field, &file);
        }
        list.approve("agent:old", record(r#"{"owner": "ada", "expires": "2026-01-31"}"#), &file);
        list.approve("agent:good", record(r#"{"owner": "ada", "expires": "2027-01-31"}"#), &file);
        list.approve("agent:half", record(r#"{"owner": "ada"}"#), &file);
        list.approve("agent:odd", record(r#"{"owner": "ada", "expires": "soon"}"#), &file);
        list.approve("mcp:git", record(r#"{"owner": "bo"}"#), &file);
        let now = parse_day("2026-11-17").unwrap_or_default() * DAY_MS;
        let told = |name: &str| match list.check(name, now) {
            Ok(Some(approval)) => approval,
            Ok(None) => "nothing required".to_owned(),
            Err(why) => format!("refused: {why}"),
        };
        let table = [
            ("agent:good", "approval `agent:good` of config.yaml: owner ada, expires 2027-01-31"),
            (
                "agent:old",
                "refused: the approval of `agent:old` expired on 2026-01-31 (`governance.approvals` of config.yaml)",
            ),
            (
                "agent:half",
                "refused: `agent:half` has no `expires`, which `governance.require.agent` of config.yaml requires; add it \
                 to `governance.approvals`",
            ),
            (
                "agent:odd",
                "refused: `agent:odd` has no `expires`, which `governance.require.agent` of config.yaml requires; add it \
                 to `governance.approvals`",
            ),
            (
                "agent:none",
                "refused: `agent:none` has no `owner`, `expires`, which `governance.require.agent` of config.yaml \
                 requires; add it to `governance.approvals`",
            ),
            ("tool:mcp__git__log", "approval `mcp:git` of config.yaml: owner bo"),
            (
                "tool:mcp__web__get",
                "refused: `mcp:web` has no `owner`, which `governance.require.mcp` of config.yaml requires; add it to \
                 `governance.approvals`",
            ),
            ("tool:Bash", "nothing required"),
            ("model:complete", "nothing required"),
        ];
        for (name, expected) in table {
            assert_eq!(told(name), expected, "{name}");
        }
        assert_eq!(
            list.expiries(now).iter().map(|one| one.name.as_str()).collect::<Vec<_>>(),
            ["agent:old", "agent:good"]
        );
    }
}
