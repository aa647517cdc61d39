//! Commands that an agent or a service runs, the names they claim, and the environment they inherit.

use std::fs;
use std::process::{Command, Output};

use super::scene::{Outcome, RAWKO, Scene, Table, ensure, operator, said};

const REFUSED: Option<i32> = Some(41);
const EVIL: &str = "id: evil\nversion: 1.0.0\ninitial: a\nstates: {a: {on: {GO: a}}}\n";
const TOKEN: &str = "the-operators-own-token-0123456789";

fn code(expected: Option<i32>, output: &Output) -> Outcome {
    ensure(output.status.code() == expected, said(output))
}

pub(crate) fn attempts(table: &mut Table) {
    within_a_call(table);
    with_bash(table);
    with_file_tools(table);
    with_another_token(table);
    claimed_names(table);
    environments(table);
    printed(table);
}

/// A credential that a chart or an agent got hold of is not printed.
fn printed(table: &mut Table) {
    let scene = Scene::asking(&["o-1"]);
    let (token, other) = (scene.token(), "0123456789abcdef".repeat(4));
    let data = format!("{{\"a\":\"{token}\",\"b\":\"{other}\"}}");
    let mut rows = Vec::new();
    let mut all = String::new();
    for words in [
        &["send", "o-1", "WITHDRAWN", "--data", &data][..],
        &["history", "o-1"],
        &["history", "o-1", "--json"],
        &["logs", "o-1"],
    ] {
        let text = said(&scene.run(words));
        rows.push((words[..2].join(" "), ensure(!text.contains(&token), text.clone())));
        all += &text;
    }
    table.group("printed", ensure(all.contains(&other), all), rows);
}

/// What a rawko refuses that was started by a call of another one.
fn within_a_call(table: &mut Table) {
    let scene = Scene::asking(&["o-1", "o-2"]);
    scene.write("evil.yaml", EVIL);
    let exported = scene.run(&["instance", "export", "o-1", "o-1.jsonl"]);
    assert!(exported.status.success(), "{}", said(&exported));
    assert!(scene.run(&["backup", "copy.db"]).status.success());
    let commands: [&[&str]; 20] = [
        &["approve", "o-1"],
        &["approve", "o-1", "--as", "ada"],
        &["deny", "o-1"],
        &["send", "o-1", "WITHDRAWN"],
        &["cancel", "o-1"],
        &["fork", "o-1", "--id", "evil"],
        &["resume", "o-1"],
        &["run", "evil.yaml", "--id", "evil"],
        &["run", "order", "--id", "evil"],
        &["run", "evil.yaml", "--id", "evil", "--store", "own.db"],
        &["serve", "--listen", "127.0.0.1:0"],
        &["mcp"],
        &["mcp", "login", "crm"],
        &["mcp", "logout", "crm"],
        &["channels", "create", "evil"],
        &["chat", "evil"],
        &["restore", "copy.db"],
        &["instance", "import", "o-1.jsonl", "--store", "own.db"],
        &["doctor", "--accept-loss"],
        &["worker", "--listen", "127.0.0.1:0"],
    ];
    let mut rows = Vec::new();
    for words in commands {
        let output = scene.command(words).env("RAWKO_CALL", "3f2a").output().unwrap();
        rows.push((words.join(" "), code(REFUSED, &output)));
    }
    rows.push(("all of it together".to_owned(), scene.is_asking("o-1")));
    let listed = said(&scene.run(&["ps", "--all"]));
    rows.push(("an instance".to_owned(), ensure(!listed.contains("evil"), listed)));
    rows.push((
        "a second store".to_owned(),
        ensure(!scene.project.path().join("own.db").exists(), "it is there"),
    ));
    // The same command without the mark works, and with it those that act on nothing do.
    let check = scene.command(&["check", "evil.yaml"]).env("RAWKO_CALL", "3f2a").output().unwrap();
    let control = code(Some(0), &scene.run(&["approve", "o-2"])).and(code(Some(0), &check));
    table.group("within a call", control, rows);
}

/// An agent with Bash while the host runs: its call has the mark, or removes it, but has no credential.
fn with_bash(table: &mut Table) {
    let scene = Scene::asking(&["o-1"]);
    let (store, socket_dir) = (scene.store(), scene.state().join("run"));
    let raw = "import glob, socket, sys\n\
               s = socket.socket(socket.AF_UNIX)\n\
               s.connect(glob.glob(sys.argv[1] + '/*.sock')[0])\n\
               s.sendall(b'{\"op\":\"answer\",\"id\":\"o-1\",\"approved\":true,\"by\":\"ada\"}\\n')\n\
               print(s.recv(4096).decode())\n";
    scene.write("raw.py", raw);
    scene.write("evil.yaml", EVIL);
    // The program as it lies in the project: the one of the person may not be in the sandbox at all.
    let own = scene.project.path().join("rk");
    fs::hard_link(RAWKO, &own).or_else(|_| fs::copy(RAWKO, &own).map(drop)).unwrap();
    let lines = [
        "./rk approve o-1".to_owned(),
        "./rk run evil.yaml --id evil".to_owned(),
        "RAWKO_TRUST=all ./rk trust --yes".to_owned(),
        format!("env -u RAWKO_CALL RAWKO_STATE_DIR=$TMPDIR/own ./rk approve o-1 --store {}", store.display()),
        "env -u RAWKO_CALL RAWKO_TOKEN=guess ./rk approve o-1".to_owned(),
        format!("python3 raw.py {}", socket_dir.display()),
        "printenv RAWKO_TOKEN".to_owned(),
        // The control.
        "echo works".to_owned(),
    ];
    let steps = lines.iter().enumerate().map(|(at, line)| {
        let command =
            format!("{line} > out-{at}.txt 2>&1; echo \"code $?\" >> out-{at}.txt").replace('"', "\\\"");
        format!("    - tool_calls: [{{name: Bash, input: {{command: \"{command}\"}}}}]\n")
    });
    let script = format!("- agent: dev\n  steps:\n{}    - text: Done.\n", steps.collect::<String>());
    with_agent(&scene, &script);
    let ran = scene.command(&["run", "work", "--id", "w-1"]).env("RAWKO_TOKEN", TOKEN).output().unwrap();
    let out = |at: usize| {
        fs::read_to_string(scene.project.path().join(format!("out-{at}.txt"))).unwrap_or_default()
    };
    let mut rows = Vec::new();
    let last = lines.len() - 1;
    for (at, line) in lines.iter().enumerate().take(last) {
        let heard = out(at);
        let failed = heard.contains("code ") && !heard.contains("code 0");
        // The mark of the call explains the refusal; without it the sandbox holds the line.
        let words = ["code 41", "cannot trust a project", "rawko.db` not found"];
        let is_explained = words.iter().any(|word| heard.contains(word));
        let needs_mark = line.contains("./rk") && !line.contains("env -u");
        let failed = failed && !heard.contains("code 127") && (is_explained || !needs_mark);
        // The script prints the answer of the host.
        let failed = failed || heard.contains(r#"{"error":{"code":"unauthorized""#);
        rows.push((line.clone(), ensure(failed && !heard.contains(TOKEN), heard)));
    }
    rows.push(("all of it together".to_owned(), scene.is_asking("o-1")));
    let control = ensure(out(last).contains("works\ncode 0"), format!("{}{}", said(&ran), out(last)));
    table.group("an agent with Bash", control, rows);
}

/// Adds an agent with a script, and a chart that lets it work.
fn with_agent(scene: &Scene, script: &str) {
    scene.write(".rawko/script.yaml", script);
    scene.write(".rawko/agents/dev.md", "---\nname: dev\nwhenToUse: For work.\n---\nWork.\n");
    scene.write(
        ".rawko/config.yaml",
        "governance: {allow: ['agent:*', 'tool:*']}\n\
         providers: {default: demo/x, demo: {kind: scripted, file: .rawko/script.yaml}}\n\
         memories: {remember: false}\n",
    );
    scene.write(
        ".rawko/charts/work.yaml",
        "statechart:\n  id: work\n  version: \"1.0.0\"\n  initial: working\n  states:\n    working:\n      \
         invoke: {id: dev, src: 'agent:dev', input: {prompt: \"'Go.'\"}, onDone: done, onError: failed}\n    \
         done: {type: final}\n    failed: {type: final}\n",
    );
}

/// File tools run in the host's own process: where a home directory is the project, they could reach the credential.
fn with_file_tools(table: &mut Table) {
    const TOKEN_FILE: &str = ".local/state/rawko/operator.token";
    let calls = [
        ("Read", format!("{{path: {TOKEN_FILE}}}")),
        ("Read", "{path: state-link/operator.token}".to_owned()),
        ("Write", format!("{{path: {TOKEN_FILE}, content: mine}}")),
        ("Write", "{path: .local/state/rawko/projects/x/rawko.db, content: mine}".to_owned()),
        ("Edit", format!("{{path: {TOKEN_FILE}, old_string: a, new_string: b}}")),
        ("Grep", "{pattern: '.', path: .local/state/rawko}".to_owned()),
    ];
    let mut rows = Vec::new();
    let mut control = Ok(());
    for (tool, input) in calls {
        let scene = Scene::new(&[("note.txt", "an ordinary note\n")]);
        std::os::unix::fs::symlink(".local/state/rawko", scene.project.path().join("state-link")).unwrap();
        let script = |call: &str, expected: &str| {
            format!(
                "- agent: dev\n  steps:\n    - tool_calls: [{call}]\n    - expect: {expected}\n      text: Done.\n"
            )
        };
        let run = |id: &str| {
            let mut run = scene.command(&["run", "work", "--id", id]);
            said(&run.env("HOME", scene.project.path()).output().unwrap())
        };
        with_agent(&scene, &script(&format!("{{name: {tool}, input: {input}}}"), "path_protected"));
        let attempt = run("w-1");
        rows.push((format!("{tool} {input}"), ensure(attempt.contains("[done]"), attempt)));
        with_agent(&scene, &script("{name: Read, input: {path: note.txt}}", "an ordinary note"));
        let text = run("w-2");
        control = control.and(ensure(text.contains("[done]"), text));
    }
    table.group("file tools", control, rows);
}

/// A token that the host was not started with, and none where it was.
fn with_another_token(table: &mut Table) {
    let scene = Scene::asking(&["o-1", "o-2"]);
    let plain = scene.serve(|_| {});
    let guess = scene.command(&["approve", "o-1"]).env("RAWKO_TOKEN", "guess").output().unwrap();
    let mut own = scene.command(&["approve", "o-1", "--store", scene.store().to_str().unwrap()]);
    let own = own.env("RAWKO_STATE_DIR", scene.home.path().join("own")).output().unwrap();
    let control = code(Some(0), &scene.run(&["send", "o-2", "WITHDRAWN"]));
    drop(plain);
    let rows = vec![
        ("a guessed token".to_owned(), code(REFUSED, &guess)),
        ("a state directory of its own".to_owned(), code(Some(3), &own)),
    ];
    table.group("a host with a credential", control, rows);

    let chosen = scene.serve(|command| {
        command.env("RAWKO_TOKEN", TOKEN);
    });
    let without = scene.run(&["approve", "o-1"]);
    let curl = |token: &str| {
        let url = format!("http://{}/v1/instances", chosen.address);
        let header = format!("Authorization: Bearer {token}");
        let args = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", &header, &url];
        String::from_utf8(Command::new("curl").args(args).output().unwrap().stdout).unwrap()
    };
    let rows = vec![
        ("the credential in the file".to_owned(), code(REFUSED, &without)),
        (
            "the credential in the file over HTTP".to_owned(),
            ensure(curl(&scene.token()) == "401", "it is let in"),
        ),
    ];
    let with = scene.command(&["approve", "o-1"]).env("RAWKO_TOKEN", TOKEN).output().unwrap();
    let control = code(Some(0), &with).and(ensure(curl(TOKEN) == "200", "RAWKO_TOKEN is refused"));
    table.group("a host with RAWKO_TOKEN", control, rows);
}

/// `by` is the user of the operating system, and not the name that a command claims.
fn claimed_names(table: &mut Table) {
    let scene = Scene::asking(&["o-1"]);
    let answered = scene.run(&["approve", "o-1", "--as", "ada"]);
    let text = said(&answered);
    let by = format!(r#""by":"{}","as":"ada""#, operator());
    let logged = said(&scene.run(&["logs", "o-1", "--audit"]));
    let rows = vec![
        ("--as".to_owned(), ensure(text.contains(&by), text.clone())),
        ("USER".to_owned(), ensure(!text.contains("mallory"), text)),
        ("the audit".to_owned(), ensure(logged.contains(&format!("{}, as ada", operator())), logged)),
    ];
    table.group("a claimed name", code(Some(0), &answered), rows);
}

/// RAWKO_TOKEN reaches no child process and no expression, also if the settings name it.
fn environments(table: &mut Table) {
    let service =
        "cat > /dev/null; env > spilled.txt; tr '\\0' '\\n' < /proc/self/environ >> spilled.txt; echo '{}'";
    let chart = "statechart:\n  id: spill\n  version: \"1.0.0\"\n  initial: spilling\n  context: {seen: null}\n  \
                 states:\n    spilling:\n      entry: [{type: assign, context_updates: {seen: \"env\"}}]\n      \
                 invoke: {id: spill, src: spill, onDone: done, onError: done}\n    \
                 done: {type: final, output: {seen: context.seen}}\n";
    let mut rows = Vec::new();
    let mut control = Err("nothing was passed".to_owned());
    for more in ["", ", pass_env: [RAWKO_TOKEN, HARMLESS]", ", env: {STOLEN: '${RAWKO_TOKEN}'}"] {
        let scene = Scene::new(&[("spill.yaml", chart)]);
        let command = service.replace('\'', "''");
        scene.write(
            ".rawko/config.yaml",
            &format!(
                "services: {{spill: {{command: [sh, -c, '{command}']{more}}}}}\n\
                 governance: {{allow: [spill]}}\nenv: [RAWKO_TOKEN, HARMLESS]\n"
            ),
        );
        let mut run = scene.command(&["run", "spill.yaml", "--id", "s-1", "--verbose"]);
        let ran = run.env("RAWKO_TOKEN", TOKEN).env("HARMLESS", "a-harmless-value").env("RAWKO_LOG", "trace");
        let text = said(&ran.output().unwrap());
        let spilled = fs::read_to_string(scene.project.path().join("spilled.txt")).unwrap_or_default();
        let all = format!("{text}{spilled}{}", said(&scene.run(&["history", "s-1"])));
        if spilled.contains("a-harmless-value") && all.contains(r#""HARMLESS":"a-harmless-value""#) {
            control = Ok(());
        }
        rows.push((format!("a service{more}"), ensure(!all.contains(TOKEN), all)));
    }
    table.group("the environment", control, rows);
}
