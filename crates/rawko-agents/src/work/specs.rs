//! Input and output schemas of the agent services, for `check` of the charts that call them. Separate from the services
//! because a chart is checked without a project to run in. A test checks the built-in charts against them.

use rawko_core::{OnRestart, ServiceSpec};
use serde_json::{Value as Json, json};

/// The specs of all services that [`Workshop::join`](super::Workshop::join) adds.
pub fn service_specs() -> Vec<ServiceSpec> {
    let messages = json!({"type": ["array", "null"]});
    let session = json!({"type": ["object", "null"]});
    vec![
        ServiceSpec::named("work:open")
            .taking(&object(&[
                ("agent", json!({"type": ["string", "null"]})),
                ("prompt", json!({})),
                ("messages", messages.clone()),
                ("phase", json!({})),
                ("schema", json!({})),
                ("data", json!({})),
                ("plan", json!({})),
                ("grant", json!({})),
                ("model", json!({})),
                ("depth", json!({})),
                ("untrusted", json!({})),
                ("isolation", json!({})),
                ("worktree", json!({})),
            ]))
            .giving(&object(&[
                ("untrusted", json!({"type": "array"})),
                ("worktree", json!({"type": ["object", "null"]})),
                ("session", session.clone()),
                ("messages", messages.clone()),
                ("goal", json!({})),
                ("unseen", json!({"type": "boolean"})),
            ]))
            .restarting(OnRestart::Retry),
        ServiceSpec::named("work:close")
            .giving(&object(&[("worktree", json!({"type": ["object", "null"]}))]))
            .restarting(OnRestart::Retry),
        ServiceSpec::named("git:merge")
            .taking(&object(&[
                ("branch", json!({"type": ["string", "null"]})),
                ("worktree", json!({"type": ["object", "null"]})),
                ("checks", json!({"type": ["boolean", "null"]})),
                ("keep", json!({"type": ["boolean", "null"]})),
                ("missing", json!({"type": ["string", "null"]})),
            ]))
            .giving(&object(&[
                ("branch", json!({"type": "string"})),
                ("merged", json!({"type": "boolean"})),
                ("files", json!({"type": "array"})),
                ("checkpoint", json!({"type": ["object", "null"]})),
                ("report", json!({"type": ["object", "null"]})),
            ]))
            .restarting(OnRestart::Retry),
        ServiceSpec::named("work:permit")
            .taking(&object(&[
                ("call", json!({})),
                ("grant", json!({})),
                ("agent", json!({})),
                ("untrusted", json!({})),
            ]))
            .giving(&object(&[
                ("decision", json!({"type": "string"})),
                ("rule", json!({"type": "string"})),
                ("request", json!({"type": "object"})),
            ]))
            .restarting(OnRestart::Retry),
        ServiceSpec::named("work:group")
            .taking(&object(&[
                ("calls", json!({"type": "array"})),
                ("grant", json!({})),
                ("loop", json!({})),
                ("memory", json!({})),
                ("untrusted", json!({})),
                ("parallel", json!({})),
            ]))
            .giving(&object(&[("count", json!({"type": "integer"}))]))
            .restarting(OnRestart::Retry),
        ServiceSpec::named("work:collect")
            .taking(&object(&[
                ("calls", json!({"type": "array"})),
                ("outcomes", json!({"type": "array"})),
                ("before", json!({"type": "integer"})),
                ("loop", json!({})),
                ("memory", json!({})),
                ("taken", json!({})),
                ("notes", json!({})),
                ("failing", json!({})),
            ]))
            .giving(&object(&[
                ("results", json!({"type": "array"})),
                ("taken", json!({})),
                ("memory", json!({})),
                ("notes", json!({})),
                ("usage", json!({"type": "object"})),
                ("changes", json!({"type": "integer"})),
                ("files", json!({"type": "array"})),
                ("refusals", json!({"type": "integer"})),
                ("failing", json!({})),
                ("untrusted", json!({"type": "array"})),
                ("unseen", json!({"type": "boolean"})),
                ("end", json!({"type": ["string", "null"]})),
                ("problem", json!({})),
                ("notices", json!({"type": "array"})),
            ]))
            .restarting(OnRestart::Retry),
        ServiceSpec::named("work:look")
            .taking(&conversation(&[("seen", json!({})), ("occasion", json!({}))]))
            .giving(&object(&[("seen", json!({})), ("usage", json!({"type": "object"}))])),
        ServiceSpec::named("work:compact")
            .taking(&conversation(&[
                ("occasion", json!({})),
                ("attempt", json!({})),
                ("model_index", json!({})),
            ]))
            .giving(&object(&[
                ("messages", messages.clone()),
                ("size", json!({"type": "integer"})),
                ("usage", json!({"type": "object"})),
            ])),
        ServiceSpec::named("model:complete")
            .taking(&conversation(&[
                ("seen", json!({})),
                ("occasion", json!({})),
                ("attempt", json!({})),
                ("model_index", json!({})),
            ]))
            .giving(&object(&[
                ("message", json!({"type": "object"})),
                ("tool_calls", json!({"type": "array"})),
                ("stop_reason", json!({"type": "string"})),
                ("text", json!({"type": "string"})),
                ("data", json!({})),
                ("usage", json!({"type": "object"})),
                ("model", json!({"type": "string"})),
                ("size", json!({"type": "integer"})),
            ])),
        ServiceSpec::named("work:remember")
            .giving(&object(&[("memories", json!({"type": "array"})), ("usage", json!({"type": "object"}))])),
        ServiceSpec::named("work:select"),
        ServiceSpec::named("work:evaluate"),
        ServiceSpec::named("checks:base").giving(&object(&[
            ("base", json!({"type": "object"})),
            ("progress", json!({"type": "object"})),
            ("evidence", json!({"type": ["object", "null"]})),
        ])),
        ServiceSpec::named("checks:close")
            .giving(&object(&[("evidence", json!({"type": "object"}))]))
            .restarting(OnRestart::Retry),
        ServiceSpec::named("checks:round").giving(&object(&[
            ("evidence", json!({"type": "object"})),
            ("progress", json!({"type": "object"})),
            ("standing", json!({"type": "string"})),
            ("notice", json!({"type": ["string", "null"]})),
        ])),
        ServiceSpec::named("checks:patch").giving(&object(&[
            ("text", json!({"type": "string"})),
            ("files", json!({"type": "array"})),
            ("left_out", json!({"type": "array"})),
            ("branch", json!({"type": "string"})),
            ("file", json!({"type": ["string", "null"]})),
        ])),
        ServiceSpec::named("checks:progress").giving(&object(&[
            ("progress", json!({"type": "object"})),
            ("standing", json!({"type": "string"})),
            ("notice", json!({"type": ["string", "null"]})),
        ])),
        ServiceSpec::named("checks:").giving(&object(&[
            ("progress", json!({})),
            ("standing", json!({})),
            ("tell", json!({})),
            ("restored", json!({})),
            ("verified", json!({})),
            ("tree", json!({})),
            ("changes", json!({})),
            ("report", json!({"type": "object"})),
            ("history", json!({})),
            ("verdict", json!({"type": "string"})),
            ("notice", json!({"type": ["string", "null"]})),
            ("detector", json!({"type": ["string", "null"]})),
        ])),
        ServiceSpec::named("tool:"),
        ServiceSpec::named("agent:"),
    ]
}

/// A map with these keys.
fn object(properties: &[(&str, Json)]) -> Json {
    let properties: serde_json::Map<String, Json> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({"type": "object", "properties": properties})
}

/// The session and its messages, with more.
fn conversation(more: &[(&str, Json)]) -> Json {
    let mut all = vec![("session", json!({})), ("messages", json!({"type": ["array", "null"]}))];
    all.extend_from_slice(more);
    let mut schema = object(&all);
    schema["required"] = json!(["session", "messages"]);
    schema["additionalProperties"] = json!(false);
    schema
}

#[cfg(test)]
mod tests {
    use rawko_chart::{Registry, Source, load};

    use super::service_specs;

    fn findings(text: &str) -> Vec<String> {
        let mut registry = Registry::default();
        service_specs().into_iter().for_each(|spec| registry.add_spec(spec));
        let loaded = load(&Source::new("chart.yaml", text), &registry);
        let codes =
            ["rawko::chart::wrong_data", "rawko::chart::unknown_field", "rawko::chart::type_mismatch"];
        let found = loaded.findings.into_iter().filter(|finding| codes.contains(&finding.code));
        found.map(|finding| format!("{}: {}", finding.code, finding.message)).collect()
    }

    /// The built-in charts use the services according to their specs.
    #[test]
    fn the_built_in_charts_fit_the_specs() {
        let charts = [
            include_str!("../../charts/agent.yaml"),
            include_str!("../../charts/orchestrator.yaml"),
            include_str!("../../charts/plan_build.yaml"),
            include_str!("../../charts/issue_to_patch.yaml"),
            include_str!("../../charts/refactor_files.yaml"),
        ];
        for chart in charts {
            assert_eq!(findings(chart), [""; 0]);
        }
    }

    #[test]
    fn a_slip_in_a_chart_of_agents_is_found() {
        let agent = include_str!("../../charts/agent.yaml");
        let slips = [
            ("event.data.stop_reason", "event.data.stop_raeson", "has no key `stop_raeson`"),
            ("seen: \"event.data.seen\"", "seen: \"event.data.sean\"", "has no key `sean`"),
            ("attempt: \"context.attempts\"", "atempt: \"context.attempts\"", "has no key `atempt`"),
        ];
        for (right, wrong, expected) in slips {
            assert!(agent.contains(right), "{right}");
            let found = findings(&agent.replacen(right, wrong, 1));
            assert!(found.iter().any(|found| found.contains(expected)), "{wrong}: {found:?}");
        }
    }
}
