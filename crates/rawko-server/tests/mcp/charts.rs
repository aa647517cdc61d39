//! The charts behind the tools that the suite calls, each the smallest that has the behaviour.

use rawko_host::Edition;

/// One pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// A chart that is done at once, with these blocks as its output.
fn content(id: &str, blocks: &str) -> String {
    format!(
        "statechart:\n  id: {id}\n  version: 1.0.0\n  description: Returns content.\n  initial: done\n  states:\n    \
         done: {{type: final, output: \"{{content: [{blocks}]}}\"}}\n"
    )
}

/// A chart that asks for one form after the other and returns the last answer.
fn asking(id: &str, forms: &[(&str, &str, &str)], words: &str) -> String {
    let mut text = format!(
        "statechart:\n  id: {id}\n  version: 1.0.0\n  description: Asks the person.\n  initial: {}\n  \
         context: {{message: null, answer: null}}\n  states:\n",
        forms[0].0
    );
    for (place, (invoke, title, form)) in forms.iter().enumerate() {
        let next = forms.get(place + 1).map_or("done", |(next, _, _)| next);
        text += &format!(
            "    {invoke}:\n      invoke:\n        id: {invoke}\n        src: human\n        \
             input: \"{{title: {title}, form: {form}}}\"\n        onDone:\n          target: {next}\n          \
             actions: [{{type: assign, context_updates: {{answer: event.data}}}}]\n        onError: done\n"
        );
    }
    text + &format!(
        "    done:\n      type: final\n      output: \"{{content: [{{type: 'text', text: '{words}' ~ json(context.answer)}}]}}\"\n"
    )
}

/// A form with one text field.
fn text_field(name: &str) -> String {
    format!("{{type: 'object', properties: {{{name}: {{type: 'string'}}}}, required: ['{name}']}}")
}

pub(crate) fn all() -> Vec<Edition> {
    let text = "{type: 'text', text: 'Multiple content types test:'}";
    let image = format!("{{type: 'image', data: '{PNG}', mimeType: 'image/png'}}");
    let resource = "{type: 'resource', resource: {uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'text'}}";
    let (name, color) = (text_field("name"), text_field("color"));
    let ok = "{type: 'object', properties: {ok: {type: 'boolean'}}, required: ['ok']}";
    let user = "{type: 'object', properties: {username: {type: 'string', description: 'name'}, email: {type: 'string', \
                description: 'address'}}, required: ['username', 'email']}";
    let defaults = "{type: 'object', properties: {name: {type: 'string', default: 'John Doe'}, age: {type: 'integer', \
                    default: 30}, score: {type: 'number', default: 95.5}, status: {type: 'string', enum: ['active', \
                    'inactive', 'pending'], default: 'active'}, verified: {type: 'boolean', default: true}}, required: []}";
    let enums = "{type: 'object', properties: {\
                 untitledSingle: {type: 'string', enum: ['option1', 'option2', 'option3']}, \
                 titledSingle: {type: 'string', oneOf: [{const: 'value1', title: 'First Option'}, {const: 'value2', \
                 title: 'Second Option'}, {const: 'value3', title: 'Third Option'}]}, \
                 legacyEnum: {type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', \
                 'Option Three']}, \
                 untitledMulti: {type: 'array', items: {type: 'string', enum: ['option1', 'option2', 'option3']}}, \
                 titledMulti: {type: 'array', items: {anyOf: [{const: 'value1', title: 'First Choice'}, {const: 'value2', \
                 title: 'Second Choice'}, {const: 'value3', title: 'Third Choice'}]}}}, required: []}";
    let charts = [
        content("test_simple_text", "{type: 'text', text: 'This is a simple text response for testing.'}"),
        content("test_logging_tool", text),
        content("test_image_content", &image),
        content("test_audio_content", &format!("{{type: 'audio', data: '{WAV}', mimeType: 'audio/wav'}}")),
        content("test_embedded_resource", resource),
        content("test_multiple_content_types", &format!("{text}, {image}, {resource}")),
        content("test_error_handling", "{type: 'text', text: 'This tool intentionally returns an error'}], isError: true, \
                                        more: ["),
        asking("test_streaming_elicitation", &[("user_name", "'What is your name?'", &name)], "Hello, "),
        asking("test_elicitation", &[("ask", "context.message", user)], "User response: "),
        asking("test_elicitation_sep1034_defaults", &[("ask", "'Defaults'", defaults)], "Elicitation completed: "),
        asking("test_elicitation_sep1330_enums", &[("ask", "'Enums'", enums)], "Elicitation completed: "),
        asking("test_input_required_result_elicitation", &[("user_name", "'What is your name?'", &name)], "Hello, "),
        asking("test_input_required_result_request_state", &[("confirm", "'Please confirm'", ok)], "state-ok "),
        asking("test_input_required_result_tampered_state", &[("confirm", "'Please confirm'", ok)], "state-ok "),
        asking(
            "test_input_required_result_multi_round",
            &[("step1", "'Step 1: What is your name?'", &name), ("step2", "'Step 2: Which color?'", &color)],
            "Done: ",
        ),
        "statechart:\n  id: test_tool_with_progress\n  version: 1.0.0\n  description: Takes some steps.\n  initial: one\n  \
         states:\n    one: {after: {50ms: two}}\n    two: {after: {50ms: three}}\n    three: {after: {50ms: done}}\n    \
         done: {type: final, output: \"{content: [{type: 'text', text: 'done'}]}\"}\n"
            .to_owned(),
        "statechart:\n  id: test_tool_with_logging\n  version: 1.0.0\n  description: Logs three lines.\n  initial: one\n  \
         states:\n    one: {entry: [{type: log, message: \"'Tool execution started'\"}], after: {50ms: two}}\n    \
         two: {entry: [{type: log, message: \"'Tool processing data'\"}], after: {50ms: done}}\n    \
         done:\n      type: final\n      entry: [{type: log, message: \"'Tool execution completed'\"}]\n      \
         output: \"{content: [{type: 'text', text: 'done'}]}\"\n"
            .to_owned(),
        "statechart:\n  id: review\n  version: 1.0.0\n  description: A person approves an amount.\n  initial: asking\n  \
         context: {amount: 0, by: null}\n  states:\n    asking:\n      on:\n        RAISED:\n          target: asking\n          \
         reenter: true\n          actions: [{type: assign, context_updates: {amount: event.data.amount}}]\n      invoke:\n        id: approval\n        src: human\n        \
         input: \"{title: 'Pay ' ~ context.amount ~ '?'}\"\n        onDone:\n          - target: paid\n            \
         guard: event.data.approved\n            actions: [{type: assign, context_updates: {by: event.data.by}}]\n          \
         - target: refused\n        onError: refused\n    paid: {type: final, output: \"{paid: context.amount}\"}\n    \
         refused: {type: final, output: \"{paid: 0}\"}\n"
            .to_owned(),
        "statechart:\n  id: letter\n  version: 1.0.0\n  description: Waits for a letter.\n  initial: waiting\n  \
         context: {text: null}\n  states:\n    waiting:\n      on:\n        LETTER:\n          target: done\n          \
         actions: [{type: assign, context_updates: {text: event.data.text}}]\n    \
         done: {type: final, output: context.text}\n"
            .to_owned(),
    ];
    charts
        .into_iter()
        .chain(tasks())
        .map(|text| Edition::read("chart.yaml", &text).unwrap_or_else(|error| panic!("{error}\n{text}")))
        .collect()
}

/// The charts behind the tools of the scenarios about tasks.
fn tasks() -> Vec<String> {
    let slow = |id: &str, context: &str, delay: &str, output: &str| {
        format!(
            "statechart:\n  id: {id}\n  version: 1.0.0\n  description: Works for a while.\n  initial: working\n  \
             context: {{{context}}}\n  states:\n    working:\n      after: [{{delay: {delay}, target: done}}]\n    \
             done: {{type: final, output: \"{output}\"}}\n"
        )
    };
    let confirm = "{type: 'object', properties: {confirm: {type: 'boolean'}}, required: ['confirm']}";
    let question = |id: &str| {
        format!(
            "        {id}:\n          initial: asking\n          states:\n            asking:\n              invoke: {{id: {id}, \
             src: human, input: \"{{title: '{id}', form: {confirm}}}\", onDone: answered, onError: answered}}\n            \
             answered: {{type: final}}\n"
        )
    };
    vec![
        "statechart:\n  id: greet\n  version: 1.0.0\n  description: Greets.\n  initial: done\n  context: {name: ''}\n  \
         states:\n    done: {type: final, output: \"{content: [{type: 'text', text: 'Hello, ' ~ context.name ~ '!'}]}\"}\n"
            .to_owned(),
        slow(
            "slow_compute",
            "seconds: 0, label: ''",
            "context.seconds * 1000",
            "{content: [{type: 'text', text: context.label ~ ' done'}]}",
        ),
        slow("failing_job", "", "1s", "{content: [{type: 'text', text: 'it failed'}], isError: true}"),
        // A call that fails and that nothing handles: the instance stalls.
        "statechart:\n  id: protocol_error_job\n  version: 1.0.0\n  description: Fails.\n  initial: working\n  states:\n    \
         working: {invoke: {src: no_such_service, onDone: done}}\n    done: {type: final}\n"
            .to_owned(),
        asking("confirm_delete", &[("confirm", "'Delete?'", confirm)], "deleted: ").replace("message: null", "filename: ''"),
        format!(
            "statechart:\n  id: multi_input\n  version: 1.0.0\n  description: Asks twice at once.\n  initial: asking\n  \
             states:\n    asking:\n      type: parallel\n      onDone: done\n      states:\n{}{}    \
             done: {{type: final, output: \"{{content: [{{type: 'text', text: 'done'}}]}}\"}}\n",
            question("first"),
            question("second")
        ),
    ]
}
