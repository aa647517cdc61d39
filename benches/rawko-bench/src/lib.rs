//! Code shared by the benchmark programs: charts, stub agents, and measuring. The programs are separate so that the
//! limits are compiled the same way, independent of rawko's code.

pub mod charts;
pub mod report;
pub mod stubs;
