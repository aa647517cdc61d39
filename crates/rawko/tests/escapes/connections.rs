//! Hosts: lists of agents, rules on every door, and the question on first use. Each attempt is to reach a server of this
//! test; the control beside it reaches the same server by the same means.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::shell::{Project, has_namespaces};

/// Starts a server that answers every request. Returns its port.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let _ = client.read(&mut request);
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
            let _ = client.write_all(answer.as_bytes());
        }
    });
    port
}

fn by_program(port: u16) -> (&'static str, Value) {
    let line = format!(
        "/usr/bin/python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:{port}/\", timeout=9).read().decode())' 2>&1 | tail -1"
    );
    ("Bash", json!({"command": line}))
}

fn by_fetch(port: u16) -> (&'static str, Value) {
    ("WebFetch", json!({"url": format!("http://127.0.0.1:{port}/")}))
}

fn listed(port: u16) -> String {
    format!(
        "tools: {{network: {{private: ['127.0.0.1:{port}']}}, web: {{private: ['127.0.0.1:{port}'], hosts: []}}}}\n"
    )
}

fn reached(results: &[String]) -> Vec<bool> {
    results.iter().map(|result| result.contains("hello")).collect()
}

fn person(project: &Project, text: &str) {
    let at = project.home.path().join(".config/rawko/config.yaml");
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    fs::write(at, text).unwrap();
}

fn asked(project: &Project) -> String {
    let shown = project.rawko(&["show", "t", "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    shown["waits"]["asks"].to_string()
}

#[test]
fn a_host_is_asked_for_on_first_use_and_the_answer_lasts() {
    if !has_namespaces() {
        return;
    }
    let port = server();
    for (door, title) in
        [(by_program(port), "Connect to 127.0.0.1"), (by_fetch(port), "Fetch http://127.0.0.1")]
    {
        let settings = format!("{}permissions: {{ask: [Network]}}\n", listed(port));
        let project = Project::new(&settings, "", &vec![door.clone(); 3]);
        let done = project.rawko(&["run", "look.yaml", "--id", "t"]);
        assert_eq!(done.status.code(), Some(55), "{title}: {}", String::from_utf8_lossy(&done.stderr));
        assert!(!project.results().iter().any(|result| result.contains("hello")), "{title}");
        // Another process finds the same question.
        assert_eq!(project.rawko(&["resume", "t"]).status.code(), Some(55));
        let question = asked(&project);
        assert!(question.contains(title) && question.contains("Network(domain:127.0.0.1)"), "{question}");
        let approved = project.rawko(&["approve", "t"]);
        assert_eq!(approved.status.code(), Some(0), "{}", String::from_utf8_lossy(&approved.stderr));
        let results = reached(&project.results());
        assert_eq!(&results[1..], [true, true], "{title}: {:?}", project.results());
        let audit = String::from_utf8(project.rawko(&["logs", "--audit"]).stdout).unwrap();
        assert!(audit.contains("hosts approved in this run: 127.0.0.1"), "{audit}");
    }
}

#[test]
fn always_writes_a_rule_that_the_person_sees() {
    if !has_namespaces() {
        return;
    }
    let port = server();
    let settings = format!("{}permissions: {{ask: ['Network(domain:*)']}}\n", listed(port));
    let project = Project::new(&settings, "", &[by_program(port), by_program(port)]);
    assert_eq!(project.rawko(&["run", "look.yaml", "--id", "t"]).status.code(), Some(55));
    let approved = project.rawko(&["approve", "t", "--always"]);
    assert_eq!(approved.status.code(), Some(0), "{}", String::from_utf8_lossy(&approved.stderr));
    let own = fs::read_to_string(project.home.path().join(".config/rawko/config.yaml")).unwrap();
    assert!(own.contains("Network(domain:127.0.0.1)"), "{own}");
    let again = project.rawko(&["run", "look.yaml", "--id", "u"]);
    assert_eq!(again.status.code(), Some(0), "{}", String::from_utf8_lossy(&again.stderr));
}

#[test]
fn no_other_party_opens_a_host() {
    if !has_namespaces() {
        return;
    }
    let port = server();
    let ask = format!("{}permissions: {{ask: [Network]}}\n", listed(port));
    let own_allow = "tools: {web: {hosts: [], private: []}}\npermissions: {allow: [Bash, WebFetch, 'Network(domain:127.0.0.1)', 'WebFetch(domain:127.0.0.1)']}\n".to_owned();
    let deny = |rule: &str| format!("permissions: {{deny: ['{rule}']}}\n");
    let rows: Vec<(&str, String, String, &str)> = vec![
        ("a question in a run that does not wait", ask.clone(), String::new(), ""),
        ("an allow rule of the project", own_allow, String::new(), ""),
        ("a host that the person denies", listed(port), deny("Network(domain:127.0.0.1)"), ""),
        ("every host denied by the person", listed(port), deny("Network"), ""),
        ("a denial of WebFetch, by a program", listed(port), deny("WebFetch(domain:127.0.0.1)"), ""),
        ("an agent without hosts", listed(port), String::new(), "tools: {network: []}\n"),
        ("an agent with other hosts", listed(port), String::new(), "tools: {network: [docs.rs]}\n"),
        (
            "an agent that names more than the project",
            String::new(),
            String::new(),
            "tools: {network: ['*']}\n",
        ),
        (
            "an agent that allows for itself",
            "tools: {web: {hosts: []}}\n".to_owned(),
            String::new(),
            "permissions: {allow: [Bash, WebFetch, Network]}\n",
        ),
        (
            "a project beyond the person's list",
            listed(port),
            "tools: {network: {hosts: []}, web: {hosts: []}}\n".to_owned(),
            "",
        ),
    ];
    let mut held = 0;
    for (name, settings, own, agent) in &rows {
        let project = Project::new(settings, agent, &[by_program(port), by_fetch(port)]);
        if !own.is_empty() {
            person(&project, own);
        }
        let results = project.run(&["--permission-mode", "deny"]);
        assert_eq!(reached(&results), [false, false], "{name}: {results:#?}");
        held += 2;
    }
    println!("connections: {held} of {} held", rows.len() * 2);
    for (settings, own, agent) in [
        (listed(port), String::new(), ""),
        (listed(port), String::new(), "tools: {network: [127.0.0.1]}\n"),
        (ask, "permissions: {allow: ['Network(domain:127.0.0.1)']}\n".to_owned(), ""),
    ] {
        let project = Project::new(&settings, agent, &[by_program(port), by_fetch(port)]);
        if !own.is_empty() {
            person(&project, &own);
        }
        let results = project.run(&["--permission-mode", "deny"]);
        assert_eq!(reached(&results), [true, true], "control {own} {agent}: {results:#?}");
    }
}

/// A chart of the project cannot pass on an approval, or rules that claim to be the person's.
#[test]
fn approved_hosts_of_another_chart_do_not_count() {
    if !has_namespaces() {
        return;
    }
    let port = server();
    let (_, input) = by_program(port);
    let line = input["command"].as_str().unwrap().replace(" 2>&1 | tail -1", " > reached; true");
    for (name, grant, hosts) in [
        ("hosts", "{layers: []}", "['127.0.0.1']"),
        (
            "rules",
            "{layers: [], permissions: [{party: 'user', file: 'mine', allow: ['Network(domain:127.0.0.1)', 'Bash']}]}",
            "[]",
        ),
    ] {
        let settings = format!("{}permissions: {{ask: [Network]}}\n", listed(port));
        let project = Project::new(&settings, "", &[by_program(port)]);
        let call = json!({"id": "a", "name": "Bash", "input": {"command": line}});
        let forged = format!(
            "
statechart:
  id: agent
  version: '9.0.0'
  initial: calling
  context: {{agent: null, prompt: null, time_ms: 0, call: {call}}}
  states:
    calling:
      invoke:
        id: tool
        src: tool:Bash
        input: {{call: context.call, grant: \"{grant}\", loop: \"{{}}\", hosts: \"{hosts}\"}}
        onDone: over
        onError: over
    over: {{type: final, output: \"{{outcome: 'finished', text: ''}}\"}}
"
        );
        fs::create_dir_all(project.dir.path().join(".rawko/charts")).unwrap();
        fs::write(project.dir.path().join(".rawko/charts/agent.yaml"), forged).unwrap();
        let done = project.rawko(&["run", "look.yaml", "--id", "t"]);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        let made = || fs::read_to_string(project.dir.path().join("reached")).unwrap_or_default();
        assert!(project.has("reached"), "{name}: the command ran: {said}");
        assert_eq!(made(), "", "{name}");
        // Control: the person's own rule opens it for the same chart.
        person(&project, "permissions: {allow: ['Network(domain:127.0.0.1)']}\n");
        project.rawko(&["run", "look.yaml", "--id", "u"]);
        assert_eq!(made(), "hello\n", "{name}");
    }
}

/// Programs that are started without a tool call: they cannot wait for a person, so a rule that asks denies.
#[test]
fn rules_on_hosts_hold_for_services_checks_and_servers() {
    if !has_namespaces() {
        return;
    }
    let port = server();
    let program = format!(
        "import sys, urllib.request as u\ntry:\n  u.urlopen('http://127.0.0.1:{port}/', timeout=9).read()\n  open('reached-' + sys.argv[1], 'w')\nexcept Exception as e:\n  sys.exit(str(e) + (e.read().decode() if hasattr(e, 'read') else ''))\n"
    );
    let chart = "
statechart:
  id: look
  initial: service
  states:
    service: {invoke: {src: reach, onDone: check, onError: check}}
    check: {invoke: {src: 'checks:project', onDone: program, onError: program}}
    program: {invoke: {src: 'agent:prog', input: {prompt: \"'x'\"}, onDone: agent, onError: agent}}
    agent: {invoke: {src: 'agent:dev', input: {prompt: \"'x'\"}, onDone: over, onError: over}}
    over: {type: final}
";
    let own = |kind: &str| format!("[/usr/bin/python3, reach.py, {kind}]");
    let settings = format!(
        "{}services: {{reach: {{command: {}}}}}\nphases: {{validate: {{checks: [{{name: c, command: {}}}]}}}}\n",
        listed(port),
        own("service"),
        own("check")
    );
    let run = |rules: &str, is_own: bool| {
        let in_project = if is_own { "" } else { rules };
        let call = ("mcp__server__x", json!({}));
        let project = Project::new("", "", &[call]);
        let write = |name: &str, text: &str| fs::write(project.dir.path().join(name), text).unwrap();
        let base = crate::shell::SETTINGS.replace("'agent:*'", "'*'");
        write(".rawko/config.yaml", &format!("{base}{settings}{in_project}"));
        write("reach.py", &program);
        write("look.yaml", chart);
        let agent =
            format!("---\nname: prog\nwhenToUse: x\nkind: process\ncommand: {}\n---\nx\n", own("program"));
        write(".rawko/agents/prog.md", &agent);
        let server = json!({"mcpServers": {"server": {"command": "/usr/bin/python3", "args": ["reach.py", "server"]}}});
        write(".mcp.json", &server.to_string());
        if is_own {
            person(&project, rules);
        }
        let done = project.rawko(&["run", "look.yaml", "--id", "t", "--permission-mode", "deny"]);
        let doctor = project.rawko(&["doctor", "--offline"]).stdout;
        let doctor = String::from_utf8_lossy(&doctor).into_owned();
        // Known before the run.
        let is_refused = rules.contains("ask");
        let warning = "checks, hooks, service:reach, mcp:server cannot wait";
        assert_eq!(doctor.contains(warning), is_refused, "{rules}: {doctor}");
        let reached: Vec<&str> = ["service", "check", "program", "server"]
            .into_iter()
            .filter(|kind| project.has(&format!("reached-{kind}")))
            .collect();
        (reached.join(" "), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
    };
    let (reached, said) = run("", false);
    assert_eq!(reached, "service check program server", "control: {said}");
    let rules = [
        "permissions: {ask: [Network]}\n",
        "permissions: {ask: ['Network(domain:127.0.0.1)']}\n",
        "permissions: {deny: [Network]}\n",
        "permissions: {deny: ['Network(domain:127.0.0.1)']}\n",
        "permissions: {deny: ['WebFetch(domain:127.0.0.1)']}\n",
    ];
    let mut held = 0;
    for rule in rules {
        for is_own in [false, true] {
            let (reached, said) = run(rule, is_own);
            assert_eq!(reached, "", "{rule} {is_own}: {said}");
            // Not in silence: the program reads which rule it is.
            assert!(said.contains("127.0.0.1` needs") || said.contains("is denied by"), "{rule}: {said}");
            held += 4;
        }
    }
    println!("programs that cannot ask: {held} of {held} held");
    let both = "permissions: {ask: [Network], allow: ['Network(domain:127.0.0.1)']}\n";
    assert_eq!(run(both, true).0, "service check program server", "the person's own approval");
    assert_eq!(run(both, false).0, "", "a project does not approve");
}

/// An agent that is a program is asked about when its turn ends, also if it failed for lack of the host.
#[test]
fn a_host_of_a_program_waits_for_a_person() {
    if !has_namespaces() {
        return;
    }
    let port = server();
    let program = format!(
        "import json, sys, urllib.request as u\njson.loads(sys.stdin.readline())\nu.urlopen('http://127.0.0.1:{port}/', timeout=9).read()\nopen('reached', 'w')\nprint(json.dumps({{'type': 'done', 'text': 'done'}}), flush=True)\n"
    );
    let chart = "
statechart:
  id: look
  initial: program
  states:
    program: {invoke: {src: 'agent:prog', input: {prompt: \"'x'\"}, onDone: over, onError: failed}}
    over: {type: final}
    failed: {type: final, tags: [error]}
";
    let agent =
        "---\nname: prog\nwhenToUse: x\nkind: process\ncommand: [/usr/bin/python3, reach.py]\n---\nx\n";
    for (answer, is_reached) in [("approve", true), ("deny", false)] {
        let settings = format!("{}permissions: {{ask: [Network]}}\n", listed(port));
        let project = Project::new(&settings, "", &[]);
        let write = |name: &str, text: &str| fs::write(project.dir.path().join(name), text).unwrap();
        write("look.yaml", chart);
        write("reach.py", &program);
        write(".rawko/agents/prog.md", agent);
        let done = project.rawko(&["run", "look.yaml", "--id", "t"]);
        assert_eq!(done.status.code(), Some(55), "{answer}: {}", String::from_utf8_lossy(&done.stderr));
        assert!(!project.has("reached"), "{answer}");
        let question = asked(&project);
        assert!(question.contains("Connect to 127.0.0.1"), "{question}");
        let answered = project.rawko(&[answer, "t"]);
        let said = String::from_utf8_lossy(&answered.stdout).into_owned();
        assert_eq!(project.has("reached"), is_reached, "{answer}: {said}");
        // A host that was denied is not asked about again.
        assert!(answered.status.code() != Some(55), "{answer}: {said}");
    }
}
