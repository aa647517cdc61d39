//! Decisions on single hosts beside the list of the settings: denied, approved by the person, to be asked about, or outside
//! the list of an agent. Separate from the list, because they come from other files and differ between agents.

/// A pattern on hosts, and the rule that it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRule {
    /// `example.com`, `*.example.com`, `*`.
    pub pattern: String,
    /// The rule and its file, for messages.
    pub source: String,
}

/// The hosts of one agent. It narrows the list of the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostList {
    /// Patterns, as in [`Egress::hosts`](super::Egress::hosts).
    pub hosts: Vec<String>,
    /// The file of the list, for messages.
    pub source: String,
}

/// Rules on hosts. A denial wins over an approval, and an approval over a rule that asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostRules {
    /// Never reached.
    pub denied: Vec<HostRule>,
    /// Approved by the person: in the person's settings, or in answer to a request.
    pub approved: Vec<HostRule>,
    /// Reached only if approved, also if a list names them.
    pub asked: Vec<HostRule>,
    /// Lists of agents, each of which narrows.
    pub within: Vec<HostList>,
    /// True if the person is asked about hosts that no list names.
    pub asks_unlisted: bool,
    /// True if the program cannot wait for a person: a rule that asks is a rule that denies.
    pub cannot_ask: bool,
}

impl HostRules {
    /// Returns the rules for a program that cannot wait for a person.
    #[must_use]
    pub fn for_program(self) -> Self {
        Self { asks_unlisted: false, cannot_ask: true, ..self }
    }

    /// Returns true if a host can be reached although the settings list none.
    pub fn may_open(&self) -> bool {
        self.asks_unlisted || !self.asked.is_empty() || !self.approved.is_empty()
    }

    /// Returns true if a person may be asked about a host.
    pub fn may_ask(&self) -> bool {
        self.asks_unlisted || !self.asked.is_empty()
    }
}

/// Returns true for text that can be the name or the address of a host. It is shown to a person, so nothing else passes.
pub(super) fn is_host(text: &str) -> bool {
    let bare = text.trim_matches(['[', ']']);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    !bare.is_empty() && bare.len() <= 253 && bare.bytes().all(is_plain)
}
