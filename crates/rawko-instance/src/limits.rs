//! Limits that no chart may exceed at run time. Exceeding one is an error that the chart can handle, never the end of
//! the process.

/// Limits of one instance and its descendants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstanceLimits {
    /// Generations of children below a root instance.
    pub generations_max: u32,
    /// Instances of one family, a root and its descendants, that may exist at once; ended ones do not count.
    pub family_instances_max: u32,
    /// Instances that one family may start within one second.
    pub family_per_second_max: u32,
    /// Instances that one family may start within one hour. Bounds a recursion whose instances end as fast as others
    /// begin.
    pub family_per_hour_max: u32,
    /// Children that one instance may start within one second.
    pub children_per_second_max: u32,
    /// Steps that an instance may cause itself without elapsed time: timers of 0 ms, events to itself, calls that fail
    /// immediately.
    pub zero_delay_steps_max: u32,
    /// Calls that may fail within a second each, one after the other, with no success, no delay and no input from outside
    /// in between: a chart that calls a broken service again at once.
    pub failed_calls_max: u32,
    /// Messages between instances that may follow from one another, with no delay, no finished call and no input from
    /// outside in between: instances that answer each other without end.
    pub message_hops_max: u32,
    /// Messages that may follow from one cause if every instance sends as many as those before it.
    pub messages_per_cause_max: u32,
}

impl Default for InstanceLimits {
    fn default() -> Self {
        Self {
            generations_max: 32,
            family_instances_max: 100_000,
            family_per_second_max: 10_000,
            family_per_hour_max: 200_000,
            children_per_second_max: 1_000,
            zero_delay_steps_max: 10_000,
            failed_calls_max: 1_000,
            message_hops_max: 10_000,
            messages_per_cause_max: 100_000,
        }
    }
}
