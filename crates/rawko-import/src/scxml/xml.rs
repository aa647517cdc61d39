//! Helpers for the XML tree: elements by name, lines, text.

use roxmltree::Node;

/// The namespace of SCXML elements; real documents also omit it.
const NAMESPACE: &str = "http://www.w3.org/2005/07/scxml";

pub(super) fn is(xml: Node<'_, '_>, name: &str) -> bool {
    xml.is_element()
        && xml.tag_name().name() == name
        && xml.tag_name().namespace().is_none_or(|namespace| namespace.is_empty() || namespace == NAMESPACE)
}

/// Line starts of a document. The XML library counts from the beginning for each query.
#[derive(Debug)]
pub(super) struct LineStarts(Vec<usize>);

impl LineStarts {
    pub(super) fn of(text: &str) -> Self {
        LineStarts(
            text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1).collect(),
        )
    }

    /// Returns the line of a byte, from 1.
    pub(super) fn line(&self, at: usize) -> u32 {
        self.0.partition_point(|start| *start <= at) as u32 + 1
    }
}

/// Returns the line of an element, for a document that is rejected there.
pub(super) fn line(xml: Node<'_, '_>) -> u32 {
    xml.document().text_pos_at(xml.range().start).row
}

pub(super) fn elements<'a, 'i>(xml: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    xml.children().filter(Node::is_element)
}

pub(super) fn named<'a, 'i>(xml: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    xml.children().filter(move |child| is(*child, name))
}

pub(super) fn first<'a, 'i>(xml: Node<'a, 'i>, name: &'static str) -> Option<Node<'a, 'i>> {
    named(xml, name).next()
}

/// Returns all descendant text, without comments.
pub(super) fn text(xml: Node<'_, '_>) -> String {
    xml.descendants().filter(Node::is_text).filter_map(|node| node.text()).collect()
}

pub(super) fn has_elements(xml: Node<'_, '_>) -> bool {
    elements(xml).next().is_some()
}

/// Splits names at white space, as in `target`, `event` and `namelist`.
pub(super) fn words<'a>(xml: Node<'a, '_>, attribute: &str) -> Vec<&'a str> {
    xml.attribute(attribute).map(|text| text.split_whitespace().collect()).unwrap_or_default()
}

/// Returns the descendants of the same chart: the contents of an `<invoke>` belong to another one.
pub(super) fn own_descendants<'a, 'i>(xml: Node<'a, 'i>) -> Vec<Node<'a, 'i>> {
    let mut found = Vec::new();
    let mut waiting: Vec<_> = elements(xml).collect();
    waiting.reverse();
    while let Some(node) = waiting.pop() {
        if is(node, "scxml") {
            continue;
        }
        found.push(node);
        let mut below: Vec<_> = elements(node).collect();
        below.reverse();
        waiting.extend(below);
    }
    found
}
