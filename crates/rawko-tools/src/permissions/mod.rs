//! Allow, ask and deny: rules on single calls, in Claude Code's syntax. Separate from grants, which decide about whole
//! tools: a rule may concern a command, a path, a domain, an MCP server or an agent, and it may require a person's
//! approval instead of refusing.

mod always;
mod arguments;
mod commands;
mod denied;
mod exact;
mod git_content;
mod hosts;
mod judge;
mod line;
mod paths;
mod programs;
mod rewritten;
mod rule;
mod section;
mod shown;
mod subject;
mod synonyms;
mod unmatchable;

pub use always::{AlwaysError, add_rules};
pub(crate) use commands::{CommandPattern, texts_without_options};
pub(crate) use denied::{DeniedFiles, denied_files};
pub use hosts::network_rule;
pub use judge::Judgement;
pub(crate) use judge::{hides, judge};
pub(crate) use paths::Roots;
pub use rule::RuleProblem;
pub use section::{read_agent, read_section};
pub use shown::shown;
pub(crate) use subject::untrusted_source;
pub use unmatchable::blocked_entry_problem;

use serde::{Deserialize, Serialize};

/// The decision on a call, from the least to the most restrictive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionEffect {
    /// The call is made.
    Allow,
    /// The call waits for a person.
    Ask,
    /// The call is refused.
    Deny,
}

/// Handling of calls that need an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskMode {
    /// The call waits for a person.
    Wait,
    /// The call is refused at once, for runs that no person attends.
    Deny,
}

impl AskMode {
    /// Returns the mode of a name in the settings.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "wait" => Some(AskMode::Wait),
            "deny" => Some(AskMode::Deny),
            _ => None,
        }
    }
}

/// The author of a set of rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Party {
    /// The person's own settings. Exact `allow` rules there answer the questions of the other parties.
    User,
    /// The project's settings.
    #[default]
    Project,
    /// An agent's file.
    Agent,
}

/// The rules of one file. Several sets apply side by side: the most restrictive decision counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Permissions {
    /// The author of the rules.
    #[serde(deserialize_with = "never_the_person")]
    pub party: Party,
    /// The file that contains the rules, as messages name it.
    pub file: String,
    /// Rules for calls that are made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Rules for calls that a person decides on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<String>,
    /// Rules for calls that are refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// The decision on calls that no rule matches. Unset: `ask` if there are `allow` rules, except for reading tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<PermissionEffect>,
    /// Calls that need an approval once the conversation contains untrusted text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask_after_untrusted: Vec<String>,
    /// Time until an unanswered request counts as denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<u64>,
    /// What happens to calls that a person decides on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<AskMode>,
    /// True if a rule is invalid. Then every call that is not denied needs an approval.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_broken: bool,
}

impl Permissions {
    /// Returns true if the set decides nothing.
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty()
            && self.ask.is_empty()
            && self.deny.is_empty()
            && self.default.is_none()
            && self.ask_after_untrusted.is_empty()
            && !self.is_broken
    }

    /// Returns true if a call may need the approval of a person by these rules.
    pub fn may_ask(&self) -> bool {
        let is_list = !self.allow.is_empty() && self.default.is_none();
        let has_rules = !self.ask.is_empty() || !self.ask_after_untrusted.is_empty();
        has_rules || is_list || self.is_broken || self.default == Some(PermissionEffect::Ask)
    }

    /// Names a list for messages: ``` `permissions.deny` of .rawko/config.yaml ```.
    fn list(&self, key: &str) -> String {
        format!("`permissions.{key}` of {}", self.file)
    }

    /// Returns the `deny` rule that refuses a whole tool, so that it is left out of the model's tools.
    pub(crate) fn denied_tool(&self, tool: &str) -> Option<&str> {
        let is_bare =
            |text: &&String| rule::PermissionRule::parse(text).is_ok_and(|rule| rule.denies_tool(tool));
        self.deny.iter().find(is_bare).map(String::as_str)
    }
}

/// Reads a party. Rules that passed through a chart are not known to be the person's: those are read from their file.
fn never_the_person<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Party, D::Error> {
    Ok(match Party::deserialize(from)? {
        Party::User | Party::Project => Party::Project,
        Party::Agent => Party::Agent,
    })
}

#[cfg(test)]
mod evasions;
