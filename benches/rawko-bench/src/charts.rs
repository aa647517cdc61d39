//! The charts as text, embedded so that a measured process reads no file, and the event sequence of W5.

pub const W1: &str = include_str!("../charts/w1.json");
pub const W2: &str = include_str!("../charts/w2.json");
pub const W3: &str = include_str!("../charts/w3.json");
pub const W4: &str = include_str!("../charts/w4.json");
pub const W5: &str = include_str!("../charts/w5.json");
pub const W9: &str = include_str!("../charts/w9.json");
pub const W10: &str = include_str!("../charts/w10.json");

/// The two events of W5.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Move {
    Next,
    Jump,
}

/// Returns the events that every peer sends in W5: the top bit of a linear congruential generator.
pub fn w5_moves(n: u64) -> impl Iterator<Item = Move> {
    let mut x: u32 = 42;
    (0..n).map(move |_| {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if x >> 31 == 1 { Move::Jump } else { Move::Next }
    })
}

/// Returns the final state after those events, computed without a chart.
pub fn w5_end(n: u64) -> String {
    let end = w5_moves(n).fold(0, |state, step| match step {
        Move::Next => (state + 1) % 1000,
        Move::Jump => (state * 7 + 3) % 1000,
    });
    format!("s{end}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn w5_ends_where_the_workload_says() {
        assert_eq!(super::w5_end(10_000), "s438");
        assert_eq!(super::w5_end(1_000_000), "s70");
    }
}
