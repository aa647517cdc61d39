//! Workers from before the index. Streams need one that has it, and steps of the others are added to it by scans.

use rawko_store::StoreError;

use super::RestateStore;
use crate::client::Deployment;
use crate::layout::INSTANCE;
use crate::layout::index::INDEX;

/// What the registered deployments mean for the index.
#[derive(Debug, PartialEq, Eq)]
struct OlderWorkers {
    /// Ids of the deployments without an index.
    ids: Vec<String>,
    /// They get all new invocations.
    are_newest: bool,
    /// There are no others.
    are_all: bool,
}

fn has(deployment: &Deployment, name: &str) -> bool {
    deployment.services.iter().any(|service| service.name == name)
}

/// Returns the deployment with the highest revision of the instances' service.
fn newest(deployments: &[Deployment]) -> Option<&Deployment> {
    let revision = |deployment: &Deployment| {
        let instance = deployment.services.iter().find(|service| service.name == INSTANCE);
        instance.map(|service| service.revision)
    };
    deployments.iter().max_by_key(|deployment| revision(deployment))
}

fn older(deployments: &[Deployment]) -> OlderWorkers {
    let is_older = |deployment: &&Deployment| has(deployment, INSTANCE) && !has(deployment, INDEX);
    let ids: Vec<String> = deployments.iter().filter(is_older).map(|older| older.id.clone()).collect();
    let are_newest = newest(deployments).filter(is_older).is_some();
    let are_all = !ids.is_empty() && !deployments.iter().any(|deployment| has(deployment, INDEX));
    OlderWorkers { ids, are_newest, are_all }
}

impl RestateStore {
    /// Returns an error if there are workers, but none with an index. Without any, there are no instances either.
    pub(super) fn refuse_older_workers(&self) -> Result<(), StoreError> {
        if !older(&self.state.deployments()?).are_all {
            return Ok(());
        }
        Err(StoreError::Refused(format!(
            "the registered workers are older than this rawko: they have no `{INDEX}`, which event streams need; \
             start workers of this version first"
        )))
    }

    /// Returns true if older workers get new invocations, or have open ones.
    #[cfg(feature = "worker")]
    pub(crate) fn has_older_workers(&self) -> Result<bool, StoreError> {
        let OlderWorkers { ids, are_newest, .. } = older(&self.state.deployments()?);
        Ok(are_newest || (!ids.is_empty() && self.state.has_open_at(&ids)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ServiceRevision;

    fn deployment(id: &str, services: &[(&str, u32)]) -> Deployment {
        let services = services
            .iter()
            .map(|(name, revision)| ServiceRevision { name: (*name).to_owned(), revision: *revision });
        Deployment {
            id: id.to_owned(),
            uri: None,
            created_at: String::new(),
            metadata: std::collections::BTreeMap::new(),
            services: services.collect(),
        }
    }

    #[test]
    fn workers_without_an_index_are_older() {
        let old = deployment("dp_old", &[(INSTANCE, 1)]);
        let new = deployment("dp_new", &[(INSTANCE, 2), (INDEX, 1)]);
        let back = deployment("dp_back", &[(INSTANCE, 3)]);
        let foreign = deployment("dp_foreign", &[("Greeter", 9)]);
        let found = |deployments: &[&Deployment]| {
            let deployments: Vec<Deployment> = deployments.iter().map(|&one| one.clone()).collect();
            let OlderWorkers { ids, are_newest, are_all } = older(&deployments);
            (ids.join(" "), are_newest, are_all)
        };
        assert_eq!(found(&[]), (String::new(), false, false));
        assert_eq!(found(&[&foreign]), (String::new(), false, false));
        assert_eq!(found(&[&new, &foreign]), (String::new(), false, false));
        assert_eq!(found(&[&old, &foreign]), ("dp_old".to_owned(), true, true));
        assert_eq!(found(&[&old, &new]), ("dp_old".to_owned(), false, false));
        assert_eq!(found(&[&old, &new, &back]), ("dp_old dp_back".to_owned(), true, false));
    }
}
