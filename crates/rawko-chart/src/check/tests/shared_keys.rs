//! Keys that two regions assign.

use super::check;

#[test]
fn two_regions_that_assign_one_key_are_named_once() {
    check(
        "
        p (parallel): STOP -> off
          r1
            a: set x; set y; N -> b
            b: set x
          r2
            c: set x
          r3
            d: set x
        off: set x; ON -> p
        ",
        &["regions_assign_same_key: regions `r1` and `r2` both assign `context.x`"],
    );
}
