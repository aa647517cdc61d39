//! SCXML documents with the ECMAScript data model. `outline` reads the whole tree first; then each kind of element has
//! its file. Constructs are translated by behaviour, not by spelling; those without a counterpart are noted, and fail
//! where they are reached.

mod actions;
mod datamodel;
mod expressions;
mod invoke;
mod outline;
mod scripts;
mod send;
mod states;
mod transitions;
mod xml;

use roxmltree::{Document, Node, NodeId};

use self::outline::ScxmlOutline;
use self::xml::{LineStarts, is, named, own_descendants};
use super::ecmascript::{EcmaVariables, INTERNAL};
use super::yaml::Yaml;
use super::{ImportError, ImportOptions, ImportResult, ImportedChart, Notes};

/// Nesting limit of charts by `<invoke>`.
const CHARTS_DEEP_MAX: usize = 8;

/// Imports an SCXML document.
pub fn scxml(text: &str, options: ImportOptions<'_>) -> Result<ImportResult, ImportError> {
    let document = parse(text)?;
    let root = document.root_element();
    let id = chart_id(root, options.id.unwrap_or("imported"));
    let mut family =
        SharedImport { options, charts: Vec::new(), deep: 0, taken: vec![id.clone()], files: Vec::new() };
    let mut notes = Notes::default();
    let body = chart(root, &id, false, &mut family, &mut notes)?;
    let notes = notes.finish();
    let yaml = super::heading("SCXML", &notes) + &body.write();
    let charts =
        family.charts.into_iter().map(|(id, body)| ImportedChart { id, yaml: body.write() }).collect();
    Ok(ImportResult { id, yaml, charts, notes })
}

fn parse(text: &str) -> Result<Document<'_>, ImportError> {
    let options = roxmltree::ParsingOptions { allow_dtd: false, ..Default::default() };
    let document = Document::parse_with_options(text.trim_start_matches('\u{feff}'), options)
        .map_err(|error| ImportError::Malformed { line: error.pos().row, message: error.to_string() })?;
    if !is(document.root_element(), "scxml") {
        return Err(ImportError::Malformed {
            line: 1,
            message: "the outermost element is not `<scxml>`".to_owned(),
        });
    }
    Ok(document)
}

fn chart_id(root: Node<'_, '_>, otherwise: &str) -> String {
    let name = root.attribute("name").map(str::trim).filter(|name| !name.is_empty()).unwrap_or(otherwise);
    let usable = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    apart_from_states(root, name.chars().map(|c| if usable(c) { c } else { '_' }).collect())
}

/// `#id` finds a chart before a state, so a chart must not have the name of one of its states.
fn apart_from_states(root: Node<'_, '_>, mut id: String) -> String {
    let states: Vec<_> =
        own_descendants(root).into_iter().filter_map(|state| state.attribute("id")).collect();
    while states.contains(&id.as_str()) {
        id.push_str("_chart");
    }
    id
}

/// State shared by all charts of one document.
struct SharedImport<'o> {
    options: ImportOptions<'o>,
    charts: Vec<(String, Yaml)>,
    deep: usize,
    taken: Vec<String>,
    /// Files that became charts: the path and the chart's id.
    files: Vec<(String, String)>,
}

/// The import of one chart: a document, or an `<scxml>` inside an `<invoke>`.
struct ScxmlImporter<'a, 'i, 'f, 'o> {
    family: &'f mut SharedImport<'o>,
    notes: &'f mut Notes,
    chart_id: String,
    /// True if it can get input: it is nested in another chart.
    is_child: bool,
    outline: ScxmlOutline<'a, 'i>,
    variables: EcmaVariables,
    /// With `binding="late"`: the state that declares a variable, and its assignment.
    late_data: Vec<(NodeId, Yaml)>,
    /// Number of generated send ids.
    sends: usize,
    /// True if an expression contains `#_internal`, so that a computed target may be that.
    internal_is_a_value: bool,
    lines: LineStarts,
}

fn chart(
    root: Node<'_, '_>,
    id: &str,
    is_child: bool,
    family: &mut SharedImport<'_>,
    notes: &mut Notes,
) -> Result<Yaml, ImportError> {
    let outline = ScxmlOutline::of(root)?;
    let mut importer = ScxmlImporter {
        family,
        notes,
        chart_id: id.to_owned(),
        is_child,
        outline,
        variables: EcmaVariables::default(),
        late_data: Vec::new(),
        sends: 0,
        internal_is_a_value: mentions_internal(root),
        lines: LineStarts::of(root.document().input_text()),
    };
    importer.variables = datamodel::variables(&importer, root);
    Ok(importer.whole(root))
}

fn mentions_internal(root: Node<'_, '_>) -> bool {
    root.descendants().any(|node| {
        let mut attributes = node.attributes().filter(|attribute| attribute.name() != "target");
        attributes.any(|attribute| attribute.value().contains(INTERNAL))
            || (node.is_text() && node.text().is_some_and(|text| text.contains(INTERNAL)))
    })
}

impl<'a, 'i> ScxmlImporter<'a, 'i, '_, '_> {
    fn line(&self, xml: Node<'_, '_>) -> u32 {
        self.lines.line(xml.range().start)
    }

    fn lost(&mut self, xml: Node<'_, '_>, message: impl Into<String>) {
        self.notes.lost(self.lines.line(xml.range().start), message);
    }

    fn changed(&mut self, xml: Node<'_, '_>, message: impl Into<String>) {
        self.notes.changed(self.lines.line(xml.range().start), message);
    }

    fn whole(&mut self, root: Node<'a, 'i>) -> Yaml {
        self.note_the_data_model(root);
        let model = self.datamodel(root);
        let mut chart = Yaml::map([("id", Yaml::text(&self.chart_id)), ("version", Yaml::text("1.0.0"))]);
        let top = self.outline.top.clone();
        chart.push("initial", self.start(root, model.initial, &top));
        if !model.context.is_empty() {
            let context = model.context.iter().map(|(name, value)| (name.clone(), Yaml::from_json(value)));
            chart.push("context", Yaml::Map(context.collect()));
        }
        chart.push("states", self.states(&top));
        Yaml::map([("statechart", chart)])
    }

    /// Builds the start of the chart: its data first, then its scripts, then the actions of `<initial>`.
    fn start(&mut self, root: Node<'a, 'i>, mut actions: Vec<Yaml>, top: &[usize]) -> Yaml {
        for script in named(root, "script") {
            actions.extend(self.script(script));
        }
        let initial = self.initial(root, None, top);
        let (target, more) = match initial {
            Yaml::Map(mut entries) => {
                let more = entries.pop().map(|(_, actions)| actions);
                (entries.pop().map_or(Yaml::Null, |(_, target)| target), more)
            }
            target => (target, None),
        };
        if let Some(Yaml::List(more)) = more {
            actions.extend(more);
        }
        if actions.is_empty() {
            target
        } else {
            Yaml::map([("target", target), ("actions", Yaml::List(actions))])
        }
    }

    fn note_the_data_model(&mut self, root: Node<'a, 'i>) {
        let Some(other) =
            root.attribute("datamodel").filter(|model| !matches!(*model, "ecmascript" | "null" | ""))
        else {
            return;
        };
        if datamodel::depends_on_it(root) {
            self.lost(root, format!("the data model `{other}`: expressions are read as ECMAScript"));
        } else {
            self.changed(root, format!("the data model `{other}`: no expression here depends on it"));
        }
    }
}
