//! `<script>`: translated if it consists of assignments only.

use roxmltree::Node;

use super::ScxmlImporter;
use super::xml::text;
use crate::ecmascript::{Js, Statement, Untranslatable, parse_script, translate};
use crate::yaml::Yaml;

impl<'a, 'i> ScxmlImporter<'a, 'i, '_, '_> {
    pub(super) fn script(&mut self, xml: Node<'a, 'i>) -> Vec<Yaml> {
        let Some(source) = self.script_text(xml) else {
            let src = xml.attribute("src").unwrap_or_default();
            self.lost(xml, format!("the script `{src}`: the file could not be read"));
            return vec![self.failing_action(&format!("the script {src} was not carried over"))];
        };
        match parse_script(&source).and_then(|statements| self.statements(xml, &statements)) {
            Ok(actions) => actions,
            Err(why) => {
                self.lost(xml, format!("a script: {why}"));
                vec![self.failing_action(&format!("a script was not carried over: {why}"))]
            }
        }
    }

    /// Returns the text of a script, from the element or from its file.
    pub(super) fn script_text(&self, xml: Node<'_, '_>) -> Option<String> {
        match xml.attribute("src") {
            Some(src) => self.file(src),
            None => Some(text(xml)),
        }
    }

    fn statements(
        &mut self,
        xml: Node<'a, 'i>,
        statements: &[Statement],
    ) -> Result<Vec<Yaml>, Untranslatable> {
        let mut actions = Vec::new();
        for statement in statements {
            let (place, value) = match statement {
                Statement::Declare(_, None) => continue,
                Statement::Declare(name, Some(value)) => (name.clone(), value),
                Statement::Assign(place, value) => (location(place)?, value),
            };
            let value = translate(value, &self.variables)?;
            actions.push(self.assign_to(xml, &place, Yaml::Text(value.text)));
        }
        Ok(actions)
    }
}

/// Returns the location of an assignment, as in `<assign location>`.
fn location(place: &Js) -> Result<String, Untranslatable> {
    match place {
        Js::Name(name) => Ok(name.clone()),
        Js::Member(object, field) => Ok(format!("{}.{field}", location(object)?)),
        _ => Err(Untranslatable::foreign("assigning to a computed place")),
    }
}
