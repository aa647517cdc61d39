//! Small helpers over the XML tree: elements by name, lines, text.

use roxmltree::Node;

/// The namespace of SCXML elements; documents in the wild also leave it out.
const NAMESPACE: &str = "http://www.w3.org/2005/07/scxml";

pub(super) fn is(xml: Node<'_, '_>, name: &str) -> bool {
    xml.is_element()
        && xml.tag_name().name() == name
        && xml.tag_name().namespace().is_none_or(|namespace| namespace.is_empty() || namespace == NAMESPACE)
}

/// Where the lines of a document start. The document itself counts from its beginning each time it is asked.
#[derive(Debug)]
pub(super) struct LineStarts(Vec<usize>);

impl LineStarts {
    pub(super) fn of(text: &str) -> Self {
        LineStarts(
            text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1).collect(),
        )
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, at: usize) -> u32 {
        self.0.partition_point(|start| *start <= at) as u32 + 1
    }
}

/// The line of an element, for a document that is given up there.
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

/// All text below, comments left out.
pub(super) fn text(xml: Node<'_, '_>) -> String {
    xml.descendants().filter(Node::is_text).filter_map(|node| node.text()).collect()
}

pub(super) fn has_elements(xml: Node<'_, '_>) -> bool {
    elements(xml).next().is_some()
}

/// Names separated by white space, as in `target`, `event` and `namelist`.
pub(super) fn words<'a>(xml: Node<'a, '_>, attribute: &str) -> Vec<&'a str> {
    xml.attribute(attribute).map(|text| text.split_whitespace().collect()).unwrap_or_default()
}

/// Everything below that belongs to the same chart: what an `<invoke>` holds is another one.
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
