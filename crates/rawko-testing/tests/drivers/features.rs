//! The features that a scenario shows, by the words of its journal: a few scenarios that have all of them stand for the
//! others where each one costs a second.

use std::collections::BTreeSet;

/// Words of journals that stand for a feature: effects, events, kinds of records and of open effects, results.
const WORDS: [&str; 41] = [
    r#""effect":"set_timer""#,
    r#""effect":"cancel_timer""#,
    r#""effect":"invoke""#,
    r#""effect":"stop_invoke""#,
    r#""effect":"send""#,
    r#""to":"itself""#,
    r#""to":"parent""#,
    r#""to":"invocation""#,
    r#""to":"channel""#,
    r#""to":"agent""#,
    r#""to":"other""#,
    r#""effect":"emit""#,
    r#""effect":"call""#,
    r#""effect":"log""#,
    r#""effect":"fault""#,
    r#""effect":"complete""#,
    r#""effect":"stall""#,
    r#""kind":"named""#,
    r#""kind":"timer_fired""#,
    r#""kind":"invoke_done""#,
    r#""kind":"invoke_failed""#,
    r#""src":"statechart:"#,
    r#""src":"agent:"#,
    r#""src":"model:"#,
    r#""src":"tool:"#,
    r#""src":"human""#,
    r#""attempt":2"#,
    r#"[1]","src""#,
    r#"[2]","src""#,
    r#""category":"limit""#,
    r#""category":"expired""#,
    r#""category":"timeout""#,
    r#""budget""#,
    r#""loop""#,
    " Ignored ",
    " Failed ",
    " open service ",
    " open agent ",
    " open person ",
    " open child ",
    " parent Some(",
];

/// Chooses journals that show every feature that any of them shows, the first ones that add a feature.
pub(crate) fn choose<'j>(journals: impl IntoIterator<Item = &'j str>) -> Vec<bool> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut is_new = |journal: &str| {
        let shown: Vec<&str> = WORDS.into_iter().filter(|word| journal.contains(word)).collect();
        let before = seen.len();
        seen.extend(shown);
        seen.len() > before
    };
    journals.into_iter().map(&mut is_new).collect()
}
