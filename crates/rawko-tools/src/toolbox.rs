//! The toolbox: the single dispatch point of tool calls. Alias, grant, input, confinement and shell filter, limits, in
//! this order; no tool runs without them.

use std::path::Path;
use std::sync::Arc;

use rawko_core::Value;

use super::bash::{CONNECTED, CommandCaller, Temporary, bash};
use super::builtin::Builtin;
use super::confine::ProjectRoot;
use super::file_calls::decided;
use super::grant::{Grant, GrantLayer};
use super::input::{InputValidators, text};
use super::outcome::{RefusedCall, ToolFailure, ToolOutcome};
use super::permissions::{Judgement, Permissions, Roots, denied_files, judge, untrusted_source};
use super::settings::ToolSettings;
use super::skill::Skill;
use super::web::{SearchEngine, SearchModel, SearchSettings, fetch};
use super::{Occasion, ToolSource, alias, plan, question, shell, skill, think};
use rawko_model::ToolSpec;
use rawko_process::ProjectAccess;

/// A tool call of a model.
#[derive(Clone, Copy, Debug)]
pub struct ToolCall<'c> {
    /// The name the model used; aliases are accepted.
    pub name: &'c str,
    /// The input as the model wrote it.
    pub input: &'c Value,
    /// The instance that makes the call.
    pub instance: &'c str,
    /// The current plan, for the plan tools; null if there is none.
    pub plan: &'c Value,
    /// Thoughts so far, for Think; null if there are none.
    pub notes: &'c Value,
    /// Idempotency key; unchanged when a call is repeated after a crash.
    pub idempotency: &'c str,
    /// The state of the call: approved, untrusted text, answers.
    pub clearance: Clearance<'c>,
}

/// The state of a call besides its input.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clearance<'c> {
    /// True if a person approved this call.
    pub approved: bool,
    /// The source of untrusted text in the conversation, if there is any.
    pub untrusted: Option<&'c str>,
    /// What the person answered, for AskUser.
    pub answer: Option<&'c str>,
    /// What the person replied to a question of the tool itself.
    pub reply: Option<&'c Value>,
    /// True if the chart of the call can ask a person for the tool.
    pub can_ask: bool,
}

/// All the tools of a project.
pub struct Toolbox {
    pub(super) tools: Arc<BuiltinTools>,
    sources: Vec<Arc<dyn ToolSource>>,
    skills: Vec<Skill>,
    pub(super) search_model: Option<SearchModel>,
    /// True for a copy of the project: servers that work in the project itself must not write for it.
    is_apart: bool,
}

/// State of the built-in tools; shared with the blocking pool.
pub(super) struct BuiltinTools {
    pub(super) project: ProjectRoot,
    pub(super) settings: ToolSettings,
    temporary: Temporary,
    inputs: InputValidators,
}

/// The owner of a tool name.
pub(super) enum Resolved<'t> {
    Builtin(Builtin),
    Source(&'t dyn ToolSource),
}

impl Toolbox {
    /// Creates the tools of a project.
    pub fn new(project_root: &Path, settings: ToolSettings) -> Self {
        let temporary = Temporary::new();
        let mut project = ProjectRoot::new(project_root);
        project.writable_elsewhere = settings.extra_write_paths.clone();
        project.writable_elsewhere.extend(temporary.path().map(Path::to_owned));
        Self {
            tools: Arc::new(BuiltinTools {
                project,
                settings,
                temporary,
                inputs: InputValidators::default(),
            }),
            sources: Vec::new(),
            skills: Vec::new(),
            search_model: None,
            is_apart: false,
        }
    }

    /// Returns the same tools for a copy of the project.
    #[must_use]
    pub fn apart(&self, root: &Path) -> Self {
        Self {
            sources: self.sources.clone(),
            skills: self.skills.clone(),
            search_model: self.search_model.clone(),
            is_apart: true,
            ..Self::new(root, self.tools.settings.clone())
        }
    }

    /// Returns the existing files that rules keep from agents.
    pub fn hidden_files(&self, rules: &[Permissions]) -> Vec<std::path::PathBuf> {
        denied_files(rules, &self.roots()).hidden
    }

    /// Adds the skills that the tool Skill returns.
    #[must_use]
    pub fn with_skills(self, skills: Vec<Skill>) -> Self {
        Self { skills, ..self }
    }

    /// Adds the model that searches, if the settings choose one.
    #[must_use]
    pub fn with_search_model(self, model: SearchModel) -> Self {
        Self { search_model: Some(model), ..self }
    }

    /// Returns the skills that agents can load.
    pub fn skills(&self) -> &[Skill] {
        &self.skills
    }

    /// Returns true if a tool can be used at all in this project.
    fn is_available(&self, tool: Builtin) -> bool {
        match tool {
            Builtin::WebSearch => match &self.tools.settings.search {
                Some(SearchSettings { engine: SearchEngine::Model { .. }, .. }) => {
                    self.search_model.is_some()
                }
                Some(_) => true,
                None => false,
            },
            Builtin::Skill => !self.skills.is_empty(),
            Builtin::Read
            | Builtin::Write
            | Builtin::Edit
            | Builtin::Glob
            | Builtin::Grep
            | Builtin::Bash
            | Builtin::WebFetch
            | Builtin::PlanWrite
            | Builtin::PlanRead
            | Builtin::PlanUpdate
            | Builtin::AskUser
            | Builtin::Think => true,
        }
    }

    /// Adds a source of further tools.
    #[must_use]
    pub fn with_source(mut self, source: Arc<dyn ToolSource>) -> Self {
        self.sources.push(source);
        self
    }

    /// Returns the settings.
    pub fn settings(&self) -> &ToolSettings {
        &self.tools.settings
    }

    /// Returns the tools a grant allows, as presented to a model: the built-in ones first, then each source's in its
    /// order.
    pub async fn specs(&self, grant: &Grant) -> Vec<ToolSpec> {
        // A question needs a person, so it is presented only where one is expected.
        let available =
            Builtin::ALL.into_iter().filter(|tool| self.is_available(*tool) && *tool != Builtin::AskUser);
        let mut specs: Vec<ToolSpec> = available.map(Builtin::spec).collect();
        for source in &self.sources {
            for spec in source.specs_for(grant).await {
                if !specs.iter().any(|known| known.name == spec.name) {
                    specs.push(spec);
                }
            }
        }
        specs.retain(|spec| grant.allows(&spec.name));
        specs
    }

    /// Returns the tool AskUser as presented to a model, if a grant allows it.
    pub fn question_spec(&self, grant: &Grant) -> Option<ToolSpec> {
        grant.allows(Builtin::AskUser.name()).then(|| Builtin::AskUser.spec())
    }

    /// Returns true if a call with an unknown outcome may be repeated.
    pub fn is_safe_to_repeat(&self, name: &str) -> bool {
        match self.resolve(name) {
            Some((_, Resolved::Builtin(tool))) => tool.is_safe_to_repeat(),
            Some((name, Resolved::Source(source))) => source.is_safe_to_repeat(&name),
            None => true,
        }
    }

    /// Returns true if a call may change the project's files, that is, if a grant without Write and Edit would refuse
    /// it.
    pub fn may_change(&self, name: &str, input: &Value) -> bool {
        match self.resolve(name) {
            Some((_, Resolved::Builtin(Builtin::Write | Builtin::Edit))) => true,
            Some((_, Resolved::Builtin(Builtin::Bash))) => {
                let blocked = ["Write", "Edit"].map(str::to_owned).to_vec();
                let looking = Grant::new([GrantLayer { blocked, ..GrantLayer::default() }]);
                let permit = shell::check(text(input, "command"), &looking, &self.tools.project);
                permit.map_or(true, |permit| permit.may_write)
            }
            Some((_, Resolved::Builtin(_) | Resolved::Source(_))) | None => false,
        }
    }

    /// Returns true if a call may leave changed files behind.
    pub fn may_leave_changes(&self, name: &str, input: &Value) -> bool {
        self.may_change(name, input) || matches!(self.resolve(name), Some((_, Resolved::Source(_))))
    }

    /// Resolves an alias to the tool's own name.
    pub fn canonical_name(&self, name: &str) -> Option<String> {
        self.resolve(name).map(|(name, _)| name)
    }

    /// Runs a tool, or refuses and explains why. Dropping the future ends a command and abandons a fetch; a
    /// file operation is short and runs to completion.
    pub async fn run(&self, call: ToolCall<'_>, grant: &Grant) -> ToolOutcome {
        let Some((name, resolved)) = self.resolve(call.name) else {
            let allowed = self.allowed_names(grant).await;
            return ToolOutcome::failed(format!("there is no tool `{}`. {allowed}", call.name));
        };
        if let Err(refused) = grant.check(&name) {
            return refused.outcome(&self.allowed_names(grant).await);
        }
        // Before an approval is looked for: no person is asked about a call that cannot be made.
        if let Some(wrong) = self.wrong_input(&name, call.input) {
            return ToolOutcome::failed(wrong);
        }
        if let Err(refused) = self.cleared(&name, call.input, grant, call.clearance) {
            return refused.outcome("");
        }
        match resolved {
            Resolved::Builtin(tool) => self.builtin(tool, call, grant).await,
            Resolved::Source(source) => {
                let access = if self.is_apart { ProjectAccess::Read } else { grant.access() };
                let key = format!("{} {name} {}", call.instance, call.input.to_json());
                let ToolCall { instance, idempotency, clearance: Clearance { can_ask, reply, .. }, .. } =
                    call;
                let occasion = Occasion { key: &key, can_ask, reply, instance, idempotency };
                source.call_for(&name, call.input.clone(), access, occasion).await
            }
        }
    }

    /// Returns the reason why a built-in tool cannot take an input; servers of other tools validate theirs.
    pub fn wrong_input(&self, name: &str, input: &Value) -> Option<String> {
        match self.resolve(name)?.1 {
            Resolved::Builtin(tool) => self.tools.inputs.check(tool, input).err(),
            Resolved::Source(_) => None,
        }
    }

    /// Decides on a call by the rules `allow`, `ask` and `deny` of its grant. Nothing is run.
    pub fn judge(&self, name: &str, input: &Value, grant: &Grant, untrusted: Option<&str>) -> Judgement {
        let own = self.canonical_name(name);
        let own = own.as_deref().unwrap_or(name);
        let judgement = judge(&grant.permissions, own, input, &self.roots(), untrusted);
        self.judge_host(own, input, grant, judgement)
    }

    /// Refuses a call that is denied, or that needs an approval and has none.
    pub(super) fn cleared(
        &self,
        name: &str,
        input: &Value,
        grant: &Grant,
        clearance: Clearance<'_>,
    ) -> Result<(), RefusedCall> {
        decided(self.judge(name, input, grant, clearance.untrusted), clearance.approved)
    }

    /// Returns the text that Bash runs for a line, if it differs from the line.
    pub fn printed_line(&self, name: &str, input: &Value) -> Option<String> {
        if self.canonical_name(name).as_deref() != Some(Builtin::Bash.name()) {
            return None;
        }
        let line = text(input, "command");
        let printed = shell::read_line(line).ok()?.printed?.ok()?;
        (printed != line.trim()).then_some(printed)
    }

    /// Returns the source of untrusted text that the result of a call may contain.
    pub fn untrusted_source(&self, name: &str, input: &Value) -> Option<String> {
        let own = self.canonical_name(name);
        let settings = &self.tools.settings;
        let extra: Vec<_> =
            settings.extra_read_paths.iter().chain(&settings.extra_write_paths).cloned().collect();
        untrusted_source(own.as_deref().unwrap_or(name), input, &self.roots(), &extra)
    }

    /// Returns the source of untrusted text in a result: where the call may have read, and the hosts that it reached.
    pub fn untrusted_result(&self, name: &str, input: &Value, outcome: &ToolOutcome) -> Option<String> {
        let hosts = outcome.data.get(CONNECTED).as_list().unwrap_or_default().iter();
        let hosts: Vec<&str> = hosts.filter_map(Value::as_str).collect();
        let reached = || format!("{} {}", self.canonical_name(name).unwrap_or_default(), hosts.join(", "));
        let source = self.untrusted_source(name, input);
        source.or_else(|| (!hosts.is_empty()).then(reached))
    }

    pub(super) fn roots(&self) -> Roots {
        let home = self.tools.settings.bash.inherited.get("HOME").map(std::path::PathBuf::from);
        Roots { project: self.tools.project.root().to_owned(), home: home.or_else(std::env::home_dir) }
    }

    /// The tool's own name takes precedence, then a source's, then the aliases.
    pub(super) fn resolve(&self, name: &str) -> Option<(String, Resolved<'_>)> {
        if let Some(tool) = Builtin::named(name) {
            return Some((name.to_owned(), Resolved::Builtin(tool)));
        }
        if let Some(source) = self.sources.iter().find(|source| source.has(name)) {
            return Some((name.to_owned(), Resolved::Source(&**source)));
        }
        alias::resolved(name).map(|tool| (tool.name().to_owned(), Resolved::Builtin(tool)))
    }

    async fn allowed_names(&self, grant: &Grant) -> String {
        let names: Vec<String> = self.specs(grant).await.into_iter().map(|spec| spec.name).collect();
        if names.is_empty() {
            "Nothing is allowed here.".into()
        } else {
            format!("Allowed here: {}.", names.join(", "))
        }
    }

    async fn builtin(&self, tool: Builtin, call: ToolCall<'_>, grant: &Grant) -> ToolOutcome {
        let done = match tool {
            Builtin::Read | Builtin::Write | Builtin::Edit | Builtin::Glob | Builtin::Grep => {
                self.on_files(tool, call, grant).await
            }
            Builtin::Bash => self.bash(call, grant).await,
            Builtin::WebFetch => {
                // The approval is for the address that was shown, not for where it leads.
                let clearance = Clearance { approved: false, ..call.clearance };
                let leads_to = |url: &str| {
                    let input = Value::map([("url", Value::str(url))]);
                    self.cleared(tool.name(), &input, grant, clearance)
                };
                fetch(&self.web_egress(grant), text(call.input, "url"), &leads_to).await
            }
            Builtin::WebSearch => self.search(call.input, grant).await,
            Builtin::Think => Ok(think::think(call.notes, call.input)),
            Builtin::Skill => Ok(skill::load(&self.skills, call.input)),
            Builtin::AskUser => Ok(question::answered(call.clearance)),
            Builtin::PlanWrite => Ok(plan::write(call.input)),
            Builtin::PlanRead => Ok(plan::read(call.plan)),
            Builtin::PlanUpdate => Ok(plan::update(call.plan, call.input)),
        };
        match done {
            Ok(outcome) => outcome,
            Err(ToolFailure::Refused(refused)) => refused.outcome(""),
            Err(ToolFailure::Said(said)) => ToolOutcome::failed(said),
        }
    }

    async fn bash(&self, call: ToolCall<'_>, grant: &Grant) -> Result<ToolOutcome, ToolFailure> {
        let tools = &self.tools;
        let mut permit = shell::check(text(call.input, "command"), grant, &tools.project)?;
        permit.denied = denied_files(&grant.permissions, &self.roots());
        let caller = CommandCaller { instance: call.instance, idempotency: call.idempotency };
        let egress = self.program_egress(grant);
        bash(&tools.project, &tools.settings, (&tools.temporary, egress), (permit, caller), call.input).await
    }
}
