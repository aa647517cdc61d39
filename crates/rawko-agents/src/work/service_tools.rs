//! Services of the settings as tools of agents (`tool: true`): programs in Python and TypeScript that are connected,
//! commands and HTTP calls. Their names are those of an MCP server `services`, so that every rule on tools applies.

use std::future::Future;
use std::pin::Pin;

use rawko_core::Value;
use rawko_host::ToolService;
use rawko_model::ToolSpec;
use rawko_process::ProjectAccess;
use rawko_tools::{Occasion, ToolFuture, ToolOutcome, ToolSource};

/// Start of the names of these tools.
const PREFIX: &str = "mcp__services__";

/// The services that agents may call.
pub(super) struct ServiceTools {
    /// By the name of the tool.
    tools: Vec<(String, ToolService)>,
}

impl ServiceTools {
    pub(super) fn new(services: Vec<ToolService>) -> ServiceTools {
        let named = |service: ToolService| (tool_name(service.name()), service);
        ServiceTools { tools: services.into_iter().map(named).collect() }
    }

    fn find(&self, name: &str) -> Option<&ToolService> {
        self.tools.iter().find(|(known, _)| known == name).map(|(_, service)| service)
    }
}

/// Providers accept letters, digits, `_` and `-` in names.
fn tool_name(service: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    format!("{PREFIX}{}", service.chars().map(plain).collect::<String>())
}

impl ToolSource for ServiceTools {
    fn specs(&self, access: ProjectAccess) -> Pin<Box<dyn Future<Output = Vec<ToolSpec>> + Send + '_>> {
        let usable = move |service: &ToolService| {
            service.refusal().is_none() && (access == ProjectAccess::Write || !service.may_write())
        };
        let tools = self.tools.iter().filter(move |(_, service)| usable(service));
        let specs = tools.map(|(name, service)| ToolSpec {
            name: name.clone(),
            description: service.description().to_owned(),
            input_schema: service.input_schema(),
        });
        let specs: Vec<ToolSpec> = specs.collect();
        Box::pin(async move { specs })
    }

    fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn is_safe_to_repeat(&self, name: &str) -> bool {
        self.find(name).is_some_and(ToolService::is_safe_to_repeat)
    }

    fn call<'a>(&'a self, name: &'a str, input: Value, access: ProjectAccess) -> ToolFuture<'a> {
        self.call_for(name, input, access, Occasion::default())
    }

    fn call_for<'a>(
        &'a self,
        name: &'a str,
        input: Value,
        access: ProjectAccess,
        occasion: Occasion<'a>,
    ) -> ToolFuture<'a> {
        Box::pin(async move {
            let Some(service) = self.find(name) else {
                return ToolOutcome::failed(format!("there is no service for `{name}`"));
            };
            if service.may_write() && access != ProjectAccess::Write {
                return ToolOutcome::failed(format!(
                    "`{}` runs a program that may change files, which this agent may not",
                    service.name()
                ));
            }
            match service.call(occasion.instance, occasion.idempotency, input).await {
                Ok(Value::Str(text)) => ToolOutcome::ok(text.to_string()),
                Ok(value) => ToolOutcome::ok(value.to_json().to_string()),
                Err(error) => ToolOutcome::failed(error.message.clone()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::tool_name;

    #[test]
    fn names_are_those_that_providers_accept() {
        assert_eq!(tool_name("charge_card"), "mcp__services__charge_card");
        assert_eq!(tool_name("shop.charge"), "mcp__services__shop_charge");
    }
}
