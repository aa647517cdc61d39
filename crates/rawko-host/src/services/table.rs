//! `Services`: the table of services by name.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::Service;

/// Cleans up after an instance that has ended, however it did. Its calls may not have stopped yet.
pub type EndHook = Arc<dyn Fn(Arc<str>) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Services by name, by scheme (`agent:` for `agent:developer`), and a fallback for all other names.
#[derive(Clone, Default)]
pub struct Services {
    named: BTreeMap<String, Arc<dyn Service>>,
    schemes: BTreeMap<String, Arc<dyn Service>>,
    executor: Option<Arc<dyn Service>>,
    end_hook: Option<EndHook>,
}

impl Services {
    /// Creates an empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a service, replacing an earlier one of the same name.
    #[must_use]
    pub fn add(mut self, name: impl Into<String>, service: Arc<dyn Service>) -> Self {
        self.named.insert(name.into(), service);
        self
    }

    /// Adds the service for every name that starts with `scheme:` and was not added itself.
    #[must_use]
    pub fn add_scheme(mut self, scheme: impl Into<String>, service: Arc<dyn Service>) -> Self {
        self.schemes.insert(scheme.into(), service);
        self
    }

    /// Sets the fallback for unknown names, for embedders with their own dispatch.
    #[must_use]
    pub fn executor(mut self, service: Arc<dyn Service>) -> Self {
        self.executor = Some(service);
        self
    }

    /// Sets the clean-up after instances.
    #[must_use]
    pub fn on_end(mut self, hook: EndHook) -> Self {
        self.end_hook = Some(hook);
        self
    }

    /// Returns the hook that runs when an instance ends.
    pub fn end_hook(&self) -> Option<&EndHook> {
        self.end_hook.as_ref()
    }

    /// Returns a service by its name, else by its scheme, else the executor.
    pub fn find(&self, name: &str) -> Option<Arc<dyn Service>> {
        let scheme = || self.schemes.get(name.split_once(':')?.0);
        self.named.get(name).or_else(scheme).or(self.executor.as_ref()).cloned()
    }

    /// Returns the added names, sorted; schemes as `agent:*`.
    pub fn names(&self) -> Vec<String> {
        let schemes = self.schemes.keys().map(|scheme| format!("{scheme}:*"));
        let mut names: Vec<String> = self.named.keys().cloned().chain(schemes).collect();
        names.sort();
        names
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services")
            .field("names", &self.names())
            .field("executor", &self.executor.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use rawko_core::Value;

    use super::*;
    use crate::services::closure::closure;
    use crate::services::testing::call;

    fn says(word: &'static str) -> Arc<dyn Service> {
        closure(move |_| async move { Ok(Value::str(word)) })
    }

    #[tokio::test]
    async fn a_whole_name_goes_before_a_scheme_before_the_executor() {
        let services = Services::new()
            .add("charge_card", says("named"))
            .add("agent:reviewer", says("that agent"))
            .add_scheme("agent", says("some agent"));
        assert_eq!(services.names(), ["agent:*", "agent:reviewer", "charge_card"]);
        let with_executor = services.clone().executor(says("executor"));
        let table = [
            ("charge_card", Some("named"), Some("named")),
            ("agent:reviewer", Some("that agent"), Some("that agent")),
            ("agent:developer", Some("some agent"), Some("some agent")),
            ("agent", None, Some("executor")),
            ("tool:agent:x", None, Some("executor")),
        ];
        for (name, without, with) in table {
            for (services, expected) in [(&services, without), (&with_executor, with)] {
                let answer = match services.find(name) {
                    Some(service) => Some(service.call(call(Value::Null)).await.unwrap()),
                    None => None,
                };
                assert_eq!(answer, expected.map(Value::str), "{name}");
            }
        }
    }
}
