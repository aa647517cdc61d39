//! The texts that an editor has open, kept in step with its changes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rawko_language::{TextLines, TextPosition};
use serde_json::Value as Json;

use super::uri;

/// A text as the editor has it.
#[derive(Debug)]
pub(super) struct OpenDocument {
    pub(super) text: String,
    pub(super) version: Json,
    pub(super) language: String,
    /// `None` for a text without a file.
    pub(super) path: Option<PathBuf>,
}

/// Open documents by their address.
#[derive(Debug, Default)]
pub(super) struct Documents {
    open: BTreeMap<String, OpenDocument>,
}

impl Documents {
    pub(super) fn get(&self, uri: &str) -> Option<&OpenDocument> {
        self.open.get(uri)
    }

    /// Returns the open text of a file.
    pub(super) fn at_path(&self, path: &std::path::Path) -> Option<&OpenDocument> {
        self.open.values().find(|document| document.path.as_deref() == Some(path))
    }

    pub(super) fn uris(&self) -> Vec<String> {
        self.open.keys().cloned().collect()
    }

    /// Handles `textDocument/didOpen`.
    pub(super) fn handle_open(&mut self, params: &Json) -> Option<String> {
        let document = &params["textDocument"];
        let uri = document["uri"].as_str()?.to_owned();
        let open = OpenDocument {
            text: document["text"].as_str().unwrap_or_default().to_owned(),
            version: document["version"].clone(),
            language: document["languageId"].as_str().unwrap_or_default().to_owned(),
            path: uri::path_of(&uri),
        };
        self.open.insert(uri.clone(), open);
        Some(uri)
    }

    /// Handles `textDocument/didChange`: whole texts, or parts that are replaced one after the other.
    pub(super) fn handle_change(&mut self, params: &Json) -> Option<String> {
        let uri = params["textDocument"]["uri"].as_str()?;
        let document = self.open.get_mut(uri)?;
        document.version = params["textDocument"]["version"].clone();
        for change in params["contentChanges"].as_array().into_iter().flatten() {
            let text = change["text"].as_str().unwrap_or_default();
            match (position(&change["range"]["start"]), position(&change["range"]["end"])) {
                (Some(start), Some(end)) => {
                    let lines = TextLines::of(&document.text);
                    let (start, end) = (lines.offset(start), lines.offset(end));
                    document.text.replace_range(start..end.max(start), text);
                }
                (_, _) => document.text = text.to_owned(),
            }
        }
        Some(uri.to_owned())
    }

    pub(super) fn handle_close(&mut self, uri: &str) {
        self.open.remove(uri);
    }
}

/// Reads a position of the protocol.
pub(super) fn position(json: &Json) -> Option<TextPosition> {
    let number = |key: &str| json[key].as_u64().map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    Some(TextPosition { line: number("line")?, character: number("character")? })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn changes_count_in_code_units_and_apply_in_order() {
        let mut documents = Documents::default();
        let uri = "file:///a.yaml";
        documents.handle_open(&json!({ "textDocument": { "uri": uri, "version": 1, "text": "ß😀a\nb\n" } }));
        let range = |from: (u32, u32), to: (u32, u32)| json!({ "start": { "line": from.0, "character": from.1 }, "end": { "line": to.0, "character": to.1 } });
        let changes = json!([
            { "range": range((0, 3), (0, 4)), "text": "x\ny" },
            { "range": range((1, 1), (2, 1)), "text": "" },
        ]);
        documents.handle_change(
            &json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": changes }),
        );
        assert_eq!(documents.get(uri).unwrap().text, "ß😀x\ny\n");
        documents.handle_change(
            &json!({ "textDocument": { "uri": uri, "version": 3 }, "contentChanges": [{ "text": "whole" }] }),
        );
        assert_eq!(documents.get(uri).unwrap().text, "whole");
    }
}
