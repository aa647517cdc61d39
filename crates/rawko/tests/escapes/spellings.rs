//! Rules and requests as people write and read them: other spellings of a denied command, rules that no command can match,
//! and requests that show all that they are about.

use serde_json::json;

use crate::shell::{Project, SETTINGS};

/// A rule that denies, a line that it must deny, and a line of the same program that runs.
const SPELLINGS: [(&str, &str, &str); 22] = [
    ("npm install:*", "npm i left-pad", "npm ls"),
    ("npm install:*", "npm --prefix src add left-pad", "npm --prefix src ls"),
    ("npm run deploy", "npm run-script deploy", "npm run"),
    ("pip install:*", "pip3 install x", "pip3 --version"),
    ("pip install:*", "python3 -m pip install x", "python3 -m pip --version"),
    ("pip install:*", "python3 -Im pip install x", "python3 -Im pip --version"),
    ("python:*", "python3 -c 'print(1)'", "perl -e 1"),
    ("python3:*", "python3.11 -c 'print(1)'", "perl -e 1"),
    ("awk:*", "mawk 1 open.txt", "sed p open.txt"),
    ("source:*", ". ./good.sh", "sh good.sh"),
    (".:*", "source ./good.sh", "sh good.sh"),
    ("sh bad.sh", "sh ./bad.sh", "sh ./good.sh"),
    ("cat .env", "cat ./.env", "cat ./open.txt"),
    ("touch x", "touch ././x", "touch ./made"),
    ("touch ./x", "touch x", "touch made"),
    ("make deploy:*", "make A=b deploy", "make A=b --version"),
    ("make deploy:*", "make all deploy", "make --version"),
    ("docker run:*", "docker container run x", "docker --version"),
    ("docker rmi:*", "docker image rm x", "docker --version"),
    ("cargo publish:*", "cargo --offline publish", "cargo --version"),
    ("git add:*", "git stage open.txt", "git status"),
    ("apt install:*", "apt-get -y install x", "ls"),
];

#[test]
fn a_denied_command_is_denied_in_other_spellings() {
    let call = |line: &str| ("Bash", json!({"command": line}));
    let mut wrong = Vec::new();
    for (rule, line, control) in SPELLINGS {
        let deny = format!("permissions: {{deny: ['Bash({rule})']}}\n");
        let project = Project::new(&deny, "", &[call(line), call(control)]);
        let results = project.run(&["--permission-mode", "deny"]);
        if !results[0].starts_with("refused:") || results[1].starts_with("refused:") {
            wrong.push(format!("{rule}: {line}: {results:?}"));
        }
    }
    println!("spellings: {} of {} held", SPELLINGS.len() - wrong.len(), SPELLINGS.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rules that would deny nothing, each with the rule that was meant.
const MISSPELT: [(&str, &str); 12] = [
    ("Bash(touch: *)", "Bash(touch:*)"),
    ("Bash(touch:x)", "Bash(touch x)"),
    ("Bash(touch:)", "Bash(touch)"),
    ("Bash(touch : *)", "Bash(touch *)"),
    ("Bash(touch:**)", "Bash(touch:*)"),
    ("Bash(touch：*)", "Bash(touch:*)"),
    ("Bash(t\u{43e}uch:*)", "Bash(touch:*)"),
    ("Bash(touch\u{200b}:*)", "Bash(touch:*)"),
    ("Bash(touch\u{a0}x)", "Bash(touch x)"),
    ("Bash(touch:*, rm:*)", "Bash(touch:*)"),
    ("Bash(ls && touch x)", "Bash(touch x)"),
    ("Bash(touch:* | tee)", "Bash(touch:*)"),
];

#[test]
fn a_rule_that_denies_nothing_stops_what_acts() {
    let touch = [("Bash", json!({"command": "touch x"}))];
    let places: [fn(&str) -> String; 3] = [
        |rule| format!("permissions: {{deny: [{}]}}\n", json!(rule)),
        |rule| format!("permissions: {{ask: [{}]}}\n", json!(rule)),
        |rule| format!("tools: {{blocked: [{}]}}\n", json!(rule)),
    ];
    let (mut held, mut wrong) = (0, Vec::new());
    for (misspelt, meant) in MISSPELT {
        for place in places {
            let project = Project::new(&place(misspelt), "", &touch);
            let done = project.rawko(&["run", "look.yaml", "--permission-mode", "deny"]);
            let control = Project::new(&place(meant), "", &touch);
            let results = control.run(&["--permission-mode", "deny"]);
            if done.status.code() == Some(52) && !project.has("x") && results[0].starts_with("refused:") {
                held += 1;
            } else {
                wrong.push(format!("{}: {:?} {results:?}", place(misspelt), done.status));
            }
        }
    }
    // The same in an agent's own list.
    for (agent, runs) in
        [("disallowedTools: ['Bash(touch: *)']\n", false), ("disallowedTools: ['Bash(touch:*)']\n", true)]
    {
        let project = Project::new("", agent, &touch);
        let has_run = project.rawko(&["run", "look.yaml"]).status.success();
        match has_run == runs && !project.has("x") {
            true => held += 1,
            false => wrong.push(format!("{agent}: {has_run}")),
        }
    }
    println!("misspelt rules: {held} of {} held", held + wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A command whose effect is far below its beginning, and one with characters that a person does not see.
#[test]
fn a_request_shows_all_that_it_is_about() {
    let requests = [
        format!("echo ok{}touch x", "\n".repeat(200)),
        format!("{}touch x\n{}", "echo 1\n".repeat(300), "echo 2\n".repeat(300)),
        format!("echo {}; touch x; echo b", "a".repeat(60_000)),
    ];
    let (mut held, mut wrong) = (0, Vec::new());
    for line in &requests {
        let project = Project::new("", "", &[("Bash", json!({"command": line}))]);
        std::fs::write(
            project.dir.path().join(".rawko/config.yaml"),
            format!("{SETTINGS}permissions: {{ask: [Bash]}}\n"),
        )
        .unwrap();
        let done = project.rawko(&["run", "look.yaml", "--id", "t"]);
        let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        let shown = String::from_utf8(project.rawko(&["show", "t"]).stdout).unwrap();
        // The overview is whole, or names the command that shows the whole.
        let overview = said.contains("touch x") || said.contains("rawko show t");
        match shown.contains("touch x") && overview && !project.has("x") {
            true => held += 1,
            false => wrong.push(format!("{}: {said}", &line[..20])),
        }
    }
    let change = json!({"path": "made.txt", "content": format!("{}touch x\n", "\n".repeat(1_000))});
    let project = Project::new("permissions: {ask: [Write]}\n", "", &[("Write", change)]);
    project.rawko(&["run", "look.yaml", "--id", "t"]);
    let shown = String::from_utf8(project.rawko(&["show", "t"]).stdout).unwrap();
    match shown.contains("+touch x") {
        true => held += 1,
        false => wrong.push(format!("a change: {shown}")),
    }
    let hidden = json!({"command": "touch 'a\u{202e}txt.sh' \u{200b}b r\u{fe0f}m c\u{fe00}d"});
    let project = Project::new("permissions: {ask: [Bash]}\n", "", &[("Bash", hidden)]);
    project.rawko(&["run", "look.yaml", "--id", "t"]);
    let shown = String::from_utf8(project.rawko(&["show", "t"]).stdout).unwrap();
    match shown.contains(r"'a\u202etxt.sh' \u200bb r\ufe0fm c\ufe00d") {
        true => held += 1,
        false => wrong.push(format!("hidden characters: {shown}")),
    }
    println!("requests: {held} of {} shown", requests.len() + 2);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
