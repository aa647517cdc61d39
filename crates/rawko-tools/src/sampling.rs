//! `tools.sampling` of the settings: which MCP servers may ask for completions of the person's model, and how many.
//! Without it they are refused: a server does not spend the person's money unasked.

use rawko_chart::SpannedValue;
use rawko_chart::codes::settings::MISSING_KEY;
use rawko_settings::SettingsReader;

const COMPLETIONS: u32 = 5;
const OUTPUT_TOKENS: u32 = 2_000;

/// The rule for completions that MCP servers ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamplingSettings {
    /// Names of the servers.
    pub servers: Vec<String>,
    /// `provider/model`; `None` is the default model.
    pub model: Option<String>,
    /// Maximum number of completions during one call of a tool.
    pub completions_max: u32,
    /// Maximum number of output tokens of one completion.
    pub output_tokens_max: u32,
}

impl SamplingSettings {
    pub(crate) fn read(reader: &mut SettingsReader<'_>, at: &SpannedValue) -> Option<Self> {
        const KEYS: [&str; 4] = ["servers", "model", "completions_max", "output_tokens_max"];
        let mut servers = None;
        let mut sampling = Self {
            servers: Vec::new(),
            model: None,
            completions_max: COMPLETIONS,
            output_tokens_max: OUTPUT_TOKENS,
        };
        for entry in reader.record(at, "`tools.sampling`", &KEYS) {
            let what = format!("`{}` of `tools.sampling`", entry.key);
            match entry.key.as_str() {
                "servers" => {
                    let names = reader.texts(&entry.value, &what).into_iter();
                    servers = Some(names.map(|(name, _)| name.to_owned()).collect());
                }
                "model" => sampling.model = reader.text(&entry.value, &what).map(str::to_owned),
                "completions_max" => sampling.completions_max = limit(reader, &entry.value, &what),
                _ => sampling.output_tokens_max = limit(reader, &entry.value, &what),
            }
        }
        let Some(servers) = servers else {
            let help = "write `servers: [NAME]`: only servers that are listed may use the model";
            reader.say(&MISSING_KEY, at.span, "`tools.sampling` has no `servers`", help);
            return None;
        };
        Some(Self { servers, ..sampling })
    }

    /// Returns what both rules allow; the model is the outer one's.
    pub(crate) fn within(self, outer: Self) -> Self {
        Self {
            servers: self.servers.into_iter().filter(|name| outer.servers.contains(name)).collect(),
            model: outer.model,
            completions_max: self.completions_max.min(outer.completions_max),
            output_tokens_max: self.output_tokens_max.min(outer.output_tokens_max),
        }
    }
}

/// A mistake in a limit never widens it.
fn limit(reader: &mut SettingsReader<'_>, at: &SpannedValue, what: &str) -> u32 {
    reader.whole(at, what, 1).map_or(1, |number| u32::try_from(number).unwrap_or(u32::MAX))
}
