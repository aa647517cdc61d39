//! Journals, states and drawings as resources.

use rawko_chart::draw::{self, SvgOptions};
use rawko_host::SnapshotReader;
use rawko_store::Filter;
use rawko_view::document::active_nodes;
use rawko_view::journal::Player;
use rawko_view::journal::document::EntryDocument;
use rmcp::model::{ErrorData, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use super::McpServer;

const SVG: &str = "image/svg+xml";
const JSON: &str = "application/json";
/// JSON, one object per line.
const LINES: &str = "application/jsonl";
/// Newest instances in the list; all others are reached by the templates.
const LISTED_MAX: usize = 50;
const RECORDS_MAX: usize = 10_000;

impl McpServer {
    pub(super) fn listed(&self) -> Result<Vec<Resource>, ErrorData> {
        let charts = self.chart_ids().into_iter().map(|id| {
            Resource::new(format!("rawko://charts/{id}/drawing"), format!("drawing of {id}"))
                .with_mime_type(SVG)
        });
        let page = self.engine().reader().store().list(&Filter { limit: LISTED_MAX, ..Filter::default() });
        let rows = page.map_err(|error| ErrorData::internal_error(error.to_string(), None))?.rows;
        let journals = rows.into_iter().map(|row| {
            let id = &row.new.id;
            Resource::new(format!("rawko://instances/{id}/journal"), format!("journal of {id}"))
                .with_mime_type(LINES)
        });
        Ok(charts.chain(journals).collect())
    }

    pub(super) fn templates() -> Vec<ResourceTemplate> {
        let template =
            |uri: &str, name: &str, kind: &str| ResourceTemplate::new(uri, name).with_mime_type(kind);
        vec![
            template("rawko://instances/{id}", "state of an instance", JSON),
            template("rawko://instances/{id}/journal", "journal of an instance", LINES),
            template("rawko://instances/{id}/drawing", "chart of an instance with its active states", SVG),
            template("rawko://charts/{id}", "text of a chart", "application/yaml"),
            template("rawko://charts/{id}/drawing", "drawing of a chart", SVG),
        ]
    }

    pub(super) async fn read(&self, uri: String) -> Result<ReadResourceResult, ErrorData> {
        let missing = {
            let uri = uri.clone();
            move || ErrorData::resource_not_found("there is no such resource", Some(json!({"uri": uri})))
        };
        let (kind, id, part) = parts(&uri).ok_or_else(&missing)?;
        let (kind, text) = match (kind, part) {
            ("instances", "") => {
                let view = self.view(&id).await.map_err(|_| missing())?;
                (JSON, serde_json::to_string_pretty(&view.document).unwrap_or_default())
            }
            ("instances", "journal") => {
                let absent = missing.clone();
                let lines = self.blocking(move |server| server.journal(&id).ok_or_else(absent)).await?;
                (LINES, lines)
            }
            ("instances", "drawing") => {
                let absent = missing.clone();
                (
                    SVG,
                    self.blocking(move |server| drawing(server.engine().reader(), &id).ok_or_else(absent))
                        .await?,
                )
            }
            ("charts", "") => {
                ("application/yaml", self.edition_of(&id).ok_or_else(&missing)?.text.to_string())
            }
            ("charts", "drawing") => {
                let edition = self.edition_of(&id).ok_or_else(&missing)?;
                let svg =
                    self.blocking(move |_| Ok(draw::svg(&edition.chart, &SvgOptions::default()))).await?;
                (SVG, svg)
            }
            _ => return Err(missing()),
        };
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(kind)]))
    }

    /// Returns the records of an instance as JSON lines; `None` if it cannot be read.
    fn journal(&self, id: &str) -> Option<String> {
        let reader = self.engine().reader();
        let row = reader.find(id).ok()?;
        let records = reader.store().steps(row.key, 0..=u64::MAX, RECORDS_MAX).ok()?;
        let mut player = Player::moving(reader.clone(), self.options.world.clone());
        let mut lines = String::new();
        for record in &records {
            let entry = EntryDocument::of(&player.entry(record).ok()?);
            lines.push_str(&serde_json::to_string(&entry).ok()?);
            lines.push('\n');
        }
        Some(lines)
    }
}

fn drawing(reader: &SnapshotReader, id: &str) -> Option<String> {
    let row = reader.find(id).ok()?;
    let restored = reader.snapshot(&row, None).ok()?;
    let active = active_nodes(&restored.chart, restored.snapshot.configuration());
    Some(draw::svg(&restored.chart, &SvgOptions { active: &active, ..SvgOptions::default() }))
}

/// Returns the instance that an address belongs to.
pub(super) fn instance_of(uri: &str) -> Option<String> {
    parts(uri).filter(|(kind, _, _)| *kind == "instances").map(|(_, id, _)| id)
}

/// Splits an address: `instances` or `charts`, the id, and `journal`, `drawing` or nothing. An id may have slashes.
fn parts(uri: &str) -> Option<(&str, String, &str)> {
    let (kind, rest) = uri.strip_prefix("rawko://")?.split_once('/')?;
    let (id, part) = match rest.rsplit_once('/') {
        Some((id, part @ ("journal" | "drawing"))) => (id, part),
        _ => (rest, ""),
    };
    // A client that fills in a template escapes `:` and the like.
    Some((kind, unescaped(id), part))
}

/// Replaces `%3A` and the like by their characters.
fn unescaped(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
