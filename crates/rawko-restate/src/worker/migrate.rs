//! Migrates an instance on a worker: finds the chart and the mapping, then lets the machine take one input.

use std::sync::Arc;

use rawko_host::{HostError, Migrator, way_back};
use rawko_instance::{Input, MigrationMove, MigrationRequest};
use restate_sdk::errors::HandlerResult;

use super::outcome::HandlerOutcome;
use super::state::WorkerState;
use super::take::{InstanceInput, settle};
use crate::layout::{LiveState, MigrateAsk, from_hex};

impl WorkerState {
    pub(super) async fn migrate(
        &self,
        live: LiveState,
        ask: MigrateAsk,
        allowance: Option<u64>,
    ) -> HandlerResult<HandlerOutcome> {
        match self.migration(&live, ask).await {
            Ok(request) => {
                let input = Input::Migrate(Box::new(request));
                self.take(InstanceInput { is_asked: true, allowance, ..InstanceInput::new(live, input) })
                    .await
            }
            Err(error) => settle(Err(error)),
        }
    }

    async fn migration(&self, live: &LiveState, ask: MigrateAsk) -> Result<MigrationRequest, HostError> {
        let MigrateAsk { chart, map, by } = ask;
        let new = &live.row.new;
        let refused = |reason| HostError::MigrationRefused { id: new.id.to_string(), reasons: vec![reason] };
        let Some(chart) = chart else {
            let (reader, row) = (self.reader.clone(), live.row.clone().into());
            let looked = tokio::task::spawn_blocking(move || way_back(&reader, &row, by, true));
            let request = looked.await.map_err(|_| HostError::Internal(new.id.to_string()))??;
            return request.map_err(refused);
        };
        let hash = from_hex(&chart).ok_or(HostError::NoChart(chart))?;
        let edition = self.charts.edition(&hash).await?;
        let map = map.as_ref().map(|(name, text)| (name.as_str(), text.as_str()));
        let migrator = Migrator::new(edition, map)?;
        if let Some(reason) = migrator.refuse_other(&new.chart_id) {
            return Err(refused(reason));
        }
        let migration = migrator.migration(&new.chart_id, &new.version);
        let to = Arc::clone(migrator.chart());
        // Workers drive every instance.
        Ok(MigrationRequest { to, move_by: MigrationMove::Mapped(migration), by, is_driven: true })
    }
}
