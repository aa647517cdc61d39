//! The built-in tools: their names, their descriptions for models and their input schemas.

use rawko_core::Value;
use serde_json::json;

use rawko_model::ToolSpec;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builtin {
    Read,
    Write,
    Edit,
    Glob,
    Grep,
    Bash,
    WebFetch,
    PlanWrite,
    PlanRead,
    PlanUpdate,
    WebSearch,
    Think,
    Skill,
    AskUser,
}

impl Builtin {
    /// In the order in which models see them.
    pub(super) const ALL: [Builtin; 14] = [
        Builtin::Read,
        Builtin::Write,
        Builtin::Edit,
        Builtin::Glob,
        Builtin::Grep,
        Builtin::Bash,
        Builtin::WebFetch,
        Builtin::WebSearch,
        Builtin::PlanWrite,
        Builtin::PlanRead,
        Builtin::PlanUpdate,
        Builtin::Think,
        Builtin::Skill,
        Builtin::AskUser,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Builtin::Read => "Read",
            Builtin::Write => "Write",
            Builtin::Edit => "Edit",
            Builtin::Glob => "Glob",
            Builtin::Grep => "Grep",
            Builtin::Bash => "Bash",
            Builtin::WebFetch => "WebFetch",
            Builtin::PlanWrite => "PlanWrite",
            Builtin::PlanRead => "PlanRead",
            Builtin::PlanUpdate => "PlanUpdate",
            Builtin::WebSearch => "WebSearch",
            Builtin::Think => "Think",
            Builtin::Skill => "Skill",
            Builtin::AskUser => "AskUser",
        }
    }

    /// Looks up a tool by its own name only.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Returns true if a call with an unknown outcome may be repeated. Writing the same whole file again gives the same
    /// file, while a command may do anything.
    pub(super) fn is_safe_to_repeat(self) -> bool {
        match self {
            // A repeated edit is recognised as already applied.
            Builtin::Read
            | Builtin::Write
            | Builtin::Edit
            | Builtin::Glob
            | Builtin::Grep
            | Builtin::WebFetch => true,
            Builtin::PlanWrite | Builtin::PlanRead | Builtin::PlanUpdate => true,
            Builtin::WebSearch | Builtin::Think | Builtin::Skill | Builtin::AskUser => true,
            Builtin::Bash => false,
        }
    }

    pub(super) fn spec(self) -> ToolSpec {
        ToolSpec {
            name: self.name().to_owned(),
            description: self.description().to_owned(),
            input_schema: Value::from_json(self.schema()),
        }
    }

    fn description(self) -> &'static str {
        match self {
            Builtin::Read => {
                "Reads a file of the project. Returns text with line numbers, up to 2000 lines from `offset`, or an image. \
                 Read a file before you edit it."
            }
            Builtin::Write => {
                "Writes a whole file of the project and replaces its content. Creates missing directories. To change a part \
                 of a file, use Edit."
            }
            Builtin::Edit => {
                "Replaces text in a file of the project. `old_string` must match the file exactly, including \
                 whitespace and without the line numbers of Read, and must be unique unless `replace_all` is true."
            }
            Builtin::Glob => {
                "Lists files of the project whose path matches a pattern such as `**/*.rs` or `src/*.ts`, sorted. Omits \
                 files that git ignores."
            }
            Builtin::Grep => {
                "Searches the contents of the project's files with a regular expression, line by line. Omits \
                 binary files and files that git ignores."
            }
            Builtin::Bash => {
                "Runs a command with bash in the root of the project and returns its output and exit code. Standard input is \
                 empty. Background processes are stopped when the command ends. Put temporary files into $TMPDIR."
            }
            Builtin::WebFetch => {
                "Fetches a URL over http or https and returns its text. Converts HTML to plain text."
            }
            Builtin::PlanWrite => {
                "Replaces the plan: the goal and its steps. Each step has a unique id; `depends_on` names steps that must be \
                 done before it, `acceptance` lists the criteria that show it is done."
            }
            Builtin::PlanRead => "Returns the current plan.",
            Builtin::PlanUpdate => "Updates one step of the plan: its status, notes, title or details.",
            Builtin::WebSearch => {
                "Searches the web and returns titles, URLs and excerpts. Read a result with WebFetch. With \
                 `source: docs` only the documentation sites of the project are searched."
            }
            Builtin::Think => {
                "Notes one thought about a hard problem and returns the outline of all thoughts so far. Think in small \
                 steps. Correct an earlier thought with `revises`, and try an alternative with `branch`. It changes \
                 nothing."
            }
            Builtin::Skill => {
                "Returns the instructions of a skill. Call it before work that the description of the skill is about."
            }
            Builtin::AskUser => {
                "Asks the person a question and returns the answer. Use it only when the task can be understood in \
                 different ways and a wrong choice would waste work. Ask one short question; give `options` if there \
                 are a few possible answers."
            }
        }
    }

    pub(super) fn schema(self) -> serde_json::Value {
        match self {
            Builtin::Read => object(
                &["path"],
                json!({
                    "path": text("the file, relative to the project"),
                    "offset": whole("number of the first line, from 1"),
                    "limit": whole("maximum number of lines"),
                }),
            ),
            Builtin::Write => object(
                &["path", "content"],
                json!({
                    "path": text("the file, relative to the project"),
                    "content": text("the new content of the file"),
                }),
            ),
            Builtin::Edit => object(
                &["path", "old_string", "new_string"],
                json!({
                    "path": text("the file, relative to the project"),
                    "old_string": text("the text to replace"),
                    "new_string": text("the text to put in its place"),
                    "replace_all": flag("replace every occurrence"),
                }),
            ),
            Builtin::Glob => object(
                &["pattern"],
                json!({
                    "pattern": text("a pattern on paths; `**` crosses directories"),
                    "path": text("directory to search [default: root of the project]"),
                }),
            ),
            Builtin::Grep => object(
                &["pattern"],
                json!({
                    "pattern": text("a regular expression"),
                    "path": text("directory or file to search [default: root of the project]"),
                    "glob": text("only files whose path matches, such as `*.rs`"),
                    "ignore_case": flag("ignore upper and lower case"),
                    "context": whole("lines to show before and after each match"),
                    "output": {
                        "type": "string",
                        "enum": ["content", "files", "count"],
                        "description": "matching lines (default), files with matches, or number of matches per file",
                    },
                    "limit": whole("maximum number of lines or files"),
                }),
            ),
            Builtin::Bash => object(
                &["command"],
                json!({
                    "command": text("the command line"),
                    "timeout_ms": whole("stop the command after this many milliseconds"),
                    "description": text("purpose of the command, in a few words"),
                }),
            ),
            Builtin::WebFetch => object(&["url"], json!({ "url": text("the URL, http or https") })),
            Builtin::PlanWrite => object(
                &["goal", "steps"],
                json!({
                    "goal": text("the goal of the plan"),
                    "steps": { "type": "array", "minItems": 1, "items": step() },
                }),
            ),
            Builtin::PlanRead => object(&[], json!({})),
            Builtin::PlanUpdate => object(
                &["id"],
                json!({
                    "id": text("id of the step"),
                    "status": status(),
                    "notes": text("results and findings"),
                    "title": text("the step in a few words"),
                    "details": text("the step in full"),
                }),
            ),
            Builtin::WebSearch => object(
                &["query"],
                json!({
                    "query": text("search terms"),
                    "count": whole("maximum number of results"),
                    "source": {
                        "type": "string",
                        "enum": ["web", "docs"],
                        "description": "the whole web (default), or documentation only",
                    },
                }),
            ),
            Builtin::Think => object(
                &["thought"],
                json!({
                    "thought": text("one step of the reasoning"),
                    "revises": whole("the number of an earlier thought that this one replaces"),
                    "branch_from": whole("the number of the thought that an alternative starts from"),
                    "branch": text("a short name of the alternative"),
                    "done": flag("true if no further thought is needed"),
                }),
            ),
            Builtin::Skill => object(&["name"], json!({ "name": text("the skill, by its name") })),
            Builtin::AskUser => object(
                &["question"],
                json!({
                    "question": text("the question, in one or two sentences"),
                    "options": {
                        "type": "array",
                        "maxItems": 9,
                        "items": { "type": "string" },
                        "description": "possible answers; the person may also write another one",
                    },
                }),
            ),
        }
    }
}

fn object(required: &[&str], properties: serde_json::Value) -> serde_json::Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn text(description: &str) -> serde_json::Value {
    json!({ "type": "string", "description": description })
}

fn whole(description: &str) -> serde_json::Value {
    json!({ "type": "integer", "minimum": 1, "description": description })
}

fn flag(description: &str) -> serde_json::Value {
    json!({ "type": "boolean", "description": description })
}

fn status() -> serde_json::Value {
    json!({ "type": "string", "enum": ["pending", "in_progress", "done", "failed", "skipped"] })
}

fn step() -> serde_json::Value {
    let texts = |description: &str| json!({ "type": "array", "items": { "type": "string" }, "description": description });
    object(
        &["id", "title"],
        json!({
            "id": text("short and unique, such as `parse`"),
            "title": text("the step in a few words"),
            "details": text("the step in full"),
            "depends_on": texts("ids of steps that must be done first"),
            "acceptance": texts("criteria that show the step is done"),
            "status": status(),
            "notes": text("results and findings"),
        }),
    )
}
