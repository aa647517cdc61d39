//! Names of tools as rules write them: which ones mean a built-in tool. For checks of agent files, which have no toolbox.

use super::alias;
use super::builtin::Builtin;

/// Returns true for the name or an alias of a built-in tool.
pub fn is_builtin(name: &str) -> bool {
    alias::resolved(name).is_some()
}

/// The built-in tools by their own names.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    Builtin::ALL.into_iter().map(Builtin::name)
}
