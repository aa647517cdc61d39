//! Requests to a person, in words: the title, the reason, and the command, diff, options or fields of a form.

use rawko_core::Value;

use crate::journal::words;
use crate::session::FormField;
use crate::standing::PendingAsk;

/// Keys of a request that have words of their own, or that the expiry stands for.
const OWN_KEYS: [&str; 5] = ["title", "prompt", "message", "form", "expires"];

/// Lines of a command or a diff that are printed of its beginning and of its end, where only an overview is.
const FIRST_LINES: usize = 20;
const LAST_LINES: usize = 10;

/// Returns the lines of a request. A long command or diff has its middle left out, and long values are cut.
pub(crate) fn request_lines(ask: &PendingAsk) -> Vec<String> {
    let Some((mut lines, details)) = parts(ask) else { return chart_lines(ask, false) };
    let left_out = details.len().saturating_sub(FIRST_LINES + LAST_LINES);
    let end = if left_out == 0 { details.len() } else { FIRST_LINES };
    lines.extend(details[..end].iter().map(|line| format!("    {line}")));
    if left_out > 0 {
        let command = format!("rawko show {}", ask.instance);
        lines.push(format!("    … {left_out} more lines, not shown here; read all of them: {command}"));
        lines.extend(details[end + left_out..].iter().map(|line| format!("    {line}")));
    }
    lines
}

/// Returns all lines: what a person approves can be read in full.
pub(crate) fn all_request_lines(ask: &PendingAsk) -> Vec<String> {
    let Some((mut lines, details)) = parts(ask) else { return chart_lines(ask, true) };
    lines.extend(details.iter().map(|line| format!("    {line}")));
    lines
}

/// Returns the lines of a request that a chart defines: its name and title, its values, and the fields of its form.
fn chart_lines(ask: &PendingAsk, is_whole: bool) -> Vec<String> {
    let input = &ask.input;
    let text = |key: &str| input.get(key).as_str().map(str::trim).filter(|text| !text.is_empty());
    let title = text("title").map(|title| format!(": {}", title.replace('\n', " ")));
    let mut lines = vec![format!("{}{}", ask.invoke, title.unwrap_or_default())];
    lines.extend(text("prompt").or_else(|| text("message")).map(|about| format!("  {about}")));
    let fields = FormField::all(input.get("form"));
    let is_shown = |key: &str| OWN_KEYS.contains(&key) && (key != "form" || !fields.is_empty());
    match input.as_map() {
        Some(map) => {
            let others = map.iter().filter(|(key, _)| !is_shown(key));
            lines.extend(others.map(|(key, value)| format!("    {key}: {}", words::value(value, is_whole))));
        }
        None if input.is_null() => {}
        None => lines.push(format!("    {}", words::value(input, is_whole))),
    }
    lines.extend(fields.iter().map(|field| {
        let title = if field.title == field.name { String::new() } else { format!("{}, ", field.title) };
        let required = if field.is_required { ", required" } else { "" };
        format!("    {}: {title}{}{required}", field.name, field.value_words())
    }));
    lines
}

/// Returns the lines about a permission or a question, and those of its command, diff or address; `None` for other
/// requests, whose input the chart defines.
fn parts(ask: &PendingAsk) -> Option<(Vec<String>, Vec<&str>)> {
    let input = &ask.input;
    let text = |key: &str| input.get(key).as_str().map(str::trim_end).filter(|text| !text.is_empty());
    let is_permission = !input.get("tool").is_null() && !input.get("rule").is_null();
    let is_question = input.get("kind").as_str() == Some("question");
    if !is_permission && !is_question {
        return None;
    }
    let mut lines = vec![text("title").unwrap_or(&ask.invoke).to_owned()];
    lines.extend(text("prompt").or_else(|| text("message")).map(|about| format!("  {about}")));
    let options = input.get("options").as_list().unwrap_or_default().iter().filter_map(Value::as_str);
    lines.extend(options.map(|option| format!("    {option}")));
    let details = ["diff", "command", "url", "query", "task", "input"].iter().find_map(|key| text(key));
    // A command of one line is the title.
    let is_long = |details: &&str| !details.trim().is_empty() && !lines[0].contains(details.trim());
    let details: Vec<&str> = details.filter(is_long).unwrap_or_default().lines().collect();
    Some((lines, details))
}

/// Returns the options of `rawko approve` that a request needs.
pub(crate) fn answer_option(ask: &PendingAsk) -> String {
    if ask.input.get("kind").as_str() == Some("question") {
        return " --data answer=TEXT".to_owned();
    }
    let fields = FormField::all(ask.input.get("form"));
    let required = fields.iter().filter(|field| field.is_required);
    required.map(|field| format!(" --data {}={}", field.name, field.placeholder())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn ask(input: Json) -> PendingAsk {
        let (instance, invoke) = ("o-1".into(), "shipping".to_owned());
        PendingAsk { instance, invoke, input: Value::from_json(input), since_ms: 0, expires_ms: None }
    }

    #[test]
    fn a_request_of_a_chart_is_shown_in_words() {
        let form = json!({"type": "object", "required": ["street", "carrier"], "properties": {
            "street": {"type": "string", "title": "Street and number"}, "floor": {"type": "integer"},
            "carrier": {"enum": ["Post", "Parcel", "Pigeon"]}, "express": {"type": "boolean"}}});
        let whole =
            ask(json!({"title": "Where\nto?", "message": "For the label.", "amount": 250, "form": form}));
        let lines = [
            "shipping: Where to?",
            "  For the label.",
            "    amount: 250",
            "    street: Street and number, text, required",
            "    floor: whole number",
            "    carrier: Post, Parcel or Pigeon, required",
            "    express: true or false",
        ];
        assert_eq!(request_lines(&whole), lines);
        assert_eq!(answer_option(&whole), " --data street=TEXT --data carrier=CHOICE");
        assert_eq!(request_lines(&ask(Json::Null)), ["shipping"]);
        assert_eq!(request_lines(&ask(json!("now?"))), ["shipping", "    \"now?\""]);
        assert_eq!(answer_option(&ask(json!({"kind": "question"}))), " --data answer=TEXT");
    }
}
