//! Which hosts a call may reach: the lists of the settings together with the rules and agents of its grant. One place for
//! every tool that connects; separate from the toolbox, which only asks it.

use rawko_core::Value;
use rawko_process::{Egress, EgressRefusal};
use reqwest::Url;

use super::grant::Grant;
use super::input::text;
use super::outcome::{ToolFailure, ToolOutcome};
use super::permissions::Judgement;
use super::toolbox::{Resolved, Toolbox};
use super::web::{SearchEngine, search};

impl Toolbox {
    /// Returns the hosts for WebFetch, WebSearch and MCP servers over HTTP.
    pub(super) fn web_egress(&self, grant: &Grant) -> Egress {
        Egress { rules: grant.host_rules(), ..self.settings().web.egress() }
    }

    /// Returns the hosts for programs; `None`: no network.
    pub fn program_egress(&self, grant: &Grant) -> Option<Egress> {
        let rules = grant.host_rules();
        let listed = self.settings().network.clone();
        let none = || Egress { hosts: Some(Vec::new()), ..Egress::default() };
        let egress = listed.or_else(|| rules.may_open().then(none))?;
        Some(Egress { rules, ..egress })
    }

    /// Returns true if a call may have to wait for the approval of a host.
    pub fn asks_about_hosts(&self, grant: &Grant) -> bool {
        let rules = grant.host_rules();
        let has_list = self.settings().web.hosts.is_some() || !rules.within.is_empty();
        !rules.asked.is_empty() || (rules.asks_unlisted && has_list)
    }

    /// Searches the web by the service of the settings.
    pub(super) async fn search(&self, input: &Value, grant: &Grant) -> Result<ToolOutcome, ToolFailure> {
        let settings = &self.tools.settings;
        match &settings.search {
            Some(service) => {
                search(&self.web_egress(grant), service, self.search_model.as_ref(), input).await
            }
            None => Err("no search service is configured: set `tools.search` in .rawko/config.yaml"
                .to_owned()
                .into()),
        }
    }

    /// Adds the decision on the host that a call connects to.
    pub(super) fn judge_host(
        &self,
        tool: &str,
        input: &Value,
        grant: &Grant,
        judgement: Judgement,
    ) -> Judgement {
        let Some((host, port)) = self.host_of(tool, input) else { return judgement };
        match self.web_egress(grant).decide(&host, port) {
            Ok(()) => judgement,
            Err(EgressRefusal::Unapproved { rule, .. }) => judgement.asking_host(&host, rule),
            Err(EgressRefusal::Denied { rule, .. }) => judgement.denied_host(rule),
            // The built-in tools refuse these themselves, with the setting to change; a server is not asked at all.
            Err(refusal) if tool.starts_with("mcp__") => judgement.denied_host(refusal.to_string()),
            Err(_) => judgement,
        }
    }

    /// The host as rules name it.
    fn host_of(&self, tool: &str, input: &Value) -> Option<(String, u16)> {
        let of_url = |url: &str| {
            let url = Url::parse(url.trim()).ok()?;
            let host = url.host_str()?.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
            Some((host, url.port_or_known_default()?))
        };
        match (tool, self.settings().search.as_ref().map(|search| &search.engine)) {
            ("WebFetch", _) => of_url(text(input, "url")),
            (
                "WebSearch",
                Some(
                    SearchEngine::Searxng { base_url }
                    | SearchEngine::Brave { base_url, .. }
                    | SearchEngine::Tavily { base_url, .. },
                ),
            ) => of_url(base_url),
            // A model that searches is reached as every model is.
            ("WebSearch", Some(SearchEngine::Model { .. }) | None) => None,
            (name, _) => match self.resolve(name) {
                Some((name, Resolved::Source(source))) => source.host(&name),
                Some((_, Resolved::Builtin(_))) | None => None,
            },
        }
    }
}
