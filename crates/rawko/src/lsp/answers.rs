//! Answers to an editor's requests about one document.

use rawko_chart::draw::{self, Theme};
use rawko_chart::{Finding, Severity, SourceFile, Span, load_bytes};
use rawko_core::{ServiceClass, ServiceName};
use rawko_language::{ChartStates, StateSymbol, Suggestion, SuggestionKind, TextLines, explain, suggest};
use serde_json::{Value as Json, json};

use super::documents::{Documents, OpenDocument, position};
use super::uri;
use super::wire::{INVALID_PARAMS, REQUEST_FAILED, ResponseError};
use super::workspace::Workspace;
use crate::files;

/// A document with its project.
pub(super) struct EditedChart<'a> {
    pub(super) uri: &'a str,
    pub(super) document: &'a OpenDocument,
    pub(super) workspace: &'a Workspace,
    pub(super) others: &'a Documents,
}

type LspAnswer = Result<Json, ResponseError>;

impl EditedChart<'_> {
    fn text(&self) -> &str {
        &self.document.text
    }

    fn source(&self) -> SourceFile {
        let name = self.document.path.as_deref().map_or_else(|| "chart.yaml".to_owned(), files::shown);
        SourceFile::new(name, self.text())
    }

    fn offset(&self, params: &Json) -> Result<usize, ResponseError> {
        let place = position(&params["position"]);
        let place =
            place.ok_or_else(|| ResponseError::new(INVALID_PARAMS, "the request has no `position`"))?;
        Ok(TextLines::of(self.text()).offset(place))
    }

    fn states(&self) -> Option<ChartStates> {
        ChartStates::of(&self.source(), &self.workspace.registry_of(self.text()))
    }

    pub(super) fn completion(&self, params: &Json) -> LspAnswer {
        let offset = self.offset(params)?;
        let found = suggest(self.text(), offset, &self.workspace.names);
        let replaced = range(&TextLines::of(self.text()), Span::new(found.from, offset));
        let keeps_colon = self.text()[offset..].trim_start_matches(['"', '\'', ' ']).starts_with(':');
        let item = |(number, it): (usize, &Suggestion)| {
            let insert = if keeps_colon { it.insert.trim_end_matches(": ") } else { &it.insert };
            json!({
                "label": it.label,
                "kind": item_kind(it.kind),
                "detail": it.note,
                "filterText": it.label,
                "sortText": format!("{number:03}"),
                "textEdit": { "range": replaced, "newText": insert },
            })
        };
        Ok(found.items.iter().enumerate().map(item).collect())
    }

    pub(super) fn hover(&self, params: &Json) -> LspAnswer {
        let Some(found) = explain(self.text(), self.offset(params)?, &self.workspace.names) else {
            return Ok(Json::Null);
        };
        let place = range(&TextLines::of(self.text()), Span::new(found.range.start, found.range.end));
        let text = format!("**{}**\n\n{}", found.title, found.text);
        Ok(json!({ "contents": { "kind": "markdown", "value": text }, "range": place }))
    }

    /// The key of a state, the file of a chart, or the file of an agent.
    pub(super) fn definition(&self, params: &Json) -> LspAnswer {
        let offset = self.offset(params)?;
        let Some(states) = self.states() else { return Ok(Json::Null) };
        if let Some(key) = states.state_at(offset).and_then(|(state, _)| states.definition(state)) {
            return Ok(json!({ "uri": self.uri, "range": range(&TextLines::of(self.text()), key) }));
        }
        let Some((src, _)) = states.src_at(offset) else { return Ok(Json::Null) };
        let agent =
            ServiceName::member_of(src, ServiceClass::Agent).and_then(|name| self.workspace.agent_file(name));
        if let Some(path) = agent {
            return Ok(
                json!({ "uri": uri::of_path(&path), "range": range(&TextLines::of(""), Span::default()) }),
            );
        }
        let id =
            ServiceName::member_of(src, ServiceClass::Chart).map(|id| id.split('@').next().unwrap_or(id));
        let Some(path) = id.and_then(|id| self.workspace.chart_file(id)) else { return Ok(Json::Null) };
        let open = self.others.at_path(&path).map(|document| document.text.clone());
        let text = open.or_else(|| files::read_text(&path).ok()).unwrap_or_default();
        let source = SourceFile::new(files::shown(&path), text);
        let key = ChartStates::of(&source, &Default::default()).map(|chart| chart.chart_id());
        let place = range(&TextLines::of(&source.text), key.unwrap_or_default());
        Ok(json!({ "uri": uri::of_path(&path), "range": place }))
    }

    pub(super) fn references(&self, params: &Json) -> LspAnswer {
        let offset = self.offset(params)?;
        let Some(states) = self.states() else { return Ok(Json::Null) };
        let Some((state, _)) = states.state_at(offset) else { return Ok(Json::Null) };
        let lines = TextLines::of(self.text());
        let key = states.definition(state).filter(|_| params["context"]["includeDeclaration"] == true);
        let spans = key.into_iter().chain(states.references(state).map(|it| it.span));
        Ok(spans.map(|span| json!({ "uri": self.uri, "range": range(&lines, span) })).collect())
    }

    pub(super) fn prepare_rename(&self, params: &Json) -> LspAnswer {
        let offset = self.offset(params)?;
        let Some(states) = self.states() else { return Ok(Json::Null) };
        let Some((state, span)) = states.state_at(offset) else { return Ok(Json::Null) };
        let is_id = states.references(state).any(|it| it.span == span && it.is_id);
        if is_id {
            return Err(ResponseError::new(
                REQUEST_FAILED,
                "this is the `id` of a state; rename its key instead",
            ));
        }
        let name = self.text().get(span.range()).unwrap_or_default();
        Ok(json!({ "range": range(&TextLines::of(self.text()), span), "placeholder": name }))
    }

    pub(super) fn rename(&self, params: &Json) -> LspAnswer {
        let offset = self.offset(params)?;
        let failed = |text: String| ResponseError::new(REQUEST_FAILED, text);
        let name = params["newName"].as_str().unwrap_or_default();
        let states =
            self.states().ok_or_else(|| failed("the chart cannot be read; fix its syntax first".into()))?;
        let (state, _) = states.state_at(offset).ok_or_else(|| failed("there is no state here".into()))?;
        let registry = self.workspace.registry_of(self.text());
        let edits = states.rename(state, name, &registry).map_err(|error| failed(error.to_string()))?;
        let lines = TextLines::of(self.text());
        let edits: Vec<Json> = edits
            .iter()
            .map(|edit| json!({ "range": range(&lines, edit.span), "newText": edit.text }))
            .collect();
        Ok(json!({ "changes": { self.uri: edits } }))
    }

    pub(super) fn symbols(&self) -> LspAnswer {
        let Some(chart) = self.states().and_then(|states| states.symbols()) else { return Ok(json!([])) };
        Ok(json!([symbol(&TextLines::of(self.text()), &chart)]))
    }

    /// `rawko/drawing`: the chart as SVG, with findings marked.
    pub(super) fn drawing(&self, params: &Json) -> LspAnswer {
        let theme = match params["theme"].as_str() {
            Some("light") => Theme::Light,
            Some("dark") => Theme::Dark,
            Some(_) | None => Theme::Auto,
        };
        let registry = self.workspace.registry_of(self.text());
        let (_, loaded) = load_bytes(&self.source().name, self.text().as_bytes(), &registry);
        let drawn =
            draw::with_findings(loaded.chart.as_ref(), loaded.places.as_ref(), &loaded.findings, theme);
        let svg = drawn.ok_or_else(|| {
            ResponseError::new(REQUEST_FAILED, "the chart cannot be drawn yet; fix its errors first")
        })?;
        Ok(json!({ "svg": svg }))
    }
}

/// Converts findings to diagnostics.
pub(super) fn diagnostics(uri: &str, text: &str, findings: &[Finding]) -> Json {
    let lines = TextLines::of(text);
    let diagnostic = |finding: &Finding| {
        let mut message = finding.message.clone();
        if !finding.label.is_empty() {
            message += &format!(" ({})", finding.label);
        }
        if let Some(help) = &finding.help {
            message += &format!("\nhelp: {help}");
        }
        let related: Vec<Json> = finding
            .related
            .iter()
            .map(|(span, label)| {
                json!({ "location": { "uri": uri, "range": range(&lines, *span) }, "message": label })
            })
            .collect();
        let severity = match finding.severity {
            Severity::Fatal | Severity::Error => 1,
            Severity::Warning => 2,
        };
        json!({
            "range": range(&lines, finding.span),
            "severity": severity,
            "code": finding.code,
            "source": "rawko",
            "message": message,
            "relatedInformation": related,
        })
    };
    findings.iter().map(diagnostic).collect()
}

fn range(lines: &TextLines<'_>, span: Span) -> Json {
    let (start, end) = lines.range(span);
    let place = |it: rawko_language::TextPosition| json!({ "line": it.line, "character": it.character });
    json!({ "start": place(start), "end": place(end) })
}

/// Numbers of `CompletionItemKind`.
fn item_kind(kind: SuggestionKind) -> u8 {
    match kind {
        SuggestionKind::Key => 10,
        SuggestionKind::Value => 12,
        SuggestionKind::State => 7,
        SuggestionKind::Event => 23,
        SuggestionKind::Name => 6,
    }
}

/// Numbers of `SymbolKind`: a module, classes for states with children, otherwise enum members.
fn symbol(lines: &TextLines<'_>, it: &StateSymbol) -> Json {
    let kind = match (it.detail, it.children.is_empty()) {
        ("chart", _) => 2,
        (_, false) => 5,
        (_, true) => 22,
    };
    json!({
        "name": if it.name.is_empty() { "(no name)" } else { &it.name },
        "detail": it.detail,
        "kind": kind,
        "range": range(lines, it.whole),
        "selectionRange": range(lines, it.key),
        "children": it.children.iter().map(|child| symbol(lines, child)).collect::<Vec<_>>(),
    })
}
