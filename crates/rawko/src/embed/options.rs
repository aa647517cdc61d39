//! `ProjectOptions`: what a program brings to a project: charts, services, models, a store. Only collects; `open`
//! reads and starts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rawko_host::{Clock, Observer};
use rawko_model::provider::{Provider, Scripted};

use super::error::Result;
use super::open;
use super::project::Project;
use super::service::TypedService;

/// The store of a project's instances.
#[derive(Clone, Debug, Default)]
pub(super) enum StoreChoice {
    /// The one that the commands use: of the settings, else in the user's state directory.
    #[default]
    OfProject,
    Memory,
    File(PathBuf),
}

/// Options of a project, as [`std::fs::OpenOptions`] are those of a file.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> rawko::Result<()> {
/// use rawko::Project;
///
/// let project = Project::options()
///     .chart("light.yaml", "{id: light, initial: red, states: {red: {on: {GO: green}}, green: {type: final}}}")
///     .start()
///     .await?;
/// let light = project.actor_of("light", ()).await?;
/// light.send("GO", ()).await?;
/// assert!(light.snapshot()?.is_over());
/// # project.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct ProjectOptions {
    pub(super) charts: Vec<(String, String)>,
    pub(super) services: Vec<TypedService>,
    pub(super) providers: Vec<(String, Arc<dyn Provider>)>,
    pub(super) script: Option<Arc<Scripted>>,
    pub(super) allow: Vec<String>,
    pub(super) store: StoreChoice,
    pub(super) trust_files: bool,
    pub(super) continue_all: bool,
    pub(super) clock: Option<Arc<dyn Clock>>,
    pub(super) observer: Option<Arc<dyn Observer>>,
}

impl ProjectOptions {
    /// Adds a chart as YAML or JSON text; the name is for messages. It is checked when the project starts.
    pub fn chart(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.charts.push((name.into(), text.into()));
        self
    }

    /// Adds a service that charts may call. It is allowed by being added; rules of the user's settings may still deny it.
    pub fn service(mut self, service: TypedService) -> Self {
        self.services.push(service);
        self
    }

    /// Adds a model provider, which agents name as `name/model`.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use rawko::{
    ///     Completion, CompletionFuture, CompletionRequest, Message, MessagePart, Provider, Role, StopReason,
    ///     StreamEvent, StreamListener, Usage,
    /// };
    ///
    /// /// Answers with the last message in capitals.
    /// struct Loud;
    ///
    /// impl Provider for Loud {
    ///     fn complete<'a>(
    ///         &'a self,
    ///         request: CompletionRequest,
    ///         listener: StreamListener<'a>,
    ///     ) -> CompletionFuture<'a> {
    ///         Box::pin(async move {
    ///             let parts = request.messages.last().map_or(&[][..], |message| &message.parts);
    ///             let text = parts.iter().find_map(|part| match part {
    ///                 MessagePart::Text { text } => Some(text.to_uppercase()),
    ///                 _ => None,
    ///             });
    ///             let text = text.unwrap_or_default();
    ///             listener(StreamEvent::TextDelta { text: text.clone() });
    ///             Ok(Completion {
    ///                 message: Message::text(Role::Assistant, text),
    ///                 stop_reason: StopReason::Stop,
    ///                 usage: Usage::default(),
    ///                 data: None,
    ///                 model: None,
    ///             })
    ///         })
    ///     }
    /// }
    ///
    /// let options = rawko::Project::options().provider("loud", Arc::new(Loud));
    /// # let mut heard = Vec::new();
    /// # let request = CompletionRequest { messages: vec![Message::text(Role::User, "hi")].into(), ..Default::default() };
    /// # let mut listener = |event| heard.push(event);
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # let answer = runtime.block_on(Loud.complete(request, &mut listener)).unwrap();
    /// # assert_eq!((answer.message, heard.len()), (Message::text(Role::Assistant, "HI"), 1));
    /// ```
    pub fn provider(mut self, name: impl Into<String>, provider: Arc<dyn Provider>) -> Self {
        self.providers.push((name.into(), provider));
        self
    }

    /// Answers every completion from a script, regardless of the models in settings and agent files: for tests. Keep a clone to
    /// assert with [`Scripted::unused`] that every step was used.
    pub fn scripted(mut self, script: impl Into<Arc<Scripted>>) -> Self {
        self.script = Some(script.into());
        self
    }

    /// Allows charts to call services whose name matches: `agent:*`. Settings of the project usually do this
    /// (`governance.allow`).
    pub fn allow(mut self, pattern: impl Into<String>) -> Self {
        self.allow.push(pattern.into());
        self
    }

    /// Keeps instances in memory only.
    pub fn in_memory(mut self) -> Self {
        self.store = StoreChoice::Memory;
        self
    }

    /// Keeps instances in this SQLite file, which is created if it does not exist. Without this or
    /// [`in_memory`](Self::in_memory), [`open`](Self::open) uses the store of the project, so that `rawko ps`, `show`
    /// and `history` see the same instances, and [`start`](Self::start) uses memory.
    pub fn store(mut self, file: impl AsRef<Path>) -> Self {
        self.store = StoreChoice::File(file.as_ref().to_owned());
        self
    }

    /// Uses the files of the project without asking for a person's trust: this program vouches for them. They start
    /// programs and give instructions to agents, so use it only for directories that come with the program.
    pub fn trust_files(mut self) -> Self {
        self.trust_files = true;
        self
    }

    /// Continues every instance of the store that is not paused, as a server does. By default only instances that this
    /// program starts, restores or names with [`Project::actor`] move.
    pub fn continue_all(mut self) -> Self {
        self.continue_all = true;
        self
    }

    /// Sets the clock of timers, for tests.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Sets the receiver of commits, calls and completions, for traces and metrics.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Reads the project around a directory once, charts, agents, tools and settings, and starts it.
    ///
    /// # Errors
    /// [`Error::Untrusted`](crate::Error::Untrusted) unless a person trusted the files or
    /// [`trust_files`](Self::trust_files) is set; [`Error::Invalid`](crate::Error::Invalid) with all findings if
    /// settings, agents or added charts are invalid; [`Error::Unavailable`](crate::Error::Unavailable) while another
    /// process holds the store.
    pub async fn open(self, directory: impl AsRef<Path>) -> Result<Project> {
        open::open(self, directory.as_ref()).await
    }

    /// Starts a project without a directory: only the charts and services added here, and no agents.
    pub async fn start(self) -> Result<Project> {
        open::start(self).await
    }
}
