//! The text that Bash runs is the parsed line, printed again: it must do what the line does.

use rawko_core::Value;
use rawko_tools::{ToolSettings, Toolbox};

const ORDINARY: &str = include_str!("../lines/ordinary.txt");

/// The printed line does the same as the original one, where bash and the parser agree.
#[test]
fn printed_lines_do_the_same_as_the_original_ones() {
    let dir = tempfile::tempdir().unwrap();
    let toolbox = Toolbox::new(dir.path(), ToolSettings::default());
    for (name, text) in
        [("a.txt", "b\na\nc d\n"), ("b.txt", "a\nx y\n"), ("README.md", "foo\n[bar]\n*\n"), ("x", "1 2\n")]
    {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    std::fs::create_dir(dir.path().join("src")).unwrap();
    let run = |line: &str| {
        let mut command = std::process::Command::new("bash");
        let output =
            command.args(["-c", line]).current_dir(dir.path()).stdin(std::process::Stdio::null()).output();
        let output = output.unwrap();
        (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
    };
    const BEGINS: [&str; 26] = [
        "echo", "printf", "for", "while", "case", "if", "[", "[[", "cat", "grep", "awk", "sed", "sort",
        "cut", "tr", "a=", "x=", "n=", "arr=", "f()", "set", "{", "(", "!", "diff", "true",
    ];
    let more = [
        "echo \"a  b\" 'c  d' e\\ f \"\\$x \\\\ \\n\" $'t\\tq'",
        "x='a b'; echo $x \"$x\" ${x} ${#x} ${x:1:2} ${x: -1} ${x%b} ${x#a} ${x/a/c} ${x//[ab]/_} ${x^^} ${y:-none} \"${y:-none}\"",
        "set -- p 'q r'; echo $# \"$@\" $* $1 \"$2\" $? $0",
        "a=(1 '2 3' 4); echo ${a[1]} \"${a[@]}\" ${#a[@]}; a+=(5); a[0]=9; echo ${a[*]}",
        "cat <<EOF\n$(echo hi) `echo ho` $((2 * 3)) \\$x \"q\" 'r'\nEOF",
        "cat <<'EOF'\n$(echo hi) \"q\" 'r' \\\nEOF",
        "cat <<-EOF\n\ta\n\t\tb\n\tEOF",
        "if false; then echo 1; elif true; then echo 2; else echo 3; fi",
        "i=0; until [ $i -ge 3 ]; do i=$((i + 1)); [ $i = 2 ] && continue; echo $i; done",
        "case 'a b' in a*) echo 1;;& *b) echo 2;; *) echo 3;; esac",
        "[[ abc == a* && ! x = y || -n '' ]] && echo yes",
        "[[ ab12 =~ ^([a-z]+)([0-9]+)$ ]] && echo ${BASH_REMATCH[1]} ${BASH_REMATCH[2]}",
        "f() { local x=$1; echo \"f:$x\"; return 3; }; f 'a b' || echo $?",
        "echo {a,b}{1..3} *.txt [ab].txt ~root no*match",
        "(echo sub; exit 4); echo $?",
        "{ echo out; echo err >&2; } 2>&1 | sort",
        "echo a |& cat; echo b >/dev/null; echo c 2>&1 >/dev/null | cat",
        "for ((i = 0; i < 3; i++)); do printf '%s ' $i; done; echo",
        "echo \"$(echo \"nested $(echo 'deep')\")\"",
        "IFS=, read -r p q <<< 'a,b'; echo $p-$q",
        "echo a#b '#' x # comment",
        "echo $((3 > 2 ? 10 : 20)) $(( (1 + 2) * 3 ))",
        "bash -c 'echo \"$0 $1\" # x' zero 'one two'",
        "eval echo 'a   b' \"'c   d'\"",
        "echo \"line\\\ncontinued\" and\\\nmore",
        "time -p true 2>/dev/null; ! false && echo ok",
        "echo é 'ü' \"ß\" ✓ a✓b",
        "x=5; (( x > 3 )) && echo big; echo $[1+1]",
        "diff <(echo a) <(echo b) > /dev/null || echo differ",
    ];
    let listed = ORDINARY.lines().filter(|line| !line.contains("\\n")).map(str::to_owned);
    let listed =
        listed.filter(|line| BEGINS.iter().any(|begin| line.starts_with(begin)) && !line.contains("date"));
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in listed.chain(more.map(str::to_owned)) {
        let input = Value::map([("command", Value::str(&line))]);
        // The same text needs no comparison.
        let Some(printed) = toolbox.printed_line("Bash", &input) else { continue };
        count += 1;
        let (expected, got) = (run(&line), run(&printed));
        if expected != got {
            wrong.push(format!("{line:?}\n  printed {printed:?}\n  expected {expected:?}\n  got {got:?}"));
        }
    }
    println!("{count} lines do the same");
    assert!(count >= 40, "{count} lines are compared");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
