//! Names of tools in settings that no program has. A blocked tool under a wrong name stays allowed, so this is an error.

use rawko_chart::{Span, SpannedValue, nearest};
use rawko_host::{Section, SettingsReader};
use rawko_tools::{is_unknown_tool, suggested_tools};

/// Reports names in `allowed` and `blocked` of the section `tools`.
pub(super) fn in_tools(reader: &mut SettingsReader<'_>, sections: &[&Section]) {
    for section in sections {
        for key in ["allowed", "blocked"] {
            report(reader, section.document.get(key), &format!("`{key}` of `tools`"));
        }
    }
}

/// Reports names in `tools` and `blocked` of every phase.
pub(super) fn in_phases(reader: &mut SettingsReader<'_>, sections: &[&Section]) {
    for phase in sections.iter().flat_map(|section| section.document.entries().unwrap_or_default()) {
        for key in ["tools", "blocked"] {
            report(reader, phase.value.get(key), &format!("`{key}` of the phase `{}`", phase.key));
        }
    }
}

fn report(reader: &mut SettingsReader<'_>, list: Option<&SpannedValue>, what: &str) {
    let items = list.and_then(SpannedValue::items).unwrap_or_default();
    let names: Vec<(String, Span)> =
        items.iter().filter_map(|item| Some((item.text()?.to_owned(), item.span))).collect();
    for (rule, span) in names {
        if is_unknown_tool(&rule) {
            let name = rule.split('(').next().unwrap_or(&rule).trim();
            let message = format!("there is no tool `{name}`, which {what} names");
            let help = nearest(name, suggested_tools()).map_or_else(
                || {
                    "`rawko agents show NAME` lists tools; those of MCP servers are `mcp__SERVER__TOOL`"
                        .to_owned()
                },
                |near| format!("did you mean `{near}`?"),
            );
            reader.invalid(span, message, help);
        }
    }
}
