//! Limits that no chart may exceed at run time. Exceeding one is an error that the chart can handle, never the end of
//! the process.

/// Limits of one instance and its descendants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstanceLimits {
    /// Generations of children below a root instance.
    pub generations_max: u32,
    /// Children that one instance may start within one second.
    pub children_per_second_max: u32,
    /// Steps that an instance may cause itself without elapsed time: timers of 0 ms, events to itself, calls that fail
    /// immediately.
    pub zero_delay_steps_max: u32,
    /// Calls that may fail within a second each, one after the other, with no success, no delay and no input from outside
    /// in between: a chart that calls a broken service again at once.
    pub failed_calls_max: u32,
}

impl Default for InstanceLimits {
    fn default() -> Self {
        Self {
            generations_max: 32,
            children_per_second_max: 1_000,
            zero_delay_steps_max: 10_000,
            failed_calls_max: 1_000,
        }
    }
}
