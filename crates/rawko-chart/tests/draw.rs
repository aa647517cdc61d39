//! Drawings: goldens of the text formats (which people read), and for SVG the properties of every drawing, independent
//! of the layout.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests read and write files"
)]

#[path = "draw/drawn.rs"]
mod drawn;
#[path = "draw/random.rs"]
mod random;
#[path = "draw/support.rs"]
mod support;

use drawn::Drawn;
use expect_test::expect_file;
use proptest::prelude::*;
use rawko_chart::draw::{self, Spot, SvgOptions, Theme};
use rawko_chart::{Registry, SourceFile, load};
use rawko_core::{Chart, NodeId, TransitionId};
use support::{compile, examples, fixtures, folder, walkthroughs};

#[test]
fn text_formats_are_as_written_beside_the_charts() {
    for (name, chart) in fixtures() {
        let golden = |ending: &str, text: String| {
            expect_file![folder().join(format!("{name}.{ending}"))].assert_eq(&text)
        };
        golden("mmd", draw::mermaid(&chart));
        golden("puml", draw::plantuml(&chart));
        golden("dot", draw::dot(&chart));
    }
}

#[test]
fn every_picture_shows_everything_and_nothing_overlaps() {
    for (name, chart) in fixtures().into_iter().chain(walkthroughs()).chain(examples()) {
        check(&name, &chart);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_chart_can_be_drawn(recipe in random::recipe()) {
        let text = random::chart(&recipe);
        // Some random charts are invalid (a history node as the only child); those are skipped.
        if let Some(chart) = load(&SourceFile::new("random", text.as_str()), &Registry::default()).chart {
            check(&text, &chart);
        }
    }
}

/// Checks the properties of any drawing of the chart.
fn check(name: &str, chart: &Chart) {
    let text = draw::svg(chart, &SvgOptions::default());
    assert_eq!(text, draw::svg(chart, &SvgOptions::default()), "{name}: not the same twice");
    let drawn = Drawn::read(&text).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
    let problems = drawn.problems(chart);
    assert!(problems.is_empty(), "{name}:\n{}", problems.join("\n"));
}

#[test]
fn a_page_can_find_states_and_transitions() {
    let chart = compile("door", include_str!("draw/small.yaml"));
    let (open, unlock) = (chart.find("open").unwrap(), TransitionId(3));
    let options = SvgOptions { active: &[NodeId::ROOT, open], uncovered: &[unlock], ..SvgOptions::default() };
    let text = draw::svg(&chart, &options);
    assert!(text.contains(r#"<g id="state-open" class="state leaf active" data-node="open">"#), "{text}");
    assert!(text.contains(r#"<g class="transition uncovered" data-transition="3""#), "{text}");
    assert!(!text.contains(r#"class="state leaf active" data-node="closed""#), "{text}");
}

#[test]
fn findings_are_marked_on_what_they_are_about() {
    let text = "id: door\ninitial: shut\nstates:\n  shut:\n    on:\n      OPEN: open\n  open:\n    always:\n      - target: shut\n        guard: 'false'\n  lost: {}\n";
    let loaded = load(&SourceFile::new("door.yaml", text), &Registry::default());
    let (chart, places) = (loaded.chart.unwrap(), loaded.places.unwrap());
    let marks: Vec<(Spot, &str)> = loaded
        .findings
        .iter()
        .filter_map(|finding| Some((draw::spot(&places, finding.span)?, finding.code)))
        .collect();
    let lost = Spot::Node(chart.find("lost").unwrap());
    assert!(marks.contains(&(lost, "rawko::chart::unreachable_state")), "{marks:?}");
    assert!(
        marks.contains(&(Spot::Transition(TransitionId(1)), "rawko::chart::guard_always_false")),
        "{marks:?}"
    );
    let drawn = draw::svg(&chart, &SvgOptions { findings: &marks, ..SvgOptions::default() });
    let lost = r#"class="state leaf finding" data-node="lost" data-finding="rawko::chart::unreachable_state"#;
    assert!(drawn.contains(lost), "{drawn}");
    assert!(drawn.contains(r#"<g class="transition finding" data-transition="1""#), "{drawn}");
    assert!(!drawn.contains(r#"class="state leaf finding" data-node="shut""#), "{drawn}");
    assert!(
        drawn.contains(".finding>.box") && !draw::svg(&chart, &SvgOptions::default()).contains("finding")
    );
}

#[test]
fn themes_differ_only_in_colours() {
    let chart = compile("door", include_str!("draw/small.yaml"));
    let draw = |theme| draw::svg(&chart, &SvgOptions { theme, ..SvgOptions::default() });
    let (auto, light, dark) = (draw(Theme::Auto), draw(Theme::Light), draw(Theme::Dark));
    let body = |text: &str| text.split_once("</style>").unwrap().1.to_owned();
    assert_eq!(body(&auto), body(&light));
    assert_eq!(body(&light), body(&dark));
    assert!(auto.contains("prefers-color-scheme:dark") && !light.contains("prefers-color-scheme"));
    assert_ne!(light, dark);
}

#[test]
fn positions_of_the_author_are_kept() {
    let chart = compile("light", include_str!("draw/positions.yaml"));
    let drawn = Drawn::read(&draw::svg(&chart, &SvgOptions::default())).unwrap();
    let at = |path: &str| drawn.states.iter().find(|s| s.path == path).map(|s| (s.rect.x, s.rect.y)).unwrap();
    let red = at("red");
    assert_eq!((at("green").0 - red.0, at("green").1 - red.1), (320.0, 0.0));
    assert_eq!((at("yellow").0 - red.0, at("yellow").1 - red.1), (160.0, 180.0));
}

const REVIEW: &str = "\
statechart:
  id: review
  initial: work
  states:
    work:
      initial: write
      states:
        write: {on: {DONE: {target: read, guard: 1 < 2}}}
        read: {on: {REJECTED: write}}
        rest: {on: {BACK: write}}
      on: {APPROVED: merged, ABANDONED: dropped}
    merged: {type: final}
    dropped: {type: final}
";

/// Of a chart that was walked through by DONE and APPROVED.
#[test]
fn only_the_path_of_an_instance_is_drawn() {
    let chart = load(&SourceFile::new("review.yaml", REVIEW), &Registry::default()).chart.unwrap();
    let whole = draw::svg(&chart, &SvgOptions::default());
    let number = |event: &str| {
        let ids = chart.transition_ids();
        let of = |id: &TransitionId| {
            draw::svg_of_path(&chart, &SvgOptions::default(), &[*id]).contains(&format!(">{event}<"))
        };
        ids.into_iter().find(of).unwrap()
    };
    let path = draw::svg_of_path(&chart, &SvgOptions::default(), &[number("DONE"), number("APPROVED")]);
    for (word, in_whole, in_path) in [
        ("data-node=\"work.write\"", true, true),
        ("data-node=\"work.read\"", true, true),
        ("data-node=\"merged\"", true, true),
        ("data-node=\"work.rest\"", true, false),
        ("data-node=\"dropped\"", true, false),
        ("REJECTED", true, false),
        ("APPROVED", true, true),
        ("1 &lt; 2", true, false),
    ] {
        assert_eq!((whole.contains(word), path.contains(word)), (in_whole, in_path), "{word}");
    }
}
