//! Services and endpoints: checks that the gate allows them and that their programs exist.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rawko_core::Value;
use rawko_host::{GateDecision, GateQuestion, Services};

use super::{CheckState, DoctorResult};
use crate::hosting::ProjectContext;

pub(super) fn look(place: &ProjectContext) -> Vec<DoctorResult> {
    let settings = &place.settings;
    let services = settings.services(&place.root);
    let endpoints = settings.endpoints(&place.root);
    let of = |about: &'static str, names: Vec<&str>, table: &Services| {
        names.into_iter().map(|name| look_at(place, about, name, table)).collect::<Vec<_>>()
    };
    let mut checks = of("service", settings.service_names(), &services);
    checks.extend(of("endpoint", settings.endpoint_names(), &endpoints));
    checks
}

fn look_at(place: &ProjectContext, about: &'static str, name: &str, table: &Services) -> DoctorResult {
    let Some(service) = table.find(name) else {
        return DoctorResult::new(about, CheckState::Problem, format!("{name}: invalid settings"));
    };
    let question = GateQuestion {
        name,
        instance: "doctor",
        chart: "doctor",
        calls_so_far: 0,
        agent: None,
        policy: &Value::Null,
        now_ms: crate::times::now_ms(),
    };
    if let GateDecision::Refused { rule, .. } = place.settings.gate().decide(&question) {
        return DoctorResult::new(about, CheckState::Warn, format!("{name}: every call is refused"))
            .help(rule);
    }
    let provenance = service.provenance();
    let program = provenance.get("command").as_list().and_then(|words| words.first()).and_then(Value::as_str);
    match program {
        Some(program) if !is_there(program, &place.root) => {
            let text = format!("{name}: program `{program}` not found");
            let help = if program.contains('/') {
                "paths are relative to the project root"
            } else {
                "install it, or give its path"
            };
            DoctorResult::new(about, CheckState::Problem, text).help(help)
        }
        Some(program) => {
            DoctorResult::new(about, CheckState::Ok, format!("{name}: allowed, runs `{program}`"))
        }
        None if !provenance.get("remote").is_null() => {
            let text = format!("{name}: allowed, provided by a program that connects to `rawko serve`");
            DoctorResult::new(about, CheckState::Ok, text)
        }
        None => {
            let url = provenance.get("http").as_str().unwrap_or_default();
            DoctorResult::new(about, CheckState::Ok, format!("{name}: allowed, calls {url}"))
        }
    }
}

fn is_there(program: &str, root: &Path) -> bool {
    if program.contains('/') {
        return is_program(&root.join(program));
    }
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| is_program(&folder.join(program)))
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
