//! From text to migrations: every problem is a finding at its place.

use std::sync::Arc;

use rawko_core::expr::{self, Expr, NameResolver};
use rawko_core::{Chart, Migration, NodeId, OldTimer, Slot, StateBranch, StateImage, duration};

use super::MigrationEntry;
use crate::codes::INVALID_MIGRATION;
use crate::def::{MigrationKey, SplitKey};
use crate::finding::Finding;
use crate::source::{SourceFile, Span};
use crate::suggest::nearest;
use crate::tree::{Data, NodeView, TextTree, to_value};
use crate::version::VersionRange;

const KEYS: [&str; 6] = ["states", "context", "invokes", "timers", "events", "description"];

/// Reads the `migrations:` of a chart's own text.
pub fn migrations_of_chart(source: &SourceFile, chart: &Chart) -> (Vec<MigrationEntry>, Vec<Finding>) {
    if !source.text.contains("migrations") {
        return (Vec::new(), Vec::new());
    }
    // A text that is not readable has been reported by the chart's reader.
    let Ok(tree) = TextTree::read(&source.text) else { return (Vec::new(), Vec::new()) };
    let body = tree.root().get("statechart").unwrap_or(tree.root());
    let mut reader = MigrationReader { chart, is_file: false, findings: Vec::new() };
    let entries = body.get("migrations").map(|block| reader.entries(block)).unwrap_or_default();
    (entries, reader.findings)
}

/// Reads a file with one mapping: an entry of `migrations:` without `from`. `None` if it cannot be used.
pub fn migration_of_file(source: &SourceFile, chart: &Chart) -> (Option<Migration>, Vec<Finding>) {
    match TextTree::read(&source.text) {
        Ok(tree) => {
            let mut reader = MigrationReader { chart, is_file: true, findings: Vec::new() };
            let migration = reader.migration(tree.root());
            (Some(migration).filter(|_| reader.findings.is_empty()), reader.findings)
        }
        Err(findings) => (None, findings),
    }
}

struct MigrationReader<'c> {
    chart: &'c Chart,
    /// Keys and kinds of values of a chart have been checked with all the others; those of a file have not.
    is_file: bool,
    findings: Vec<Finding>,
}

impl MigrationReader<'_> {
    fn report(&mut self, span: Span, message: impl Into<String>) {
        self.findings.push(INVALID_MIGRATION.at(span, message));
    }

    fn misshapen(&mut self, view: NodeView<'_>, expected: &str) {
        if self.is_file {
            let message = format!("expected {expected}, found {}", view.kind_words());
            self.report(view.span(), message);
        }
    }

    fn entries(&mut self, block: NodeView<'_>) -> Vec<MigrationEntry> {
        let mut entries = Vec::new();
        for item in block.each_item() {
            let migration = self.migration(item);
            let Some(from) = item.get("from") else { continue };
            let text = from.text().map_or_else(|| to_value(from).to_string(), str::to_owned);
            match VersionRange::parse(&text).filter(|_| !text.trim().is_empty()) {
                Some(range) => {
                    let migration = Arc::new(migration);
                    entries.push(MigrationEntry { from: text, range, migration, span: item.span() });
                }
                None => {
                    let help = "write a range such as `^1`, `1.2` or `>=1 <3`";
                    self.report(from.span(), format!("`{text}` is not a range of versions; {help}"));
                }
            }
        }
        entries
    }

    fn migration(&mut self, body: NodeView<'_>) -> Migration {
        let mut migration = Migration { source: to_value(body), ..Migration::default() };
        if body.pairs().is_none() && !body.is_null() {
            self.misshapen(body, "a map with `states`, `context`, `invokes`, `timers` or `events`");
        }
        for pair in body.each_pair() {
            let value = pair.value;
            match MigrationKey::parse(pair.key) {
                Some(MigrationKey::From) if self.is_file => {
                    let message =
                        "a map file has no `from`: it is used for the instances that the command names";
                    self.report(pair.key_span, message);
                }
                Some(MigrationKey::From | MigrationKey::Description) => {}
                Some(MigrationKey::States) => self.states(value, &mut migration),
                Some(MigrationKey::Context) => self.context(value, &mut migration),
                Some(MigrationKey::Invokes) => self.invokes(value, &mut migration),
                Some(MigrationKey::Timers) => self.timers(value, &mut migration),
                Some(MigrationKey::Events) => self.events(value, &mut migration),
                None if self.is_file => {
                    let close = nearest(pair.key, KEYS);
                    let help = close.map_or_else(
                        || format!("it has {}", KEYS.map(|key| format!("`{key}`")).join(", ")),
                        |close| format!("did you mean `{close}`?"),
                    );
                    self.report(pair.key_span, format!("a migration has no key `{}`; {help}", pair.key));
                }
                None => {}
            }
        }
        migration
    }

    /// Reports a value that is not a map from names.
    fn expect_map(&mut self, value: NodeView<'_>, what: &str) {
        if value.pairs().is_none() && !value.is_null() {
            self.misshapen(value, what);
        }
    }

    fn states(&mut self, value: NodeView<'_>, migration: &mut Migration) {
        self.expect_map(value, "a map from old states to new ones");
        for pair in value.each_pair() {
            let image = self.image(pair.value);
            migration.states.push((state_path(pair.key), image));
        }
    }

    fn image(&mut self, value: NodeView<'_>) -> StateImage {
        match value.data() {
            Data::Null => StateImage::default(),
            Data::Str(_) => StateImage { branches: vec![self.branch(None, value)] },
            Data::List { .. } => {
                let has_branches = value.each_item().any(|item| item.pairs().is_some());
                if !has_branches {
                    return StateImage { branches: vec![self.branch(None, value)] };
                }
                let branches = value.each_item().map(|item| self.split(item)).collect();
                StateImage { branches }
            }
            _ => {
                self.misshapen(value, "a state, a list of states, `null`, or a list of `{guard, target}`");
                StateImage::default()
            }
        }
    }

    /// Reads one branch of a split: `{guard, target}`.
    fn split(&mut self, item: NodeView<'_>) -> StateBranch {
        if item.pairs().is_none() {
            return self.branch(None, item);
        }
        let mut guard = None;
        for pair in item.each_pair() {
            match SplitKey::parse(pair.key) {
                Some(SplitKey::Guard) => guard = self.expression(pair.value),
                Some(SplitKey::Target) => {}
                None if self.is_file => {
                    let message = format!("there is no key `{}` here; write `{{guard, target}}`", pair.key);
                    self.report(pair.key_span, message);
                }
                None => {}
            }
        }
        match item.get("target") {
            Some(target) => self.branch(guard, target),
            None => {
                if self.is_file {
                    self.report(item.span(), "a branch needs a `target`");
                }
                StateBranch { guard, targets: Vec::new() }
            }
        }
    }

    fn branch(&mut self, guard: Option<Expr>, target: NodeView<'_>) -> StateBranch {
        let mut targets = Vec::new();
        for item in target.one_or_many() {
            let Some(path) = item.text() else {
                self.misshapen(item, "the path of a state");
                continue;
            };
            match find_state(self.chart, path) {
                Ok(node) => targets.push(node),
                Err(message) => self.report(item.span(), message),
            }
        }
        if targets.len() > 1 && self.chart.completed(&targets).is_none() {
            self.report(target.span(), "these states cannot be active together");
        }
        StateBranch { guard, targets }
    }

    fn context(&mut self, value: NodeView<'_>, migration: &mut Migration) {
        self.expect_map(value, "a map from context keys to expressions");
        for pair in value.each_pair() {
            let names = self.chart.context_names();
            if !names.iter().any(|name| &**name == pair.key) {
                let close = nearest(pair.key, names.iter().map(|name| &**name));
                let help = close.map(|close| format!("; did you mean `{close}`?")).unwrap_or_default();
                self.report(pair.key_span, format!("the context has no key `{}`{help}", pair.key));
                continue;
            }
            if let Some(expr) = self.expression(pair.value) {
                migration.context.push((pair.key.into(), expr));
            }
        }
    }

    /// Compiles an expression over `old`. Anything but text is a value.
    fn expression(&mut self, view: NodeView<'_>) -> Option<Expr> {
        let text = match view.text() {
            Some(text) => text.to_owned(),
            None => to_value(view).to_string(),
        };
        match expr::parse(&text).and_then(|ast| ast.resolve(&OldNames)) {
            Ok(expr) => Some(expr),
            Err(problems) => {
                let first = problems.first();
                let message = first.map_or("it cannot be parsed", |problem| &problem.message);
                let help = "a migration reads the old context as `old`, as in `old.points * 10`";
                self.report(view.span(), format!("{message}; {help}"));
                None
            }
        }
    }

    fn invokes(&mut self, value: NodeView<'_>, migration: &mut Migration) {
        self.expect_map(value, "a map from old invoke ids to new ones");
        for pair in value.each_pair() {
            let Some(heir) = self.heir(pair.value, "the id of an invoke") else { continue };
            let invokes = || self.chart.node_ids().flat_map(|node| self.chart.invokes_of(node));
            if let Some(id) = &heir
                && !invokes().any(|(_, known)| known == id)
            {
                let close = nearest(id, invokes().map(|(_, known)| &**known));
                let help = close.map(|close| format!("; did you mean `{close}`?")).unwrap_or_default();
                self.report(pair.value.span(), format!("the chart has no invoke `{id}`{help}"));
                continue;
            }
            migration.invokes.push((pair.key.into(), heir));
        }
    }

    fn timers(&mut self, value: NodeView<'_>, migration: &mut Migration) {
        self.expect_map(value, "a map from old states to their timers");
        for pair in value.each_pair() {
            let state = state_path(pair.key);
            if pair.value.is_null() {
                migration.timers.push(OldTimer { state, delay: None, heir: None });
                continue;
            }
            self.expect_map(pair.value, "a map from old delays to new ones, or `null`");
            for timer in pair.value.each_pair() {
                let Some(heir) = self.heir(timer.value, "a delay") else { continue };
                let (delay, heir) = (Some(delay(timer.key)), heir.map(|heir| delay(&heir)));
                migration.timers.push(OldTimer { state: Arc::clone(&state), delay, heir });
            }
        }
    }

    fn events(&mut self, value: NodeView<'_>, migration: &mut Migration) {
        self.expect_map(value, "a map from old events to new ones");
        for pair in value.each_pair() {
            let Some(heir) = self.heir(pair.value, "the name of an event") else { continue };
            if let Some(name) = &heir
                && !self.chart.handles(name)
                && self.chart.event_spec(name).is_none()
            {
                let close = nearest(name, self.chart.event_names());
                let help = close.map(|close| format!("; did you mean `{close}`?")).unwrap_or_default();
                self.report(pair.value.span(), format!("the chart handles no event `{name}`{help}"));
                continue;
            }
            migration.events.push((pair.key.into(), heir));
        }
    }

    /// Returns a name, `Some(None)` for `null`, and `None` for anything else.
    fn heir(&mut self, value: NodeView<'_>, what: &str) -> Option<Option<Arc<str>>> {
        match value.data() {
            Data::Null => Some(None),
            Data::Str(text) => Some(Some(text.into())),
            Data::Int(number) => Some(Some(number.to_string().into())),
            _ => {
                self.misshapen(value, &format!("{what} or `null`"));
                None
            }
        }
    }
}

fn state_path(key: &str) -> Arc<str> {
    key.trim_start_matches('#').into()
}

/// Returns a delay as labels show it: `90m` and `1h30m` are the same.
fn delay(text: &str) -> Arc<str> {
    match duration::parse_ms(text) {
        Ok(ms) => duration::format_ms(ms).into(),
        Err(_) => text.into(),
    }
}

/// Returns the state with a dotted path, or an id or key that only one state has.
fn find_state(chart: &Chart, text: &str) -> Result<NodeId, String> {
    let path = text.trim_start_matches('#');
    let by_name = || {
        let is_it = |node: &NodeId| *chart.node(*node).name == *path;
        let mut found = chart.node_ids().skip(1).filter(is_it);
        found.next().filter(|_| found.next().is_none())
    };
    match chart.find(path).filter(|node| *node != NodeId::ROOT).or_else(by_name) {
        Some(node) => Ok(node),
        None => {
            let paths = chart.node_ids().skip(1).map(|node| &*chart.node(node).path);
            let close = nearest(path, paths.collect::<Vec<_>>());
            let help = close.map(|close| format!("; did you mean `{close}`?")).unwrap_or_default();
            Err(format!("the chart has no state `{path}`{help}"))
        }
    }
}

/// The names of a migration's expressions: `old` instead of `context`.
struct OldNames;

impl NameResolver for OldNames {
    fn context_key(&self, _: &str) -> Option<Slot> {
        None
    }

    fn context_keys(&self) -> Vec<String> {
        Vec::new()
    }

    fn local(&self, name: &str) -> Option<usize> {
        (name == "old").then_some(0)
    }

    fn state(&self, _: &str) -> Option<NodeId> {
        None
    }
}
