//! The rules for a call, as its caller's chart and instance give them. Reading never fails: tool rules that cannot be read
//! allow no tool, and limits that cannot be read leave the others in force.

use rawko_core::Value;
use rawko_host::ServiceCall;
use rawko_tools::GrantLayer;
use serde::{Deserialize, Deserializer};

use super::lenient;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::work) struct CallPolicy {
    /// The tool rules of the state.
    tools: Value,
    /// Those of its callers, outermost first.
    within: Option<Vec<Value>>,
    #[serde(deserialize_with = "lenient")]
    budget: Option<BudgetLeft>,
    #[serde(rename = "loop")]
    pub(in crate::work) loops: Value,
    /// The mode that a person gave for one run.
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) permission_mode: Option<String>,
    /// The hash of the chart that the agent runs on.
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) chart: Option<String>,
}

/// The rest of the budget, by key.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::work) struct BudgetLeft {
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) tokens: Option<i64>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) cost_usd: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) tool_calls: Option<i64>,
    /// Milliseconds.
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) time: Option<i64>,
}

/// `tools` of a state.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolRules {
    #[serde(deserialize_with = "lenient")]
    source: Option<String>,
    #[serde(deserialize_with = "texts")]
    allowed: Option<Vec<String>>,
    blocked: Option<Vec<String>>,
}

impl ToolRules {
    fn nothing() -> Self {
        Self { allowed: Some(Vec::new()), ..Self::default() }
    }
}

/// Tool rules in place of a policy that cannot be read.
const UNREADABLE: Value = Value::Bool(false);

impl CallPolicy {
    pub(in crate::work) fn of(call: &ServiceCall) -> Self {
        Self::read(&call.policy)
    }

    pub(in crate::work) fn read(policy: &Value) -> Self {
        if policy.is_null() {
            return Self::default();
        }
        policy.read().unwrap_or_else(|_| Self { tools: UNREADABLE, ..Self::default() })
    }

    pub(in crate::work) fn budget(&self) -> BudgetLeft {
        self.budget.clone().unwrap_or_default()
    }

    /// Returns the tool rules as layers, outermost first.
    pub(in crate::work) fn layers(&self) -> impl Iterator<Item = GrantLayer> {
        let all = self.within.iter().flatten().chain([&self.tools]);
        all.filter(|tools| !tools.is_null()).map(|tools| {
            let rules: ToolRules = tools.read().unwrap_or_else(|_| ToolRules::nothing());
            GrantLayer {
                source: rules.source.unwrap_or_else(|| "`tools` of a state".to_owned()),
                allowed: rules.allowed,
                blocked: rules.blocked.unwrap_or_default(),
                bash: None,
                network: None,
            }
        })
    }
}

/// Reads the texts of a list. An entry that is not a text names no tool, so it allows none.
fn texts<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    let list = Option::<Vec<Value>>::deserialize(from)?;
    Ok(list.map(|list| list.iter().filter_map(Value::as_str).map(str::to_owned).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_cannot_be_read_does_not_widen_the_others() {
        let policy = r#"{"budget": {"tokens": "many", "tool_calls": 3}, "tools": {"allowed": ["Read", 5]},
            "within": [{"source": "s", "blocked": ["Bash"]}, null], "permission_mode": 1}"#;
        let policy = CallPolicy::read(&serde_json::from_str(policy).unwrap());
        assert_eq!((policy.budget().tokens, policy.budget().tool_calls), (None, Some(3)));
        let layers: Vec<GrantLayer> = policy.layers().collect();
        assert_eq!(layers.len(), 2);
        assert_eq!(
            (layers[0].source.as_str(), layers[0].blocked.as_slice()),
            ("s", &["Bash".to_owned()][..])
        );
        assert_eq!(layers[1].allowed.as_deref(), Some(&["Read".to_owned()][..]));
        assert_eq!(CallPolicy::read(&Value::Null).layers().count(), 0);
    }

    #[test]
    fn tool_rules_that_cannot_be_read_allow_nothing() {
        let unreadable = [
            r#""all""#,
            r#"{"tools": "Read"}"#,
            r#"{"tools": {"allowed": "Read"}}"#,
            r#"{"tools": {"allowed": ["Read"], "blocked": "Bash"}}"#,
            r#"{"tools": {"allowed": ["Read"], "blocked": ["Bash", 5]}}"#,
            r#"{"tools": {"allowed": ["Read"]}, "within": {"blocked": ["Bash"]}}"#,
        ];
        for text in unreadable {
            let policy = CallPolicy::read(&serde_json::from_str(text).unwrap());
            let layers: Vec<GrantLayer> = policy.layers().collect();
            assert!(layers.iter().any(|layer| layer.allowed.as_deref() == Some(&[])), "{text}: {layers:?}");
        }
    }
}
