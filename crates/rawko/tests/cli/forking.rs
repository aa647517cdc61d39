//! Going on from a past step in a new instance.

use expect_test::{Expect, expect};

use crate::running::FILES;
use crate::support::{directory, played};

fn check(commands: &[&str], expect: Expect) {
    let dir = directory(&FILES);
    played(dir.path(), &["run order.yaml --id o-1 --input amount=250", "deny o-1"]);
    expect.assert_eq(&played(dir.path(), commands));
}

#[test]
fn a_fork_has_other_values_and_leaves_the_first_one_alone() {
    check(
        &["fork o-1 --at 0 --set amount=context.amount-200 --set by='bo' --id o-2", "approve o-2", "show o-1", "show o-2"],
        expect![[""]],
    );
}

#[test]
fn a_fork_can_be_followed() {
    check(&["fork o-1 --at 0 --id o-2 --run --patience 0s --output-format json"], expect![[""]]);
}

#[test]
fn what_cannot_be_forked() {
    check(
        &["fork o-1 --id o-2", "fork o-1 --at 9", "fork o-1 --at 0 --set amuont=1", "fork o-1 --at 0 --set amount", "fork o-1 --at 0 --set amount=nope"],
        expect![[""]],
    );
}
