//! Plan, approve, edit, test: the whole workflow with the hooks of one session.

use std::fs;

use serde_json::json;

use crate::session::{RUN, Session};
use crate::support::{command, run};

#[test]
fn an_edit_is_refused_before_the_approval_and_passes_after_it() {
    let session = Session::new();
    let started = session.send("SessionStart", &json!({"source": "startup"}));
    assert!(started.context().contains("workflow `plan_first`"), "{started:?}");
    assert!(started.context().contains("state `plan`"), "{started:?}");

    let early = session.before("Edit", &session.edit());
    assert_eq!(early.decision(), Some("deny"));
    assert!(
        early.reason().contains("`Edit` is not allowed in the state `plan` of the chart `plan_first`"),
        "{early:?}"
    );
    assert!(early.reason().contains("submit a plan with ExitPlanMode"), "{early:?}");
    for (tool, input) in [
        ("Write", json!({"file_path": session.root().join("new.py"), "content": ""})),
        ("Bash", json!({"command": "sed -i s/-/+/ sums.py", "description": "Fix it"})),
        ("Bash", json!({"command": "rawko approve claude-x"})),
        ("mcp__disk__write_file", json!({"path": "sums.py"})),
    ] {
        assert_eq!(session.before(tool, &input).decision(), Some("deny"), "{tool} {input}");
    }
    for (tool, input) in [
        ("Read", json!({"file_path": session.root().join("sums.py")})),
        ("Bash", json!({"command": "git log --oneline | head -3"})),
        ("TodoWrite", json!({"todos": []})),
    ] {
        assert_eq!(session.before(tool, &input).decision(), None, "{tool} {input}");
    }

    let plan = json!({"plan": "Add instead of subtract."});
    assert_eq!(session.before("ExitPlanMode", &plan).decision(), None);
    assert_eq!(session.state(), "approval");
    assert_eq!(session.before("Edit", &session.edit()).decision(), Some("deny"), "a plan is no approval");

    let approved = run(session.path(), &["approve", RUN], "");
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    assert_eq!(session.before("Edit", &session.edit()).decision(), None);
    let gate = json!({"file_path": session.root().join(".claude/settings.json"), "content": "{}"});
    assert_eq!(session.before("Write", &gate).decision(), Some("deny"), "the gate itself stays closed");
}

#[test]
fn claude_stops_only_once_the_checks_pass() {
    let session = Session::approved();
    let stop = json!({"stop_hook_active": false});
    let blocked = session.send("Stop", &stop);
    assert_eq!(blocked.json["decision"], "block", "{blocked:?}");
    assert!(blocked.reason().contains("The checks fail"), "{blocked:?}");
    assert!(blocked.reason().contains("test_add"), "{blocked:?}");
    assert_eq!(session.state(), "edit");

    let file = session.path().join("sums.py");
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("a - b", "a + b")).unwrap();
    session.after("Edit", &session.edit(), &json!({"filePath": file, "success": true}));
    let done = session.send("Stop", &json!({"stop_hook_active": true}));
    assert_eq!(done.json["decision"], json!(null), "{done:?}");
    assert!(done.json["systemMessage"].as_str().unwrap().contains("The checks pass"), "{done:?}");
    assert_eq!(session.state(), "plan");
    assert_eq!(
        session.before("Edit", &session.edit()).decision(),
        Some("deny"),
        "the next change needs a plan"
    );
}

#[test]
fn checks_that_keep_failing_let_claude_stop_in_the_end() {
    let session = Session::approved();
    let answers: Vec<_> = (0..3).map(|_| session.send("Stop", &json!({"stop_hook_active": true}))).collect();
    let blocked: Vec<bool> = answers.iter().map(|answer| answer.json["decision"] == "block").collect();
    assert_eq!(blocked, [true, true, false], "{answers:?}");
    assert_eq!(session.state(), "failing");
    session.after("Write", &json!({"file_path": "a"}), &json!({}));
    assert_eq!(session.state(), "edit");
}

#[test]
fn a_plan_that_the_person_accepts_in_claude_code_is_approved() {
    let session = Session::new();
    let plan = json!({"plan": "Add instead of subtract."});
    session.before("ExitPlanMode", &plan);
    let told = session.after("ExitPlanMode", &plan, &json!({"plan": "…"}));
    assert!(told.context().contains("state `edit`"), "{told:?}");
    assert_eq!(session.before("Edit", &session.edit()).decision(), None);
}

#[test]
fn a_repeated_hook_changes_nothing_and_parallel_ones_wait_for_each_other() {
    let session = Session::new();
    let edit = session.edit();
    std::thread::scope(|scope| {
        let asked: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| session.before("Edit", &edit).decision().map(str::to_owned)))
            .collect();
        for answer in asked {
            assert_eq!(answer.join().unwrap().as_deref(), Some("deny"));
        }
    });
    session.before("ExitPlanMode", &json!({"plan": "first"}));
    let steps =
        |session: &Session| run(session.path(), &["history", RUN, "--json"], "").stdout.lines().count();
    let before = steps(&session);
    session.before("ExitPlanMode", &json!({"plan": "second"}));
    assert_eq!(steps(&session), before, "the call has the same id");
}

/// The skill teaches what works.
#[test]
fn the_charts_of_the_skill_pass_their_own_checks() {
    let session = Session::new();
    let skill = fs::read_to_string(session.path().join(".claude/skills/rawko-charts/SKILL.md")).unwrap();
    let blocks: Vec<&str> =
        skill.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let [chart, scenario] = blocks.as_slice() else { panic!("{blocks:?}") };
    let dir = crate::support::directory(&[("release.yaml", chart), ("release.scenario.yaml", scenario)]);
    for args in [&["check", "release.yaml"][..], &["test", "."], &["verify", "release.yaml"]] {
        let run = run(dir.path(), args, "");
        assert_eq!(run.code, Some(0), "{args:?}: {}{}", run.stdout, run.stderr);
    }
}

#[test]
fn the_files_are_sound_and_other_settings_are_kept() {
    let session = Session::new();
    let checked = run(session.path(), &["check", "."], "");
    assert_eq!(checked.code, Some(0), "{}{}", checked.stdout, checked.stderr);
    let tested = run(session.path(), &["test"], "");
    assert_eq!(tested.code, Some(0), "{}", tested.stdout);
    assert!(tested.stdout.contains("100%"), "{}", tested.stdout);
    let verified = run(session.path(), &["verify", ".rawko/charts/plan_first.yaml"], "");
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
    let again = run(session.path(), &["init", "--claude"], "");
    assert!(again.stderr.contains("already set up"), "{}", again.stderr);

    let other = crate::support::directory(&[(".claude/settings.json", r#"{"model": "opus"}"#)]);
    let set_up = command(other.path(), &["init", "--claude"]).env_remove("RAWKO_TRUST").output().unwrap();
    let told = String::from_utf8(set_up.stderr).unwrap();
    assert!(told.contains("not trusted yet"), "{told}");
    let settings = fs::read_to_string(other.path().join(".claude/settings.json")).unwrap();
    assert!(
        settings.starts_with("{\n  \"model\": \"opus\"") && settings.contains("rawko hook"),
        "{settings}"
    );
}
