//! `Model`: a chart with everything that the exploration knows about it before it begins: its blueprint, its
//! properties, and the analysis of the data that it reads.

use std::sync::Arc;

use rawko_chart::{Finding, Property, Registry, Severity, SourceFile, load, lower_source};
use rawko_core::{Blueprint, Chart, DataTemplate, InvokeSpec, ServiceClass, ServiceName, ServiceSpec, Value};

use crate::analysis::DataAnalysis;
use crate::parts::{self, ChartRole};

/// A chart to verify, or a child of one.
#[derive(Debug)]
pub struct Model {
    /// Compiled chart, which takes the steps.
    pub chart: Arc<Chart>,
    /// Properties of the chart's `properties:` block.
    pub properties: Vec<Property>,
    pub(crate) blueprint: Blueprint,
    /// The input that the chart is started with.
    pub input: Value,
    /// Proofs are for any input instead.
    pub any_input: bool,
    /// The specs of services by the id of the invoke.
    pub(crate) specs: std::collections::BTreeMap<Arc<str>, ServiceSpec>,
    pub(crate) analysis: DataAnalysis,
    /// The analysis of the chart as a child of another.
    pub(crate) child_analysis: DataAnalysis,
}

impl Model {
    /// Reads a chart. `None` if a finding is fatal.
    pub fn load(source: &SourceFile, registry: &Registry) -> (Option<Model>, Vec<Finding>) {
        let loaded = load(source, registry);
        let (lowered, _) = lower_source(source, registry);
        let model = loaded.chart.zip(lowered).map(|(chart, lowered)| {
            let analysis = DataAnalysis::of(&lowered.blueprint, &loaded.properties, ChartRole::Root);
            let child_analysis = DataAnalysis::of(&lowered.blueprint, &[], ChartRole::Child);
            let blueprint = lowered.blueprint;
            let invokes = || blueprint.nodes.iter().flat_map(|node| &node.invokes);
            // Results are known by the id of their invoke, which several states may use for different services.
            let is_alone = |one: &&InvokeSpec| {
                let mut same = invokes().filter(|other| other.id == one.id);
                same.all(|other| literal(&other.src) == literal(&one.src))
            };
            let specs = invokes().filter(is_alone).filter_map(|invoke| match &invoke.src {
                DataTemplate::Literal(Value::Str(src)) => {
                    Some((Arc::clone(&invoke.id), registry.spec(src)?.clone()))
                }
                _ => None,
            });
            let specs = specs.collect();
            Model {
                chart: Arc::new(chart),
                properties: loaded.properties,
                blueprint,
                input: no_input(),
                any_input: false,
                specs,
                analysis,
                child_analysis,
            }
        });
        (model, loaded.findings)
    }

    /// Adds properties from a file beside the chart.
    pub fn add_properties(&mut self, source: &SourceFile) -> Vec<Finding> {
        let (properties, findings) = rawko_chart::properties_of_file(source, &self.chart);
        if findings.iter().all(|finding| finding.severity < Severity::Error) {
            self.properties.extend(properties);
            self.analysis = DataAnalysis::of(&self.blueprint, &self.properties, ChartRole::Root);
        }
        findings
    }

    /// Returns the same chart with other properties.
    pub(crate) fn with_properties(&self, properties: Vec<Property>) -> Model {
        Model {
            chart: Arc::clone(&self.chart),
            blueprint: self.blueprint.clone(),
            input: self.input.clone(),
            any_input: self.any_input,
            specs: self.specs.clone(),
            analysis: DataAnalysis::of(&self.blueprint, &properties, ChartRole::Root),
            child_analysis: DataAnalysis::of(&self.blueprint, &[], ChartRole::Child),
            properties,
        }
    }

    /// Returns an input of which nothing is known.
    pub(crate) fn unknown_input(&self) -> Value {
        let declared = self.blueprint.context.iter().filter(|key| key.declared);
        let unknown = rawko_core::expr::unknown;
        let keys: rawko_core::Map = declared.map(|key| (Arc::clone(&key.name), unknown())).collect();
        rawko_core::expr::partly_known(&keys)
    }

    /// Returns an input that the chart does not tell from this one. Nothing else need be stored in every state if no
    /// expression reads it.
    pub(crate) fn plain_input(&self, input: Value) -> Value {
        let names_it = |expr: &rawko_core::expr::Expr| expr.text().contains("input");
        let of_chart = parts::of(&self.blueprint, ChartRole::Child).iter().any(|part| names_it(part.expr));
        let mut own = self.properties.iter().flat_map(crate::analysis::expressions);
        let is_empty = input.as_map().is_some_and(|input| input.is_empty());
        if !is_empty || of_chart || own.any(|expr| names_it(&expr.expr)) {
            return input;
        }
        Value::Null
    }

    /// Returns an input with a text for every key that begins without a value.
    pub(crate) fn sample_input(&self) -> Value {
        let is_empty = |value: &Value| value.is_null() || value.as_str() == Some("");
        let declared = self.blueprint.context.iter().filter(|key| key.declared && is_empty(&key.initial));
        let keys: rawko_core::Map = declared.map(|key| (Arc::clone(&key.name), Value::str("text"))).collect();
        Value::Map(keys.into())
    }

    /// Returns every invoke of the chart with its state's number.
    pub(crate) fn invokes(&self) -> impl Iterator<Item = (usize, &InvokeSpec)> {
        self.blueprint
            .nodes
            .iter()
            .enumerate()
            .flat_map(|(number, node)| node.invokes.iter().map(move |invoke| (number, invoke)))
    }

    /// Returns true if the chart starts anything besides questions to people.
    pub(crate) fn has_other_effects(&self) -> bool {
        let is_other = |(_, invoke): (usize, &InvokeSpec)| class_of(invoke) != Some(ServiceClass::Human);
        self.invokes().any(is_other) || parts::has_calls(&self.blueprint)
    }

    /// Returns true if only the active states decide what happens: no data, no calls, no times.
    pub(crate) fn is_plain(&self) -> bool {
        let analysis = &self.analysis;
        let has_data = !analysis.relevant.is_empty()
            || !analysis.fallible.slots.is_empty()
            || !analysis.shapes.is_empty()
            || !analysis.undecided.is_empty()
            || !analysis.gaps.is_empty()
            || !analysis.computed_names.is_empty();
        let has_times = crate::clocks::Clocks::of(self).count > 0;
        !has_data && !has_times && !self.any_input && self.invokes().next().is_none()
    }

    /// Returns true if the chart can end by itself.
    pub(crate) fn has_final(&self) -> bool {
        let is_top = |parent: Option<rawko_core::NodeId>| parent == Some(rawko_core::NodeId::ROOT);
        let final_kind = rawko_core::NodeKind::Final;
        let root_is_parallel = self.blueprint.nodes[0].kind == rawko_core::NodeKind::Parallel;
        self.blueprint
            .nodes
            .iter()
            .any(|node| node.kind == final_kind && (root_is_parallel || is_top(node.parent)))
    }
}

/// Returns the class of an invoke whose `src` is written out.
pub(crate) fn class_of(invoke: &InvokeSpec) -> Option<ServiceClass> {
    literal(&invoke.src).map(|src| ServiceName::of(src).class)
}

/// Returns a name that is written out.
fn literal(name: &DataTemplate) -> Option<&str> {
    match name {
        DataTemplate::Literal(name) => name.as_str(),
        _ => None,
    }
}

/// Returns true if an invoke starts a chart, or something with a computed name.
pub(crate) fn may_be_chart(invoke: &InvokeSpec) -> bool {
    let is_prefixed = |expr: &str| {
        let kinds = ["'tool:'", "'agent:'", "'model:'"];
        kinds.iter().any(|kind| expr.starts_with(kind))
    };
    match (class_of(invoke), &invoke.src) {
        (Some(class), _) => class == ServiceClass::Chart,
        (None, DataTemplate::Expr(expr)) => !is_prefixed(expr.text()),
        (None, _) => true,
    }
}

/// The input of a chart that is started without one.
fn no_input() -> Value {
    Value::Map(Arc::default())
}
