//! A task that has not ended, in words: what it does now, its requests, its plan and what it has spent. `-v` prints states
//! and context instead.

use super::JournalPage;
use crate::console::TextStyle;
use crate::costs::Costs;
use crate::failure::CommandFailure;
use crate::following::grouped;
use crate::hosting::ProjectContext;
use crate::journal::task;
use crate::session::TaskView;
use crate::times;
use rawko_host::SnapshotReader;
use rawko_store::InstanceStatus;
use rawko_view::rows::Row;

impl JournalPage<'_> {
    pub(super) fn task(
        &mut self,
        place: &ProjectContext,
        reader: &SnapshotReader,
    ) -> Result<(), CommandFailure> {
        let standing = self.standing;
        let view = TaskView::read(reader, standing.id(), &place.world())?;
        let title = rawko_view::rows::title(&standing.chart, &standing.snapshot).unwrap_or_default();
        let id = self.console.paint(TextStyle::Bold, standing.id());
        self.console.line(format!("{id}  {title}").trim_end())?;
        let status = self.status_words(&view);
        self.line("status", &status)?;
        if let Some(agent) = &view.agent {
            let known = [&agent.name, &agent.model].into_iter().filter(|text| !text.is_empty()).cloned();
            let percent = agent.context_percent.map(|percent| format!("context {percent} %"));
            let words: Vec<String> = known.chain(agent.phase.clone()).chain(percent).collect();
            self.line("agent", &words.join(" · "))?;
        }
        self.line("started", &times::ago(view.created_ms, self.now_ms))?;
        self.troubles()?;
        self.section("queued", &view.queued.iter().map(|text| first_line(text)).collect::<Vec<_>>())?;
        let context = standing.snapshot.context_map(&standing.chart);
        let steps = context.get("plan").get("steps").as_list().unwrap_or_default().to_vec();
        self.section("plan", &steps.iter().map(task::step_words).collect::<Vec<_>>())?;
        let cost = match view.spent.cost_usd > 0.0 {
            true => format!(", ${:.4}", view.spent.cost_usd),
            false => String::new(),
        };
        let mut spent = vec![format!("{} tokens{cost}", grouped(view.spent.tokens))];
        spent.extend(Costs::read(reader, standing.id())?.lines());
        self.section("spent", &spent)?;
        self.asks()?;
        self.section("overlaps", &self.overlaps.clone())?;
        let id = standing.id();
        let next =
            format!("`rawko attach {id}` · `rawko diff {id}` · `rawko show -v {id}` (states and context)");
        self.line("see", &next)
    }

    /// Returns what the task does or waits for, and the way to continue it.
    fn status_words(&self, view: &TaskView) -> String {
        let row = Row::of(&self.standing.row);
        let row = if self.driven.includes(&self.standing.row.new) { row } else { row.undriven() };
        let is_left = row.waiting_for.as_deref() == Some("host");
        let resume = format!("continue with `rawko resume {}`", self.standing.id());
        match row.status {
            InstanceStatus::Paused => format!("paused; {resume}"),
            InstanceStatus::Running | InstanceStatus::Waiting if !view.asks.is_empty() => {
                "waiting for a person".to_owned()
            }
            InstanceStatus::Running | InstanceStatus::Waiting if is_left => {
                format!("waiting; no host runs it, {resume}")
            }
            InstanceStatus::Running | InstanceStatus::Waiting => {
                format!("running, {}", view.activity_words(self.now_ms))
            }
            InstanceStatus::Stalled | InstanceStatus::Ended => row.status_word().to_owned(),
        }
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
