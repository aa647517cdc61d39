//! The limits that make an untrusted chart safe to evaluate, in one place so that the guide can quote them.

/// Bytes of an expression's text.
pub const SOURCE_BYTES_MAX: usize = 16 * 1024;
/// Nested brackets, calls, conditionals and unary operators.
pub const NESTING_MAX: usize = 64;
/// Height of the tree; above [`NESTING_MAX`] because a chain such as `a + b + c + …` is not nested but high.
pub const HEIGHT_MAX: u16 = 256;
/// Units of work of one evaluation: a node, an element read, or [`BYTES_PER_UNIT`] of text.
pub const FUEL_MAX: u64 = 250_000;
/// Units of work for constant folding at load. Small, because the results are stored with the chart.
pub const FOLDING_FUEL_MAX: u64 = 1_000;
/// Bytes of text processed for one unit.
pub const BYTES_PER_UNIT: usize = 32;
/// Bytes of a string that an expression creates.
pub const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// Elements of a list or entries of a map that an expression creates.
pub const ELEMENTS_MAX: usize = 100_000;
/// Bytes of a list or map that an expression creates, including its contents, with shared parts counted each time they
/// appear: `[x, x]` once a step would otherwise reach any size without using memory, until it is serialised.
pub const VALUE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Nesting of lists and maps. Below the limit of JSON readers, so that a context can be read back.
pub const VALUE_DEPTH_MAX: usize = 100;
