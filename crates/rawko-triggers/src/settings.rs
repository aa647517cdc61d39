//! The section `triggers` of the settings.

use rawko_chart::{DocumentData, DocumentEntry, Finding, Span, SpannedValue};
use rawko_core::Value;
use rawko_settings::{Environment, SectionSource, SettingsReader as Reader, is_variable_name};

use crate::action::{RuleAction, TriggerRule};
use crate::expression::{Expression, RuleTemplate};
use crate::schedule::{MissedPolicy, RUNS_MAX, Schedule};
use crate::signature::{Encoding, HmacOptions, Signature};
use crate::trigger::{Trigger, TriggerSource, Webhook};

const TOLERANCE_MS: i64 = 5 * 60 * 1000;
const AT_MOST: u32 = 10;
const TRIGGERS_MAX: usize = 1_000;
const NAME_CHARS_MAX: usize = 60;

/// All triggers of the settings, by file.
#[derive(Clone, Debug, Default)]
pub struct Triggers {
    /// The valid triggers.
    pub all: Vec<Trigger>,
    /// Spans of the charts that rules start, for findings about unknown ones: file, chart, place.
    pub charts: Vec<(String, String, Span)>,
    /// Findings per settings file.
    pub problems: Vec<(String, Vec<Finding>)>,
}

impl Triggers {
    /// Reads the section; a trigger of the project replaces one of the user with its name.
    pub fn read(settings: &impl SectionSource) -> Triggers {
        let mut triggers = Triggers::default();
        for section in settings.sections_of("triggers") {
            let mut reader = Reader::new(settings.environment_of());
            let (found, charts) = read_section(&mut reader, &section.document, &section.file);
            for trigger in found {
                if !triggers.all.iter().any(|known| known.name == trigger.name) {
                    triggers.all.push(trigger);
                }
            }
            let file = section.file.to_string();
            triggers.charts.extend(charts.into_iter().map(|(chart, span)| (file.clone(), chart, span)));
            if !reader.findings.is_empty() {
                triggers.problems.push((file, reader.findings));
            }
        }
        triggers
    }

    /// Returns the variables of secrets that are not set, with the trigger that needs them.
    pub fn missing_secrets(&self, environment: &Environment) -> Vec<(&str, &str)> {
        let of = |trigger: &'_ Trigger| trigger.webhook().and_then(|webhook| webhook.secret.clone());
        let is_missing = |name: &str| environment.get(name).is_none_or(str::is_empty);
        self.all
            .iter()
            .filter(|trigger| of(trigger).is_some_and(|name| is_missing(&name)))
            .filter_map(|trigger| Some((trigger.name.as_str(), trigger.webhook()?.secret.as_deref()?)))
            .collect()
    }
}

type ChartSpans = Vec<(String, Span)>;

/// Reads one section.
pub fn read_section(reader: &mut Reader<'_>, at: &SpannedValue, file: &str) -> (Vec<Trigger>, ChartSpans) {
    let (mut all, mut charts) = (Vec::new(), Vec::new());
    for entry in reader.entries(at, "`triggers`").iter().take(TRIGGERS_MAX) {
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        let name = &entry.key;
        if name.is_empty() || name.len() > NAME_CHARS_MAX || !name.chars().all(fits) {
            let help = format!("use 1 to {NAME_CHARS_MAX} letters, digits, `-` and `_`");
            reader.invalid(entry.key_span, format!("invalid name `{name}`"), help);
            continue;
        }
        all.extend(TriggerReader { reader, name, charts: &mut charts }.read(entry, file));
    }
    (all, charts)
}

struct TriggerReader<'r, 'e> {
    reader: &'r mut Reader<'e>,
    name: &'r str,
    charts: &'r mut ChartSpans,
}

impl TriggerReader<'_, '_> {
    fn read(&mut self, entry: &DocumentEntry, file: &str) -> Option<Trigger> {
        let (mut sources, mut rules, mut own) = (Vec::new(), Vec::new(), None);
        let what = format!("trigger `{}`", self.name);
        let before = self.reader.findings.len();
        let keys = ["schedule", "webhook", "rules", "when", "start", "send", "task"];
        let entries = self.reader.record(&entry.value, &what, &keys);
        let mut actions = 0;
        for entry in entries {
            match entry.key.as_str() {
                "schedule" => sources.extend(self.schedule(&entry.value).map(TriggerSource::Schedule)),
                "webhook" => sources.extend(self.webhook(&entry.value).map(TriggerSource::Webhook)),
                "rules" => {
                    let items = entry.value.items();
                    if items.is_none() {
                        self.reader.wrong_type(&entry.value, &format!("`rules` of {what}"), "a list");
                    }
                    let items = items.unwrap_or_default();
                    rules.extend(items.iter().filter_map(|item| self.rule(item, "a rule")));
                    actions += 1;
                }
                "when" => {}
                _ => own = Some(&entry.value),
            }
        }
        if own.is_some() {
            let record: Vec<DocumentEntry> = entry.value.entries().unwrap_or_default().to_vec();
            let is_rule =
                |entry: &DocumentEntry| ["when", "start", "send", "task"].contains(&entry.key.as_str());
            let rule = record.into_iter().filter(is_rule).collect();
            let rule = SpannedValue { data: DocumentData::Map(rule), ..entry.value.clone() };
            rules.extend(self.rule(&rule, &what));
            actions += 1;
        }
        if self.reader.findings.len() > before {
            return None;
        }
        let help = "write for example `{schedule: \"0 3 * * *\", start: {chart: report}}`";
        let mut wrong = |message: String| {
            self.reader.invalid(entry.key_span, message, help);
            None
        };
        match (sources.len(), actions) {
            (1, 1) if !rules.is_empty() => {}
            (1, _) => return wrong(format!("{what} requires one of `start`, `send`, `task` and `rules`")),
            _ => return wrong(format!("{what} requires either `schedule` or `webhook`")),
        }
        let source = sources.pop()?;
        Some(Trigger { name: self.name.to_owned(), source, rules, file: file.to_owned() })
    }

    fn schedule(&mut self, at: &SpannedValue) -> Option<Schedule> {
        let what = format!("`schedule` of trigger `{}`", self.name);
        let (mut cron, mut zone, mut missed, mut at_most) =
            (None, "UTC".to_owned(), MissedPolicy::Once, None);
        if let Some(text) = at.text() {
            cron = Some(text.to_owned());
        } else {
            for entry in self.reader.record(at, &what, &["cron", "zone", "missed", "at_most"]) {
                let named = format!("`{}` of {what}", entry.key);
                if entry.key == "at_most" {
                    at_most = self.reader.whole(&entry.value, &named, 1).map(|most| (most, entry.value.span));
                    continue;
                }
                let text = self.reader.text(&entry.value, &named)?;
                match (entry.key.as_str(), text) {
                    ("cron", text) => cron = Some(text.to_owned()),
                    ("zone", text) => zone = text.to_owned(),
                    (_, "skip") => missed = MissedPolicy::Skip,
                    (_, "once") => missed = MissedPolicy::Once,
                    (_, "all") => missed = MissedPolicy::All { at_most: AT_MOST },
                    (_, other) => {
                        let message = format!("unknown policy `{other}` for missed runs");
                        self.reader.invalid(entry.value.span, message, "use `skip`, `once` or `all`");
                    }
                }
            }
        }
        match (missed, at_most) {
            (_, None) => {}
            (MissedPolicy::All { .. }, Some((most, _))) if most <= u64::from(RUNS_MAX) => {
                missed = MissedPolicy::All { at_most: u32::try_from(most).unwrap_or(RUNS_MAX) };
            }
            (_, Some((_, span))) => {
                let message = format!("`at_most` belongs to `missed: all`, and is {RUNS_MAX} at most");
                self.reader.invalid(span, message, "remove it, or write a smaller number");
            }
        }
        let Some(cron) = cron else {
            self.reader.invalid(at.span, format!("{what} requires `cron`"), "write `cron: \"0 3 * * *\"`");
            return None;
        };
        let schedule = Schedule::new(&cron, &zone, missed);
        if let Err(error) = &schedule {
            let help = "fields are minute, hour, day, month and weekday, as in `0 3 * * 1-5`";
            self.reader.invalid(at.span, error.to_string(), help);
        }
        schedule.ok()
    }

    fn webhook(&mut self, at: &SpannedValue) -> Option<Webhook> {
        let what = format!("`webhook` of trigger `{}`", self.name);
        let mut texts = std::collections::BTreeMap::new();
        let (mut tolerance_ms, mut allows_identical) = (TOLERANCE_MS, false);
        let keys = [
            "signature",
            "secret",
            "header",
            "prefix",
            "encoding",
            "timestamp",
            "tolerance",
            "delivery",
            "allow_identical",
        ];
        for entry in self.reader.record(at, &what, &keys) {
            let named = format!("`{}` of {what}", entry.key);
            match entry.key.as_str() {
                "tolerance" => {
                    let time = self.reader.duration(&entry.value, &named)?;
                    tolerance_ms = i64::try_from(time.as_millis()).unwrap_or(TOLERANCE_MS);
                }
                "allow_identical" => allows_identical = self.reader.flag(&entry.value, &named)?,
                key => {
                    let text = self.reader.text(&entry.value, &named)?;
                    texts.insert(key.to_owned(), (text.to_owned(), entry.value.span));
                }
            }
        }
        let text = |key: &str| texts.get(key).map(|(text, _)| text.clone());
        let signature = match text("signature").as_deref() {
            Some("github") => Signature::Github,
            Some("slack") => Signature::Slack,
            Some("none") => Signature::None,
            Some("hmac") => {
                let Some(header) = text("header") else {
                    let help = "write the header of the signature: `header: X-Signature`";
                    self.reader.invalid(at.span, format!("{what} requires `header`"), help);
                    return None;
                };
                let encoding = match text("encoding").as_deref() {
                    None | Some("hex") => Encoding::Hex,
                    Some("base64") => Encoding::Base64,
                    Some(other) => {
                        let message = format!("unknown encoding `{other}`");
                        self.reader.invalid(at.span, message, "use `hex` or `base64`");
                        return None;
                    }
                };
                let prefix = text("prefix").unwrap_or_default();
                let (header, timestamp) =
                    (header.to_lowercase(), text("timestamp").map(|it| it.to_lowercase()));
                Signature::Hmac(HmacOptions { header, prefix, encoding, timestamp, tolerance_ms })
            }
            other => {
                let message = match other {
                    Some(other) => format!("unknown signature `{other}`"),
                    None => format!("{what} requires `signature`"),
                };
                let help = "use `github`, `slack`, `hmac`, or `none` for requests from this machine";
                self.reader.invalid(at.span, message, help);
                return None;
            }
        };
        let only_hmac = ["header", "prefix", "encoding", "timestamp"];
        if let Some(key) = only_hmac.iter().find(|key| texts.contains_key(**key))
            && !matches!(signature, Signature::Hmac(_))
        {
            let message = format!("`{key}` of {what} needs `signature: hmac`");
            self.reader.invalid(texts[*key].1, message, "remove it; the sender decides");
        }
        let secret = match texts.get("secret") {
            Some((text, span)) => Some(self.variable(text, *span)?),
            None => None,
        };
        if signature.is_signed() != secret.is_some() {
            let message = match secret {
                None => format!("{what} requires `secret`"),
                Some(_) => format!("`secret` of {what} is not used"),
            };
            let help = "write `secret: ${NAME}`, with the name of an environment variable";
            self.reader.invalid(at.span, message, help);
            return None;
        }
        let delivery_header = text("delivery").map(|it| it.to_lowercase());
        Some(Webhook { signature, secret, delivery_header, allows_identical })
    }

    /// Reads `${NAME}`. A secret itself is refused, without repeating it.
    fn variable(&mut self, text: &str, span: Span) -> Option<String> {
        let name = text.strip_prefix("${").and_then(|text| text.strip_suffix('}'));
        let fits = |name: &&str| is_variable_name(name) && !Environment::is_operators(name);
        let name = name.filter(fits).map(str::to_owned);
        if name.is_none() {
            let message = format!("`secret` of trigger `{}` must name an environment variable", self.name);
            self.reader.invalid(span, message, "write `secret: ${NAME}`; settings contain no secrets");
        }
        name
    }

    fn rule(&mut self, at: &SpannedValue, what: &str) -> Option<TriggerRule> {
        let (mut when, mut actions) = (None, Vec::new());
        for entry in self.reader.record(at, what, &["when", "start", "send", "task"]) {
            match entry.key.as_str() {
                "when" => when = Some(self.expression(&entry.value, &format!("`when` of {what}"))?),
                "start" => actions.push(self.start(&entry.value)?),
                "send" => actions.push(self.send(&entry.value)?),
                _ => actions.push(self.task(&entry.value)?),
            }
        }
        if actions.len() != 1 {
            let help = "write for example `start: {chart: report}`";
            self.reader.invalid(at.span, format!("{what} requires one of `start`, `send` and `task`"), help);
            return None;
        }
        actions.pop().map(|action| TriggerRule { when, action })
    }

    fn start(&mut self, at: &SpannedValue) -> Option<RuleAction> {
        let (mut chart, mut id, mut input) = (None, None, None);
        for entry in self.reader.record(at, "`start`", &["chart", "id", "input"]) {
            match entry.key.as_str() {
                "chart" => {
                    let name = self.reader.text(&entry.value, "`chart` of `start`")?.to_owned();
                    self.charts.push((name.clone(), entry.value.span));
                    chart = Some(name);
                }
                "id" => id = Some(self.expression(&entry.value, "`id` of `start`")?),
                _ => input = Some(self.template(&entry.value)?),
            }
        }
        if chart.is_none() {
            self.reader.invalid(at.span, "`start` requires `chart`", "write the id of a chart");
        }
        Some(RuleAction::Start { chart: chart?, id, input })
    }

    fn send(&mut self, at: &SpannedValue) -> Option<RuleAction> {
        let (mut instance, mut event, mut data) = (None, None, None);
        for entry in self.reader.record(at, "`send`", &["instance", "event", "data"]) {
            match entry.key.as_str() {
                "instance" => instance = Some(self.expression(&entry.value, "`instance` of `send`")?),
                "event" => event = Some(self.reader.text(&entry.value, "`event` of `send`")?.to_owned()),
                _ => data = Some(self.template(&entry.value)?),
            }
        }
        if instance.is_none() || event.is_none() {
            let help = "write for example `{instance: \"'pr-' ~ payload.number\", event: PUSHED}`";
            self.reader.invalid(at.span, "`send` requires `instance` and `event`", help);
        }
        Some(RuleAction::Send { instance: instance?, event: event?, data })
    }

    fn task(&mut self, at: &SpannedValue) -> Option<RuleAction> {
        let (mut text, mut id, mut agent, mut queue) = (None, None, None, false);
        for entry in self.reader.record(at, "`task`", &["text", "id", "agent", "queue"]) {
            match entry.key.as_str() {
                "text" => text = Some(self.expression(&entry.value, "`text` of `task`")?),
                "id" => id = Some(self.expression(&entry.value, "`id` of `task`")?),
                "agent" => agent = Some(self.reader.text(&entry.value, "`agent` of `task`")?.to_owned()),
                _ => queue = self.reader.flag(&entry.value, "`queue` of `task`")?,
            }
        }
        if text.is_none() {
            let help = "write an expression: `text: \"'Triage ' ~ payload.issue.html_url\"`";
            self.reader.invalid(at.span, "`task` requires `text`", help);
        }
        Some(RuleAction::Task { text: text?, id, agent, queue })
    }

    fn expression(&mut self, at: &SpannedValue, what: &str) -> Option<Expression> {
        let text = self.reader.scalar(at, what)?;
        match Expression::parse(&text) {
            Ok(expression) => Some(expression),
            Err((message, help)) => {
                self.reader.invalid(at.span, message, help);
                None
            }
        }
    }

    fn template(&mut self, at: &SpannedValue) -> Option<RuleTemplate> {
        Some(match &at.data {
            DocumentData::Str(_) => RuleTemplate::Expression(self.expression(at, "a value")?),
            DocumentData::List(items) => {
                RuleTemplate::List(items.iter().map(|item| self.template(item)).collect::<Option<_>>()?)
            }
            DocumentData::Map(fields) => {
                let field = |entry: &DocumentEntry| Some((entry.key.clone(), self.template(&entry.value)?));
                RuleTemplate::Map(fields.iter().map(field).collect::<Option<_>>()?)
            }
            DocumentData::Null | DocumentData::Bool(_) | DocumentData::Int(_) | DocumentData::Float(_) => {
                RuleTemplate::Literal(Value::from_json(at.to_json()))
            }
        })
    }
}
