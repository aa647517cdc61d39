//! Charts that invoke each other without end, as `rawko check` reports them.

use crate::support::{directory, transcript};
use expect_test::expect;

const PING: &str = "statechart: {id: ping, version: 1.0.0, initial: a, states: {a: {invoke: {id: other, src: 'statechart:pong', onDone: b, onError: b}}, b: {type: final}}}\n";
const PONG: &str = "statechart: {id: pong, version: 1.0.0, initial: a, states: {a: {invoke: {id: other, src: 'statechart:ping', onDone: b, onError: b}}, b: {type: final}}}\n";

/// Found in a project, in one of its files, and in files given together.
#[test]
fn charts_that_invoke_each_other_without_end_are_found() {
    let dir = directory(&[("ping.yaml", PING), ("pong.yaml", PONG), (".rawko/config.yaml", "{}\n")]);
    expect![[r#"
        $ rawko check .
        error[rawko::chart::invokes_itself]: the chart always invokes itself: `ping` → `pong` → `ping`
         --> ping.yaml:1:90
          |
        1 | ... states: {a: {invoke: {id: other, src: 'statechart:pong', onDone: b, onError: b}}, b: {type: final}}}
          |                                           ^^^^^^^^^^^^^^^^^ every instance starts another one
          |
          = help: put a guard or an event before the invoke so that the recursion can end

        error[rawko::chart::invokes_itself]: the chart always invokes itself: `pong` → `ping` → `pong`
         --> pong.yaml:1:90
          |
        1 | ... states: {a: {invoke: {id: other, src: 'statechart:ping', onDone: b, onError: b}}, b: {type: final}}}
          |                                           ^^^^^^^^^^^^^^^^^ every instance starts another one
          |
          = help: put a guard or an event before the invoke so that the recursion can end

        2 charts, 2 errors
        --- exit code 52
    "#]].assert_eq(&transcript(dir.path(), &["check", "."], ""));
    let alone = transcript(dir.path(), &["check", "ping.yaml"], "");
    assert!(alone.contains("`ping` → `pong` → `ping`"), "{alone}");
    let dir = directory(&[("ping.yaml", PING), ("pong.yaml", PONG)]);
    for args in [&["check", "ping.yaml", "pong.yaml"][..], &["check", "ping.yaml", "--with", "pong.yaml"]] {
        let together = transcript(dir.path(), args, "");
        assert!(together.contains("`ping` → `pong` → `ping`"), "{together}");
    }
}
