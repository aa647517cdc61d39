//! Requests of agents to a person, in words: the title, the reason, and the command, diff or options.

use rawko_core::Value;

use crate::standing::PendingAsk;

/// Lines of a command or a diff that are printed.
const DETAIL_LINES_MAX: usize = 30;

/// Returns the lines of a permission or a question; `None` for other requests, whose input the chart defines.
pub(crate) fn request_lines(ask: &PendingAsk) -> Option<Vec<String>> {
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
    lines.extend(details.iter().take(DETAIL_LINES_MAX).map(|line| format!("    {line}")));
    if details.len() > DETAIL_LINES_MAX {
        lines.push(format!("    … {} more lines", details.len() - DETAIL_LINES_MAX));
    }
    Some(lines)
}

/// Returns the options of `rawko approve` that a request needs.
pub(crate) fn answer_option(ask: &PendingAsk) -> &'static str {
    match ask.input.get("kind").as_str() {
        Some("question") => " --data answer=TEXT",
        Some(_) | None => "",
    }
}
