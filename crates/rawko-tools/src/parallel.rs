//! Which tool calls may run at the same time: those that only read. Separate from the toolbox, which runs single calls.

use rawko_core::Value;

use super::builtin::Builtin;
use super::input::text;
use super::toolbox::{Resolved, Toolbox};

/// Files that Read returns as images. They are large, so that such a call runs alone.
const IMAGES: [&str; 5] = [".png", ".jpg", ".jpeg", ".gif", ".webp"];

impl Toolbox {
    /// Returns true if a call changes nothing, neither files nor the state of the conversation.
    pub fn only_reads(&self, name: &str, input: &Value) -> bool {
        let Some((name, resolved)) = self.resolve(name) else { return false };
        let tool = match resolved {
            Resolved::Builtin(tool) => tool,
            Resolved::Source(source) => return source.only_reads(&name),
        };
        match tool {
            Builtin::Read => {
                let path = text(input, "path").to_ascii_lowercase();
                !IMAGES.iter().any(|ending| path.ends_with(ending))
            }
            Builtin::Glob
            | Builtin::Grep
            | Builtin::WebFetch
            | Builtin::WebSearch
            | Builtin::PlanRead
            | Builtin::Skill => true,
            Builtin::Bash => !self.may_change(&name, input),
            // Think adds to the thoughts of the conversation.
            Builtin::Write
            | Builtin::Edit
            | Builtin::PlanWrite
            | Builtin::PlanUpdate
            | Builtin::Think
            | Builtin::AskUser => false,
        }
    }
}
