//! Phases: named sections of work, each with its tools, prompt, model, limits and exit requirements. One table, which a
//! project can override per entry.

use std::collections::BTreeMap;

use rawko_chart::{SpannedValue, nearest};
use rawko_core::Value;
use rawko_settings::{Environment, Section, SettingsReader};

const TABLE: &str = include_str!("table.yaml");
const KEYS: [&str; 9] =
    ["tools", "blocked", "bash", "goal", "prompt", "model", "reasoning", "limits", "checks"];

/// The settings of one phase. `None` leaves the agent's own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phase {
    /// Only these tools.
    pub tools: Option<Vec<String>>,
    /// Never these tools, even if allowed.
    pub blocked: Vec<String>,
    /// Only commands that match one of these patterns.
    pub bash: Option<Vec<String>>,
    /// Exit requirement as written in the settings; null has none.
    pub goal: Value,
    /// Instructions added to the agent's system prompt.
    pub prompt: String,
    /// Model in the form `provider/model`.
    pub model: Option<String>,
    /// How much the model thinks: `low`, `medium`, `high`, or a number of tokens.
    pub reasoning: Option<String>,
    /// Limit on completions of one visit.
    pub completions_max: Option<u64>,
    /// The file of the last override.
    pub file: String,
    /// The rules of outer settings for this phase. They still hold: a project only narrows what the person allows.
    pub outer: Vec<Phase>,
}

/// All phases by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phases(BTreeMap<String, Phase>);

impl Phases {
    /// Returns the built-in table.
    pub fn built_in() -> Self {
        let mut phases = Self::default();
        let mut reader = SettingsReader::new(Environment::none());
        if let Ok(document) = SpannedValue::read(TABLE) {
            phases.take(&mut reader, &document, "rawko's own table of phases");
        }
        phases
    }

    /// Applies the overrides of settings, lowest layer first.
    #[must_use]
    pub fn with(mut self, reader: &mut SettingsReader<'_>, sections: &[&Section]) -> Self {
        for section in sections.iter().rev() {
            self.take(reader, &section.document, &section.file);
            self.keep(&section.document, &section.file);
        }
        self
    }

    /// Returns a phase by name.
    pub fn find(&self, name: &str) -> Option<&Phase> {
        self.0.get(name)
    }

    /// Iterates over the names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    fn take(&mut self, reader: &mut SettingsReader<'_>, document: &SpannedValue, file: &str) {
        let known: Vec<String> = self.0.keys().cloned().collect();
        for entry in reader.entries(document, "`phases`") {
            // A misspelt name would leave the phase that was meant as it is.
            let near = nearest(&entry.key, known.iter().map(String::as_str));
            let near = near.filter(|near| near.len().abs_diff(entry.key.len()) <= 1 && *near != entry.key);
            if let Some(near) = near {
                let message = format!("there is no phase `{}`", entry.key);
                let help = format!("did you mean `{near}`? A phase of your own needs a less similar name");
                reader.invalid(entry.key_span, message, help);
            }
            let phase = self.0.entry(entry.key.clone()).or_default();
            file.clone_into(&mut phase.file);
            phase.take(reader, &entry.value, &entry.key);
        }
    }

    /// Keeps the rules of a settings file, so that files nearer to the project only narrow them.
    fn keep(&mut self, document: &SpannedValue, file: &str) {
        for entry in document.entries().unwrap_or_default() {
            let Some(phase) = self.0.get_mut(&entry.key) else { continue };
            let mut own = Phase { file: file.to_owned(), ..Phase::default() };
            own.take(&mut SettingsReader::new(Environment::none()), &entry.value, &entry.key);
            let limits = phase.outer.iter().map(|outer| outer.completions_max).chain([own.completions_max]);
            phase.completions_max = limits.flatten().min().or(phase.completions_max);
            phase.outer.push(Phase {
                goal: Value::Null,
                prompt: String::new(),
                model: None,
                reasoning: None,
                ..own
            });
        }
    }
}

impl Phase {
    fn take(&mut self, reader: &mut SettingsReader<'_>, document: &SpannedValue, name: &str) {
        let texts = |reader: &mut SettingsReader<'_>, at: &SpannedValue, key: &str| -> Vec<String> {
            let what = format!("`{key}` of the phase `{name}`");
            reader.texts(at, &what).into_iter().map(|(text, _)| text.to_owned()).collect()
        };
        for entry in reader.record(document, &format!("the phase `{name}`"), &KEYS) {
            let at = &entry.value;
            match entry.key.as_str() {
                "tools" => self.tools = Some(texts(reader, at, "tools")),
                "blocked" => self.blocked = texts(reader, at, "blocked"),
                "bash" => self.bash = Some(texts(reader, at, "bash")),
                "goal" => self.goal = Value::from_json(at.to_json()),
                "prompt" => {
                    let text = reader.text(at, &format!("`prompt` of the phase `{name}`"));
                    text.unwrap_or_default().clone_into(&mut self.prompt);
                }
                "model" => {
                    self.model = reader.models(at, &format!("`model` of the phase `{name}`"));
                }
                "reasoning" => self.take_reasoning(reader, at, name),
                "limits" => self.take_limits(reader, at, name),
                // The project's checks are read where they are run: in the phase `validate`.
                _ if name == "validate" => {}
                _ => {
                    let message = format!("checks of the phase `{name}` are never run");
                    reader.invalid(entry.key_span, message, "move them to `phases.validate.checks`");
                }
            }
        }
    }

    fn take_reasoning(&mut self, reader: &mut SettingsReader<'_>, at: &SpannedValue, name: &str) {
        let what = format!("`reasoning` of the phase `{name}`");
        let Some(text) = reader.scalar(at, &what) else { return };
        let is_level = ["low", "medium", "high"].contains(&text.as_str());
        if is_level || text.parse::<u32>().is_ok_and(|tokens| tokens > 0) {
            self.reasoning = Some(text);
        } else {
            let help = "`low`, `medium`, `high`, or a number of tokens";
            reader.invalid(at.span, format!("{what} cannot be `{text}`"), help);
        }
    }

    fn take_limits(&mut self, reader: &mut SettingsReader<'_>, at: &SpannedValue, name: &str) {
        for entry in reader.record(at, &format!("`limits` of the phase `{name}`"), &["completions"]) {
            self.completions_max = reader.whole(&entry.value, "`completions`", 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_phase_that_only_looks_can_write() {
        let phases = Phases::built_in();
        assert_eq!(
            phases.names().collect::<Vec<_>>(),
            ["analyze_code", "design", "explore", "implement", "research", "validate"]
        );
        for name in ["analyze_code", "research", "design", "validate", "explore"] {
            let tools = phases.find(name).unwrap().tools.clone().unwrap();
            assert!(!tools.iter().any(|tool| tool == "Write" || tool == "Edit"), "{name}");
        }
    }

    #[test]
    fn a_project_only_narrows_what_the_person_set() {
        let section = |file: &str, text: &str| Section {
            key: "phases".into(),
            file: file.into(),
            document: SpannedValue::read(text).unwrap(),
        };
        let user = section("user.yaml", "design: {blocked: [Bash], limits: {completions: 3}}");
        let project = section("p.yaml", "design: {blocked: [], limits: {completions: 9}}\nresearhc: {}");
        let mut reader = SettingsReader::new(Environment::none());
        let phases = Phases::built_in().with(&mut reader, &[&project, &user]);
        let design = phases.find("design").unwrap();
        assert_eq!(design.completions_max, Some(3));
        assert!(design.outer.iter().any(|outer| outer.blocked == ["Bash"]));
        let messages: Vec<_> = reader.findings.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(messages, ["there is no phase `researhc`"]);
    }

    #[test]
    fn a_project_changes_what_it_mentions() {
        let document =
            SpannedValue::read("design: {tools: [Read], model: anthropic/big}\nship: {prompt: Ship it.}\n")
                .unwrap();
        let section = Section { key: "phases".into(), file: ".rawko/config.yaml".into(), document };
        let mut reader = SettingsReader::new(Environment::none());
        let phases = Phases::built_in().with(&mut reader, &[&section]);
        assert_eq!(reader.findings, []);
        let design = phases.find("design").unwrap();
        assert_eq!(design.tools.as_deref(), Some(&["Read".to_owned()][..]));
        assert_eq!(design.model.as_deref(), Some("anthropic/big"));
        assert!(design.prompt.contains("PlanWrite"), "not mentioned, so as it was");
        assert!(phases.find("ship").is_some());
    }
}
