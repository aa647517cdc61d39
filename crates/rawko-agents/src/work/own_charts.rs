//! rawko's own charts that pass on approvals of people. An approval counts only if it comes from one of them, unchanged: a
//! project may publish another chart under the same id.

use std::sync::OnceLock;

use rawko_core::Value;
use rawko_host::ServiceCall;

use super::AgentServices;
use super::types::CallPolicy;

/// The chart on which programs work where rules may ask.
pub(super) const PROGRAM_CHART: &str = "program_agent";

impl AgentServices {
    /// Returns true if a call comes from rawko's own chart `agent`, the only one that is known to pass on approvals of
    /// people and nothing else.
    pub(super) fn is_own_chart(&self, call: &ServiceCall) -> bool {
        let own = self.own_chart.get_or_init(|| hash_of("agent"));
        is_chart(*own, CallPolicy::of(call).chart.as_deref())
    }
}

/// Returns true if a policy is that of rawko's own chart `program_agent`, the only one that passes on approvals of a program's
/// calls.
pub(super) fn is_own_program_chart(policy: &Value) -> bool {
    static OWN: OnceLock<Option<[u8; 16]>> = OnceLock::new();
    is_chart(*OWN.get_or_init(|| hash_of(PROGRAM_CHART)), CallPolicy::read(policy).chart.as_deref())
}

fn hash_of(id: &str) -> Option<[u8; 16]> {
    super::edition(id).map(|edition| edition.chart.hash())
}

fn is_chart(own: Option<[u8; 16]>, chart: Option<&str>) -> bool {
    let hex = |hash: [u8; 16]| hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    own.is_some_and(|own| chart == Some(hex(own).as_str()))
}
