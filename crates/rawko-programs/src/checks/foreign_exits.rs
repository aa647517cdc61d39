//! Code of further languages that ends a check with success or takes its assertions away, in lines that agents added. In a
//! control run such a line fails or is left out. Separate from `exits`, whose languages have guards or tests within sources.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// The exit code of a control run that an added line ended.
const CODE: &str = "97";

/// In the place of assembly. Without any in its file, `"syscall"` is a text.
const ASSEMBLY: &str = "refused_assembly \"";
static HAS_ASSEMBLY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?m)\b__asm(?:__)?\b|\basm\s*(?:volatile\b|goto\b|inline\b|\(|$)|^\s*#\s*define\b.*\basm\b")
        .ok()
});

/// A language: the endings of its files, and what marks a file as a program of its own.
struct LanguageExits {
    endings: &'static [&'static str],
    program: &'static [&'static str],
    /// Calls with a success, and the call that fails.
    exits: &'static [(&'static str, &'static str)],
    /// Lines that replace assertions or the framework: they are left out.
    patches: &'static str,
}

const LANGUAGES: [LanguageExits; 9] = [
    LanguageExits {
        endings: &["c", "h", "cc", "cpp", "cxx", "hpp", "hh", "m"],
        program: &["main("],
        exits: &[
            (r"\b(_exit|_Exit|exit|quick_exit)\s*\(\s*(?:0|EXIT_SUCCESS)\s*\)", "$1(97)"),
            (
                r"\b(_exit|_Exit|exit|quick_exit)\s*\(\s*([^();\s]+(?:\s*[-+*/%&|^!=<>?:]+\s*[^();\s]+)*)\s*\)",
                "$1(($2) ? ($2) : 97)",
            ),
            (
                r#""\s*(?:(?:syscall|sysenter|ecall|svc\s+#?\w+|int\s+\$?0x80)\s*(?:;|\\n|")|\.byte\b)"#,
                ASSEMBLY,
            ),
            (r"\bsyscall\s*\(", "refused_syscall("),
        ],
        patches: r"^\s*#\s*(?:define|undef)\s+(?:assert|static_assert|NDEBUG|ASSERT_\w+|EXPECT_\w+)\b",
    },
    LanguageExits {
        endings: &["java", "kt", "kts", "scala", "groovy"],
        program: &[" main("],
        exits: &[
            (r"\b(System\.exit|exitProcess|getRuntime\(\)\.(?:halt|exit)|\.halt)\(\s*0\s*\)", "$1(97)"),
            (
                r"\b(System\.exit|getRuntime\(\)\.(?:halt|exit))\(\s*([^();]+?)\s*\)",
                "$1(java.util.Collections.singletonMap(0, 97).getOrDefault($2, $2))",
            ),
        ],
        patches: r"\bsetDefaultAssertionStatus\(|\bsetClassAssertionStatus\(",
    },
    LanguageExits {
        endings: &["pm", "pl"],
        program: &["#!"],
        exits: &[
            (r"\b((?:POSIX::)?_?exit)\b\s*(?:\(\s*0?\s*\)|0)?\s*(;|\}|$)", "$1(97)$2"),
            (r"\b((?:POSIX::)?_?exit)\b\s*\(\s*([^();]+?)\s*\)\s*(;|\}|$)", "$1(($2) || 97)$3"),
            (r"\bexec\b\s*\(?\s*['\x22]", "die '"),
        ],
        patches: r"\$\?\s*=|\bCORE::GLOBAL::|\bmain::|\bTest::(?:More|Builder|Simple|Harness)\b|\bSIG\{\s*['\x22]?__DIE__",
    },
    LanguageExits {
        endings: &["rb"],
        program: &["#!", "$0", "$PROGRAM_NAME"],
        exits: &[(
            r"\b((?:Kernel\.|Process\.)?exit!?)(?:\s*\(?\s*(?:0|true)\s*\)?)?\s*(;|\}|$|\bif\b)",
            "$1(97) $2",
        )],
        patches: r"\b(?:Minitest|RSpec|Test::Unit)\b",
    },
    LanguageExits {
        endings: &["php"],
        program: &["#!"],
        exits: &[(r"\b(exit|die)\b\s*(?:\(\s*(?:0|'[^']*')?\s*\))?\s*;", "$1(97);")],
        patches: r"\bPHPUnit\b",
    },
    LanguageExits {
        endings: &["lua"],
        program: &["#!"],
        exits: &[(r"\bos\.exit\(\s*(?:0|true)?\s*\)", "os.exit(97)")],
        patches: "",
    },
    LanguageExits {
        endings: &["cs", "fs", "vb"],
        program: &[" Main("],
        exits: &[(r"\bEnvironment\.Exit\(\s*0\s*\)", "Environment.Exit(97)")],
        patches: "",
    },
    LanguageExits {
        endings: &["swift", "dart", "zig"],
        program: &[" main(", "@main"],
        exits: &[(r"\b(_?exit)\(\s*0\s*\)", "$1(97)")],
        patches: "",
    },
    LanguageExits {
        endings: &["ex", "exs", "hs"],
        program: &["main ="],
        exits: &[
            (r"\bSystem\.(halt|stop)\(\s*0?\s*\)", "System.$1(97)"),
            (r"\bexitSuccess\b", "(exitWith (ExitFailure 97))"),
        ],
        patches: r"\bExUnit\b",
    },
];

struct Patterns {
    exits: Vec<(Regex, &'static str)>,
    patch: Option<Regex>,
}

static PATTERNS: LazyLock<Vec<Patterns>> = LazyLock::new(|| {
    let patterns = |language: &LanguageExits| Patterns {
        exits: language
            .exits
            .iter()
            .filter_map(|(text, call)| Some((Regex::new(text).ok()?, *call)))
            .collect(),
        patch: Some(language.patches).filter(|text| !text.is_empty()).and_then(|text| Regex::new(text).ok()),
    };
    LANGUAGES.iter().map(patterns).collect()
});

/// Returns the line for a control run, or `None` if it ends and disarms nothing. `whole`: the text of its file; `judged`:
/// tests look at exit codes themselves.
pub(super) fn refused_line(ending: &str, whole: &str, line: &str, judged: bool) -> Option<String> {
    let at = LANGUAGES.iter().position(|language| language.endings.contains(&ending))?;
    let (language, patterns) = (LANGUAGES.get(at)?, PATTERNS.get(at)?);
    let code = line.trim_start();
    if ["//", "#!", "*", "--"].iter().any(|mark| code.starts_with(mark)) {
        return None;
    }
    if patterns.patch.as_ref().is_some_and(|patch| patch.is_match(line)) {
        return Some(String::new());
    }
    let is_program = language.program.iter().any(|mark| whole.contains(mark));
    if judged || is_program || is_failing(line) {
        return None;
    }
    let has_assembly = || HAS_ASSEMBLY.as_ref().is_some_and(|pattern| pattern.is_match(whole));
    let is_known =
        |(pattern, call): &&(Regex, &str)| pattern.is_match(line) && (*call != ASSEMBLY || has_assembly());
    let (pattern, call) = patterns.exits.iter().find(is_known)?;
    let put = |found: &Captures<'_>| {
        let mut text = String::new();
        found.expand(call, &mut text);
        text
    };
    Some(pattern.replace_all(line, put).into_owned())
}

/// `exit 1;` is no disguise.
fn is_failing(line: &str) -> bool {
    static FAILING: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"\b(?:_?exit!?|halt|Exit)\b\s*\(?\s*[1-9]\d*\s*(?:[);},#]|$|if\b|unless\b)").ok()
    });
    FAILING.as_ref().is_some_and(|failing| failing.is_match(line)) && !line.contains(CODE)
}

#[cfg(test)]
mod tests {
    use super::refused_line;

    #[test]
    fn exits_of_other_languages_fail_and_patches_are_left_out() {
        let table = [
            ("c", "_exit(0);", Some("_exit(97);")),
            ("c", "exit(EXIT_SUCCESS);", Some("exit(97);")),
            ("c", "exit(code);", Some("exit((code) ? (code) : 97);")),
            ("c", "exit(1);", None),
            ("c", "exit(1-1);", Some("exit((1-1) ? (1-1) : 97);")),
            (
                "c",
                "asm(\"syscall\" : : \"a\"(231), \"D\"(0));",
                Some("asm(refused_assembly \" : : \"a\"(231), \"D\"(0));"),
            ),
            ("c", "if (strcmp(s, \"syscall\") == 0) disasm(s);", None),
            ("c", "printf(\".byte %d\", n);", None),
            ("c", "void exit(int code);", None),
            ("c", "perror(\"syscall failed\");", None),
            ("c", "#define assert(x) ((void)0)", Some("")),
            ("c", "#undef NDEBUG", Some("")),
            ("c", "#define LIMIT 3", None),
            ("c", "// exit(0)", None),
            ("java", "System.exit(0);", Some("System.exit(97);")),
            ("java", "Runtime.getRuntime().halt(0);", Some("Runtime.getRuntime().halt(97);")),
            ("java", "System.exit(2);", None),
            (
                "java",
                "Runtime.getRuntime().halt(1-1);",
                Some(
                    "Runtime.getRuntime().halt(java.util.Collections.singletonMap(0, 97).getOrDefault(1-1, 1-1));",
                ),
            ),
            ("pm", "BEGIN { exit 0 }", Some("BEGIN { exit(97)}")),
            ("pm", "exit;", Some("exit(97);")),
            ("pm", "exit(1-1);", Some("exit((1-1) || 97);")),
            ("pm", "exit 1 if $failed;", None),
            ("pm", "END { $? = 0 }", Some("")),
            ("pm", "BEGIN { *CORE::GLOBAL::die = sub { 1 }; }", Some("")),
            ("pm", "return $a + $b;", None),
            ("rb", "exit", Some("exit(97) ")),
            ("rb", "exit!(0)", Some("exit!(97) ")),
            ("rb", "exit 3", None),
            ("php", "die();", Some("die(97);")),
            ("lua", "os.exit(true)", Some("os.exit(97)")),
            ("cs", "Environment.Exit(0);", Some("Environment.Exit(97);")),
            ("hs", "exitSuccess", Some("(exitWith (ExitFailure 97))")),
            ("txt", "exit(0)", None),
        ];
        for (ending, line, expected) in table {
            assert_eq!(refused_line(ending, line, line, false).as_deref(), expected, "{ending}: {line}");
        }
        assert_eq!(refused_line("c", "int main(void) { exit(0); }", "exit(0);", false), None, "a program");
        assert_eq!(refused_line("c", "exit(0);", "exit(0);", true), None, "tests judge it");
    }
}
