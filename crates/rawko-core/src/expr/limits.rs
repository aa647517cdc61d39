//! The bounds that make a chart from a stranger safe to evaluate, in one place so that the guide can quote them.

/// Bytes of an expression's text.
pub const SOURCE_BYTES_MAX: usize = 16 * 1024;
/// Brackets, calls, conditionals and unary operators inside each other.
pub const NESTING_MAX: usize = 64;
/// Height of the tree; above [`NESTING_MAX`] because a chain such as `a + b + c + …` nests nothing but is high.
pub const HEIGHT_MAX: u16 = 256;
/// Units of work of one evaluation: a node, an element looked at, or [`BYTES_PER_UNIT`] of text.
pub const FUEL_MAX: u64 = 250_000;
/// Units of work spent at load on parts that read nothing. Small, because what they give is kept with the chart.
pub const FOLDING_FUEL_MAX: u64 = 1_000;
/// Bytes of text that are worked through for one unit.
pub const BYTES_PER_UNIT: usize = 32;
/// Bytes of a string that an expression makes.
pub const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// Elements of a list or entries of a map that an expression makes.
pub const ELEMENTS_MAX: usize = 100_000;
/// Bytes of a list or map that an expression makes, with everything inside and shared parts counted each time they
/// appear: `[x, x]` once a step would otherwise reach any size without using memory, until somebody writes it out.
pub const VALUE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Lists and maps inside each other. Below the depth that readers of JSON allow, so that a context can be read back.
pub const VALUE_DEPTH_MAX: usize = 100;
