//! `governance.require` and `governance.approvals`: the provenance checklist of a settings file.

use std::sync::Arc;

use rawko_chart::DocumentEntry;
use rawko_core::Value;
use rawko_instance::{CHECKLIST_FIELDS, CHECKLIST_KINDS, parse_day};

use super::reader::HostSettingsReader;

/// One line of a file's checklist.
#[derive(Clone, Debug)]
pub(super) enum ChecklistEntry {
    Required { kind: String, field: String, file: Arc<str> },
    Approved { name: String, record: Value, file: Arc<str> },
}

impl HostSettingsReader<'_> {
    /// Reads the fields that are required of each kind.
    pub(super) fn required(&mut self, entry: &DocumentEntry, file: &Arc<str>) -> Vec<ChecklistEntry> {
        let mut found = Vec::new();
        for kind in self.record(&entry.value, "`require` of `governance`", &CHECKLIST_KINDS) {
            let what = format!("`{}` of `require`", kind.key);
            for (field, span) in self.texts(&kind.value, &what) {
                if !CHECKLIST_FIELDS.contains(&field) {
                    let help = format!("the fields are {}", CHECKLIST_FIELDS.join(", "));
                    self.invalid(span, format!("`{field}` cannot be required"), help);
                }
                found.push(ChecklistEntry::Required {
                    kind: kind.key.clone(),
                    field: field.to_owned(),
                    file: Arc::clone(file),
                });
            }
        }
        found
    }

    /// Reads the approvals by name.
    pub(super) fn approvals(&mut self, entry: &DocumentEntry, file: &Arc<str>) -> Vec<ChecklistEntry> {
        let mut found = Vec::new();
        for one in self.entries(&entry.value, "`approvals` of `governance`") {
            let what = format!("the approval of `{}`", one.key);
            for field in self.record(&one.value, &what, &CHECKLIST_FIELDS) {
                let named = format!("`{}` of {what}", field.key);
                let text = self.scalar(&field.value, &named);
                let is_day = ["reviewed", "expires"].contains(&field.key.as_str());
                if is_day && text.is_some_and(|text| parse_day(&text).is_none()) {
                    self.invalid(field.value.span, format!("{named} is not a day"), "write `2027-01-31`");
                }
            }
            let record = Value::from_json(one.value.to_json());
            found.push(ChecklistEntry::Approved { name: one.key.clone(), record, file: Arc::clone(file) });
        }
        found
    }
}
