//! Migrations through the engine: one request per instance, reported in the order of their ids.

use rawko_core::Value;
use rawko_host::{HostError, MigrationOrder, MigrationReport, MigrationVerdict};

use crate::engine::RestateEngine;
use crate::layout::{MigrateAsk, handler, hex};

impl RestateEngine {
    pub(crate) async fn migrate_all(
        &self,
        ids: Vec<String>,
        order: MigrationOrder,
        by: Value,
    ) -> Result<Vec<MigrationReport>, HostError> {
        let (chart, map) = match &order {
            MigrationOrder::To(migrator) => {
                self.put_chart(migrator.edition()).await?;
                (Some(hex(&migrator.chart().hash())), migrator.map_text().cloned())
            }
            MigrationOrder::Back => (None, None),
        };
        let mut reports = Vec::with_capacity(ids.len());
        for id in ids {
            let ask = MigrateAsk { chart: chart.clone(), map: map.clone(), by: by.clone() };
            let reasons = match self.ask(&id, handler::MIGRATE, &ask).await {
                Ok(_) => Vec::new(),
                Err(HostError::MigrationRefused { reasons, .. }) => reasons,
                Err(error @ HostError::Over { .. }) => vec![error.to_string()],
                Err(error) => return Err(error),
            };
            reports.push(self.migration_report(id, reasons).await?);
        }
        Ok(reports)
    }

    async fn migration_report(&self, id: String, reasons: Vec<String>) -> Result<MigrationReport, HostError> {
        let (reader, name) = (rawko_host::Engine::reader(self).clone(), id.clone());
        let looked = tokio::task::spawn_blocking(move || {
            let restored = reader.snapshot(&reader.find(&name)?, None)?;
            let paths = restored.chart.leaf_paths(restored.snapshot.configuration());
            Ok::<_, HostError>(paths.map(str::to_owned).collect())
        });
        let configuration = looked.await.map_err(|_| HostError::Closing)??;
        let verdict = if reasons.is_empty() { MigrationVerdict::Migrated } else { MigrationVerdict::Refused };
        Ok(MigrationReport { id, verdict, configuration, reasons, notes: Vec::new() })
    }
}
