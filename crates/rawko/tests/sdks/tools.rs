//! Services in Python and TypeScript as tools of agents: the model sees their schema, and every rule on tools holds.

use std::fs;

use crate::support::{Language, Process, SERVICE_TOKEN, Served, TOKEN, finish};

const CHART: &str = "\
statechart:
  id: forecast
  version: 1.0.0
  initial: asking
  context: {text: ''}
  states:
    asking:
      invoke:
        src: agent:reporter
        input: {prompt: \"'What is the weather?'\"}
        onDone: {target: done, actions: [{type: assign, context_updates: {text: event.data.text}}]}
        onError: failed
    done: {type: final, output: {text: context.text}}
    failed: {type: final, tags: [failed]}
";
const REPORTER: &str = "---\nname: reporter\ndescription: Reports.\n---\nReport.\n";
/// The same call twice: two requests of the model, so two calls of the service.
const SCRIPT: &str = "\
- agent: reporter
  steps:
    - tool_calls: [{name: mcp__services__weather, input: {city: Oslo}}]
    - expect: rain in Oslo
      tool_calls: [{name: mcp__services__weather, input: {city: Oslo}}]
    - expect: rain in Oslo
      tool_calls: [{name: mcp__services__weather, input: {town: Rome}}]
    - expect: does not fit the schema
      text: rain
";
const REFUSED: &str = "\
- agent: reporter
  steps:
    - tool_calls: [{name: mcp__services__weather, input: {city: Oslo}}]
    - text: no idea
";

fn project(rules: &str, script: &str) -> Served {
    let config = format!(
        "governance: {{allow: [\"agent:*\", weather]{rules}}}\n\
         providers: {{default: demo/scripted, demo: {{kind: scripted, file: .rawko/script.yaml}}}}\n\
         server: {{tokens: [{{name: weather, role: service, env: SERVICE_TOKEN}}]}}\n\
         services:\n  weather:\n    remote: {{wait: 1m}}\n    tool: true\n    description: Reports the weather of a city\n    \
         input: {{type: object, properties: {{city: {{type: string}}}}, required: [city]}}\n    \
         output: {{type: object, properties: {{sky: {{type: string}}}}, required: [sky]}}\n"
    );
    Served::new(&[
        (".rawko/config.yaml", &config),
        (".rawko/charts/forecast.yaml", CHART),
        (".rawko/agents/reporter.md", REPORTER),
        (".rawko/script.yaml", script),
    ])
}

fn calls(served: &Served) -> Vec<String> {
    let text = fs::read_to_string(served.folder.path().join("calls.txt")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Runs the chart on the server and returns its result.
fn forecast(served: &Served) -> String {
    finish(&mut served.script(Language::Python, &Language::Python.of_tests("forecast"), TOKEN))
}

#[test]
fn an_agent_calls_a_service_of_a_program_as_a_tool() {
    for language in [Language::Python, Language::Node] {
        let served = project("", SCRIPT);
        let checked = finish(&mut served.rawko(&["check", "."]));
        assert!(checked.trim_end().ends_with("no problems found"), "{checked}");
        let _server = served.serve();
        let mut program = served.script(language, &language.of_tests("weather"), SERVICE_TOKEN);
        let _program = Process::start(&mut program);
        assert_eq!(forecast(&served), "{'text': 'rain'}\n");
        let calls = calls(&served);
        let [first, second] = calls.as_slice() else { panic!("{calls:?}") };
        assert!(first.starts_with("Oslo ") && second.starts_with("Oslo "), "{calls:?}");
        assert_ne!(first, second, "two calls have two keys");
    }
}

#[test]
fn rules_on_tools_and_services_keep_an_agent_from_a_service() {
    let permissions = project("", REFUSED);
    let settings = permissions.folder.path().join(".rawko/config.yaml");
    let denied = "permissions: {deny: [mcp__services__weather]}\n";
    fs::write(&settings, fs::read_to_string(&settings).unwrap() + denied).unwrap();
    for served in [permissions, project(", deny: [weather]", REFUSED)] {
        let _server = served.serve();
        let mut program =
            served.script(Language::Python, &Language::Python.of_tests("weather"), SERVICE_TOKEN);
        let _program = Process::start(&mut program);
        assert_eq!(forecast(&served), "{'text': 'no idea'}\n");
        assert_eq!(calls(&served), Vec::<String>::new());
    }
}

#[test]
fn a_tool_without_a_description_is_reported() {
    let served = Served::new(&[(
        ".rawko/config.yaml",
        "services: {weather: {remote: {}, tool: true, input: {type: string}}}\n",
    )]);
    let checked = served.rawko(&["check", "."]).output().unwrap();
    let text =
        String::from_utf8_lossy(&checked.stdout).into_owned() + &String::from_utf8_lossy(&checked.stderr);
    assert!(text.contains("has no `description`") && text.contains("type: object"), "{text}");
}
