//! `docs/performance.md`: written prose, and between two markers the table of the last complete run.

use std::path::Path;

use anyhow::{Context, Result};

use super::options::Options;
use super::table::{self, Outcome};

const BEGIN: &str = "<!-- bench: begin -->";
const END: &str = "<!-- bench: end -->";

pub(crate) fn refresh(
    path: &Path,
    outcomes: &[Outcome],
    facts: &[(&'static str, String)],
    options: &Options,
) -> Result<()> {
    let page = std::fs::read_to_string(path).context("docs/performance.md")?;
    let page = replaced(&page, &section(outcomes, facts, options))
        .context("docs/performance.md lost its markers")?;
    std::fs::write(path, page)?;
    Ok(())
}

fn section(outcomes: &[Outcome], facts: &[(&'static str, String)], options: &Options) -> String {
    let facts: Vec<String> = facts.iter().map(|(name, fact)| format!("{name} {fact}")).collect();
    let (met, all) = outcomes
        .iter()
        .flat_map(|outcome| &outcome.verdicts)
        .fold((0, 0), |(met, all), verdict| (met + usize::from(verdict.met), all + 1));
    format!(
        "Made by `{}`: medians of {} interleaved repetitions; {met} of {all} targets met.\n\nMachine: {}.\n\n{}",
        options.command,
        options.repetitions,
        facts.join(" · "),
        table::render(outcomes, options)
    )
}

fn replaced(page: &str, section: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{section}{END}{after}"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_what_is_between_the_markers_changes() {
        let page = format!("# Title\n{}\nold\n{}\nprose\n", super::BEGIN, super::END);
        let fresh = super::replaced(&page, "new\n");
        assert_eq!(fresh, Some(format!("# Title\n{}\nnew\n{}\nprose\n", super::BEGIN, super::END)));
        assert_eq!(super::replaced("# No markers\n", "new\n"), None);
    }
}
