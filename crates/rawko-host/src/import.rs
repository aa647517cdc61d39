//! Takes over an instance that was exported from another store, with its descendants. Separate from starting and
//! forking: nothing is stepped, the instance continues where its export ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rawko_store::{HighestNumbers, InstanceFamily};

use crate::error::HostError;
use crate::host::Host;
use crate::library::Edition;

impl Host {
    /// Returns an instance with its descendants and everything that is stored about them.
    pub fn export(&self, id: &str) -> Result<InstanceFamily, HostError> {
        self.inner.store.family(id)?.ok_or_else(|| HostError::NoInstance(id.to_owned()))
    }

    /// Adds an exported instance with its descendants, all or nothing, and continues it. Returns its id. Fails if an id is
    /// in use, or if the text of a chart does not match its hash.
    pub fn import(&self, family: InstanceFamily) -> Result<Arc<str>, HostError> {
        let inner = &self.inner;
        for id in family.ids() {
            if inner.reader.key(&id)?.is_some() {
                return Err(HostError::Exists(id.to_string()));
            }
        }
        let ids = family.ids();
        let root = ids.first().cloned().ok_or_else(|| HostError::NoInstance("(empty export)".to_owned()))?;
        let is_whole = |hash| family.charts.iter().any(|chart| chart.hash == hash);
        if !family.members.iter().all(|member| is_whole(member.new.chart)) {
            return Err(HostError::Refused(format!("the export of `{root}` lacks a chart")));
        }
        for chart in &family.charts {
            if Edition::read(&chart.name, &chart.text)?.chart.hash() != chart.hash {
                let message = format!("the text of chart `{}` does not match its hash", chart.id);
                return Err(HostError::Refused(message));
            }
            inner.store.put_chart(chart)?;
        }
        let marks = inner.reserve(&family);
        inner.store.commit(&family.commits(marks))?;
        // A host that drives everything continues it now, another one by adopting it.
        match inner.scope.is_all() {
            true => inner.recover_tree(&root)?,
            false => drop(inner.adopt(&root)?),
        }
        inner.changed();
        Ok(root)
    }
}

impl crate::host::HostInner {
    /// Reserves keys and numbers that no other instance or event of this host gets.
    fn reserve(&self, family: &InstanceFamily) -> HighestNumbers {
        let count = |all: usize| i64::try_from(all).unwrap_or(i64::MAX);
        let events: usize = family.members.iter().map(|member| member.inbound.len()).sum();
        let instance = self.next_key.fetch_add(count(family.members.len()), Ordering::SeqCst) - 1;
        let inbound = self.next_inbound.fetch_add(count(events), Ordering::SeqCst) - 1;
        HighestNumbers { instance, inbound }
    }
}
