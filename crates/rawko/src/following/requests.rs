//! Requests of agents to a person, in words: the title, the reason, and the command, diff or options.

use rawko_core::Value;

use crate::standing::PendingAsk;

/// Lines of a command or a diff that are printed of its beginning and of its end, where only an overview is.
const FIRST_LINES: usize = 20;
const LAST_LINES: usize = 10;

/// Returns the lines of a permission or a question; `None` for other requests, whose input the chart defines. A long
/// command or diff has its middle left out.
pub(crate) fn request_lines(ask: &PendingAsk) -> Option<Vec<String>> {
    let (mut lines, details) = parts(ask)?;
    let left_out = details.len().saturating_sub(FIRST_LINES + LAST_LINES);
    let end = if left_out == 0 { details.len() } else { FIRST_LINES };
    lines.extend(details[..end].iter().map(|line| format!("    {line}")));
    if left_out > 0 {
        let command = format!("rawko show {}", ask.instance);
        lines.push(format!("    … {left_out} more lines, not shown here; read all of them: {command}"));
        lines.extend(details[end + left_out..].iter().map(|line| format!("    {line}")));
    }
    Some(lines)
}

/// Returns all lines: what a person approves can be read in full.
pub(crate) fn all_request_lines(ask: &PendingAsk) -> Option<Vec<String>> {
    let (mut lines, details) = parts(ask)?;
    lines.extend(details.iter().map(|line| format!("    {line}")));
    Some(lines)
}

/// Returns the lines about a request, and those of its command, diff or address.
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
pub(crate) fn answer_option(ask: &PendingAsk) -> &'static str {
    match ask.input.get("kind").as_str() {
        Some("question") => " --data answer=TEXT",
        Some(_) | None => "",
    }
}
