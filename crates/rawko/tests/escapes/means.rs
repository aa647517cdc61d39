//! A denied command by other means, with the real binary: each line creates its file without the rule, and none with it.

use serde_json::{Value, json};

use crate::shell::Project;

/// Lines that run `touch x`; `@` is the name of the file.
const MEANS: [&str; 46] = [
    "git -c alias.zz='!touch @' zz",
    "git -c core.editor='touch @ #' commit --allow-empty",
    "git rebase --root --exec 'touch @'",
    "git grep -O'touch @ #' --untracked plain",
    "git fetch --upload-pack='touch @ #' .",
    "git ls-remote --upload-pack='touch @ #' .",
    "git -c protocol.ext.allow=always fetch 'ext::touch @'",
    "sed -n '1e touch @' open.txt",
    "sed 's/.*/touch @/e' open.txt",
    "awk 'BEGIN{system(\"touch @\")}'",
    "awk 'BEGIN{\"touch @\" | getline}'",
    "awk -v c='touch @' 'BEGIN{system(c)}'",
    "tar cf /dev/null --checkpoint=1 '--checkpoint-action=exec=touch @' open.txt",
    "tar cf - open.txt | tar xf - --to-command='touch @'",
    "tar -I 'sh -c \"touch @\"' -cf /dev/null open.txt; true",
    "split --filter='touch @' open.txt",
    "sort --compress-program='touch @' -S 1k open.txt; touch=1; env touch @",
    "find . -maxdepth 0 -exec touch @ \\;",
    "find . -maxdepth 0 -execdir touch @ \\;",
    "echo @ | xargs touch",
    "env -i PATH=/usr/bin touch @",
    "make -f - <<< $'all:\\n\\ttouch @'",
    "make -f /dev/null --eval='all:;touch @' all",
    "python3 -c 'import os; os.system(\"touch @\")'",
    "python3 - <<'E'\nimport subprocess\nsubprocess.run(['touch', '@'])\nE",
    "echo 'import os; os.system(\"touch @\")' | python3",
    "perl -e 'system(\"touch @\")'",
    "perl -ne print 'touch @ |'",
    "ln -s /usr/bin/touch lk-@; ./lk-@ @",
    "cp /usr/bin/touch cp-@; ./cp-@ @",
    "ln -s /usr/bin d-@; d-@/touch @",
    "busybox touch @ || /usr/bin/env touch @",
    "timeout 5 nice sh -c 'touch @'",
    "trap 'touch @' EXIT",
    // A file that is harmless when the line is checked, or not there.
    "echo 'touch @' > good.sh; sh good.sh",
    "echo 'touch @' | tee good.sh; ./good.sh",
    "printf 'touch @' > other.txt; cp other.txt good.sh; bash good.sh",
    "sed -i 's/ls/touch @/' good.sh; . ./good.sh",
    "printf 'a:\\n\\ttouch @\\n' > mk; make -f mk",
    "printf 'a:\\n\\ttouch @\\n' > Makefile; make",
    "echo 'import os; os.system(\"touch @\")' > p.py; python3 p.py",
    "echo 'touch @' | dd of=good.sh 2>/dev/null; sh ./good.sh",
    "mapfile -C 'touch @; :' -c 1 lines < open.txt",
    "x='$(touch @)'; echo \"${x@P}\"",
    "[[ -v 'a[$(touch @)]' ]]",
    "hash -p /usr/bin/touch zz; zz @",
];

#[test]
fn a_denied_command_does_not_run_by_other_means() {
    let file = |number: usize| format!("made{number}");
    let calls: Vec<(&str, Value)> = MEANS
        .iter()
        .enumerate()
        .map(|(number, line)| ("Bash", json!({"command": line.replace('@', &file(number))})))
        .collect();
    let identity = "tools: {bash: {env: {GIT_AUTHOR_NAME: a, GIT_AUTHOR_EMAIL: a@b, GIT_COMMITTER_NAME: a, GIT_COMMITTER_EMAIL: a@b}}}\n";
    let control = Project::new(identity, "", &calls);
    control.run(&[]);
    let tried = Project::new(&format!("{identity}permissions: {{deny: ['Bash(touch:*)']}}\n"), "", &calls);
    let results = tried.run(&["--permission-mode", "deny"]);
    let working: Vec<usize> = (0..MEANS.len()).filter(|number| control.has(&file(*number))).collect();
    let escaped: Vec<String> = working
        .iter()
        .filter(|number| tried.has(&file(**number)) || !results[**number].starts_with("refused:"))
        .map(|number| format!("{}: {}", MEANS[*number], results[*number]))
        .collect();
    println!("means: {} of {} held", working.len() - escaped.len(), working.len());
    assert!(escaped.is_empty(), "{}", escaped.join("\n"));
    // Some programs are not on every machine.
    let missing: Vec<&str> =
        (0..MEANS.len()).filter(|number| !working.contains(number)).map(|number| MEANS[number]).collect();
    assert!(working.len() >= 20, "{missing:#?}");
}

/// A denied file that is committed.
#[test]
fn a_denied_file_is_not_shown_from_git() {
    let lines = [
        "git log -p -- keys",
        "git log -p",
        "git show HEAD",
        "git show HEAD:keys/k",
        "git archive HEAD keys",
        "git cat-file -p HEAD:keys/k",
        "git diff 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "git grep -h KEYVAL HEAD",
        "git worktree add w && cat w/keys/k",
    ];
    let controls = [
        "git log --oneline",
        "git log -p -- src",
        "git show HEAD --stat",
        "git show HEAD:src/a.txt",
        "git status",
    ];
    let calls: Vec<(&str, Value)> =
        lines.iter().chain(&controls).map(|line| ("Bash", json!({"command": line}))).collect();
    let run = |permissions: &str| {
        let project = Project::new(permissions, "", &calls);
        std::fs::create_dir(project.dir.path().join("keys")).unwrap();
        std::fs::write(project.dir.path().join("keys/k"), "KEYVAL\n").unwrap();
        for args in [
            &["add", "keys", "src"][..],
            &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "k"],
        ] {
            let done = std::process::Command::new("git")
                .args(args)
                .current_dir(project.dir.path())
                .output()
                .unwrap();
            assert!(done.status.success(), "{done:?}");
        }
        project.run(&["--permission-mode", "deny"])
    };
    let denied = run("permissions: {deny: ['Read(./keys/**)']}\n");
    let open = run("");
    let mut wrong = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        if denied[number].contains("KEYVAL") || !open[number].contains("KEYVAL") {
            wrong.push(format!("{line}: {} / {}", denied[number], open[number]));
        }
    }
    for (number, line) in controls.iter().enumerate() {
        if denied[lines.len() + number].starts_with("refused:") {
            wrong.push(format!("{line} did not run: {}", denied[lines.len() + number]));
        }
    }
    println!("committed files: {} of {} held", lines.len() - wrong.len(), lines.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A server that answers every request with a line.
fn server() -> u16 {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let _ = client.read(&mut [0; 1024]);
            let _ =
                client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
        }
    });
    port
}

/// Text of the network and of paths outside the project is marked, however a command came by it.
#[test]
fn text_from_elsewhere_is_marked() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("a.txt"), "from elsewhere\n").unwrap();
    let (place, port) = (outside.path().display(), server());
    let settings = format!(
        "tools: {{extra_read_paths: ['{place}'], network: {{private: ['127.0.0.1:{port}']}}}}\n\
         permissions: {{ask_after_untrusted: [Write]}}\n"
    );
    let write = ("Write", json!({"path": "made.txt", "content": "x"}));
    let lines = [
        format!("f={place}; cat $f/a.txt"),
        format!("grep -r . {place}"),
        format!("find {place} -name a.txt -exec cat {{}} +"),
        format!("python3 -c 'print(open(\"{place}/a.txt\").read())'"),
        format!(
            "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:{port}/\").read())'"
        ),
    ];
    let mut wrong = Vec::new();
    for line in &lines {
        let project = Project::new(&settings, "", &[("Bash", json!({"command": line})), write.clone()]);
        let results = project.run(&["--permission-mode", "deny"]);
        let has_read = results[0].contains("from elsewhere") || results[0].contains("hello");
        if !has_read || !results[0].contains("[untrusted text from") || project.has("made.txt") {
            wrong.push(format!("{line}: {results:?}"));
        }
    }
    let control = Project::new(&settings, "", &[("Bash", json!({"command": "cat open.txt"})), write]);
    let results = control.run(&["--permission-mode", "deny"]);
    if results[0].contains("[untrusted") || !control.has("made.txt") {
        wrong.push(format!("control: {results:?}"));
    }
    println!("untrusted text: {} of {} held", lines.len() - wrong.len(), lines.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `!Write` in the list of an agent's tools.
#[test]
fn tools_that_an_agent_excludes_are_refused() {
    let call = ("Write", json!({"path": "made.txt", "content": "x"}));
    let made = |tools: &str| {
        let project = Project::new("", &format!("tools: {tools}\n"), std::slice::from_ref(&call));
        project.run(&[]);
        project.has("made.txt")
    };
    for tools in
        ["'*, !Write'", "['*', '!Write']", "'!Write'", "{allowed: ['*', '!Write']}", "'Read, Write, !Write'"]
    {
        assert!(!made(tools), "{tools}");
    }
    assert!(made("'*'") && made("'*, !Bash'"));
}
