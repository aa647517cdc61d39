//! A project in a temporary directory, with agents, settings and a script, and a host that works in it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rawko_agents::work::{self, AgentServices};
use rawko_core::Value;
use rawko_host::{Edition, Environment, Host, Settings, SettleReason, StartOptions};
use rawko_model::provider::{CompletionFuture, CompletionRequest, Provider, Scripted, StreamListener};
use rawko_store::{MemoryStore, Store};

const SETTINGS: &str = "
governance: {allow: ['agent:*', 'checks:*', 'note']}
providers: {default: demo/scripted}
";

/// Runs one agent and ends with its outcome.
pub(crate) const ONE: &str = "
statechart:
  id: one
  initial: working
  context: {agent: worker, prompt: Do it., phase: null, result: null, schema: null, goal: null}
  states:
    working:
      invoke:
        id: work
        src: {expr: \"'agent:' ~ context.agent\"}
        input: {prompt: context.prompt, phase: context.phase, occasion: context.phase, schema: context.schema, goal: context.goal}
        onDone: {target: done, actions: [{type: assign, context_updates: {result: event.data}}]}
        onError: {target: failed, actions: [{type: assign, context_updates: {result: event.data}}]}
    done: {type: final, output: context.result}
    failed: {type: final, tags: [error], output: context.result}
";

pub(crate) struct Yard {
    directory: tempfile::TempDir,
    settings: String,
    script: Arc<Listening>,
    model: Option<Arc<dyn Provider>>,
    charts: Vec<String>,
    state_dir: Option<PathBuf>,
    unconfined: Vec<&'static str>,
}

/// Records the requests to the models, beside their responses.
pub(crate) struct Listening {
    script: Scripted,
    pub(crate) asked: Mutex<Vec<CompletionRequest>>,
}

impl Provider for Listening {
    fn complete<'a>(
        &'a self,
        request: CompletionRequest,
        listener: StreamListener<'a>,
    ) -> CompletionFuture<'a> {
        self.asked.lock().unwrap().push(request.clone());
        self.script.complete(request, listener)
    }
}

/// A project with one agent, `worker`, with all permissions.
pub(crate) fn yard(script: &str) -> Yard {
    let script = Scripted::of_text("script.yaml", script).unwrap_or_else(|problem| panic!("{problem}"));
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("project")).unwrap();
    let yard = Yard {
        directory,
        settings: SETTINGS.to_owned(),
        script: Arc::new(Listening { script, asked: Mutex::default() }),
        model: None,
        charts: vec![ONE.to_owned()],
        state_dir: None,
        unconfined: vec!["program", "coder"],
    };
    yard.file(".rawko/agents/worker.md", "---\nname: worker\nwhenToUse: For work.\n---\nYou work.\n")
}

impl Yard {
    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        if text.starts_with("#!") {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        self
    }

    pub(crate) fn settings(mut self, more: &str) -> Self {
        self.settings.push_str(more);
        self
    }

    /// A real model behind an OpenAI-compatible server, instead of a script.
    pub(crate) fn model(self, base_url: &str) -> Self {
        let with =
            format!("providers: {{default: local/smol, local: {{kind: openai, base_url: \"{base_url}\"}}}}");
        self.replace_settings("providers: {default: demo/scripted}", &with)
    }

    /// A model in Rust, instead of a script.
    pub(crate) fn answered_by(mut self, model: Arc<dyn Provider>) -> Self {
        self.model = Some(model);
        self
    }

    pub(crate) fn replace_settings(mut self, old: &str, new: &str) -> Self {
        assert!(self.settings.contains(old), "{old}");
        self.settings = self.settings.replace(old, new);
        self
    }

    /// Sets the first retry delay.
    pub(crate) fn back_off_first(self, first: &str) -> Self {
        let with = format!("providers: {{default: demo/scripted, back_off: {{first: {first}}}}}");
        self.replace_settings("providers: {default: demo/scripted}", &with)
    }

    /// Sets the user's state directory, which holds snapshots of the project.
    pub(crate) fn state_dir(mut self, path: &Path) -> Self {
        self.state_dir = Some(path.to_owned());
        self
    }

    /// Lets an agent that is a program write beside the project.
    pub(crate) fn unconfined(mut self, agent: &'static str) -> Self {
        self.unconfined.push(agent);
        self
    }

    pub(crate) fn chart(mut self, text: &str) -> Self {
        self.charts.insert(0, text.to_owned());
        self
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.outside().join("project")
    }

    /// The directory around the project: a program that keeps a record there changes nothing of the project.
    pub(crate) fn outside(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.root().join(path)).ok()
    }

    pub(crate) fn agent_services(&self) -> AgentServices {
        let root = self.root();
        std::fs::create_dir_all(root.join(".rawko")).unwrap();
        std::fs::write(root.join(".rawko/config.yaml"), &self.settings).unwrap();
        // Ignore the user's own files.
        let path = std::env::var("PATH").unwrap();
        let state = self.state_dir.as_ref().map(|path| ("RAWKO_STATE_DIR", path.to_str().unwrap()));
        let environment: Environment =
            [("HOME", "/nonexistent"), ("PATH", &path), ("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))]
                .into_iter()
                .chain(state)
                .collect();
        let (settings, problems) = Settings::read_in(&root, &environment);
        assert_eq!(told(&problems), "");
        let (mut agent_services, problems) = AgentServices::read(&root, &settings);
        assert_eq!(told(&problems), "");
        let script = Arc::clone(&self.script) as Arc<dyn Provider>;
        let model = self.model.clone().unwrap_or(script);
        agent_services.providers = std::mem::take(&mut agent_services.providers).with("demo", model);
        // They write down what they receive, also where they may not write; the launcher has tests of its own.
        agent_services.confinement.unconfined =
            self.unconfined.iter().map(|name| format!("agent:{name}")).collect();
        agent_services
    }

    pub(crate) async fn host(&self) -> Host {
        self.host_on(Arc::new(MemoryStore::new())).await
    }

    /// A host on a store that outlives it.
    pub(crate) async fn host_on(&self, store: Arc<dyn Store>) -> Host {
        let agent_services = Arc::new(self.agent_services());
        let gate = Settings::read_in(&self.root(), &Environment::default()).0.gate();
        let mut builder = Host::builder()
            .store(store)
            .services(agent_services.join(rawko_host::Services::new()))
            .agents(agent_services)
            .gate(gate);
        for edition in work::editions() {
            builder = builder.chart(edition);
        }
        for (number, chart) in self.charts.iter().enumerate() {
            builder = builder.chart(Edition::read(&format!("chart{number}.yaml"), chart).unwrap());
        }
        builder.start().await.unwrap()
    }

    /// Runs a chart to its end and returns its output.
    pub(crate) async fn run(&self, chart: &str, input: serde_json::Value) -> Value {
        self.run_audited(chart, input).await.0
    }

    /// Like `run`, with the audit.
    pub(crate) async fn run_audited(
        &self,
        chart: &str,
        input: serde_json::Value,
    ) -> (Value, Vec<rawko_store::AuditLine>) {
        let host = self.host().await;
        let start = StartOptions { chart: chart.into(), input: input.into(), id: Some("i".into()) };
        host.start(start).await.unwrap();
        let settled = host.settled("i", Duration::from_secs(60)).await.unwrap();
        let results = host.results("i").unwrap();
        assert!(matches!(settled, SettleReason::Over(_)), "{settled:?} {:?}", results.error);
        let audit = host.reader().store().audit(None, usize::MAX).unwrap();
        host.close().await;
        (results.output, audit)
    }

    /// Returns the prompts so far.
    pub(crate) fn asked(&self) -> Vec<CompletionRequest> {
        self.script.asked.lock().unwrap().clone()
    }

    /// Returns the model's last prompt, as text.
    pub(crate) fn last_prompt(&self) -> String {
        let asked = self.asked();
        let last = asked.last().and_then(|request| request.messages.last()).unwrap();
        serde_json::to_string(last).unwrap()
    }
}

fn told(problems: &work::AgentProblems) -> String {
    let all = problems.iter().flat_map(|(source, findings)| {
        findings.iter().map(move |finding| format!("{}: {}\n", source.name, finding.message))
    });
    all.collect()
}

/// Returns true if a path exists below a directory.
pub(crate) fn exists(root: &Path, path: &str) -> bool {
    root.join(path).symlink_metadata().is_ok()
}
