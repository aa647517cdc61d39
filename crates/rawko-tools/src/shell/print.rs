//! Prints a parsed command line in one canonical form. The printed text is what runs: if this parser and bash disagree
//! about the original text, the commands that were checked run, not those that bash would have read.
//!
//! The form is chosen so that there is nothing to disagree about: literal text is quoted character by character,
//! here-documents become here-strings, comments and backquotes disappear. A construct without such a form is refused.

use brush_parser::ast::{
    AndOr, Assignment, AssignmentName, AssignmentValue, CaseItemPostAction, Command,
    CommandPrefixOrSuffixItem, CompoundCommand, CompoundList, ExtendedTestExpr, IoFileRedirectTarget,
    IoRedirect, Pipeline, PipelineTimed, ProcessSubstitutionKind, RedirectList, SeparatorOperator,
    SimpleCommand,
};
use brush_parser::{Parser, ast};

use super::print_words::{arithmetic, calculated, heredoc, regex, single_quoted, word};
use super::reading::{DEPTH_MAX, Simple};
use super::walk::options;
use super::word::Word;
use super::wrappers::{self, WrappedCommand};

/// The construct that has no canonical form.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unprintable(pub(crate) String);

pub(super) type PrintResult = Result<String, Unprintable>;

pub(super) fn unprintable<T>(what: impl Into<String>) -> Result<T, Unprintable> {
    Err(Unprintable(what.into()))
}

/// Words that begin or divide a compound command; as the name of a command they are quoted.
const RESERVED: [&str; 22] = [
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
    "in", "select", "then", "time", "until", "while", "{", "}",
];

/// Prints a line, and checks that the printed text is printed as itself.
pub(crate) fn canonical(line: &str) -> PrintResult {
    let printed = text(line, 0)?;
    match text(&printed, 0) {
        Ok(again) if again == printed => Ok(printed),
        Ok(_) | Err(_) => unprintable("the line changes its meaning when it is written in another way"),
    }
}

/// Parses and prints a text. `depth` counts substitutions and texts for other shells.
pub(super) fn text(line: &str, depth: usize) -> PrintResult {
    if depth > DEPTH_MAX {
        return unprintable(format!("commands stand more than {DEPTH_MAX} deep in each other"));
    }
    let mut parser = Parser::new(line.as_bytes(), &options());
    let program = parser.parse_program().map_err(|error| Unprintable(error.to_string()))?;
    let lists: Result<Vec<String>, _> =
        program.complete_commands.iter().map(|commands| list(commands, depth)).collect();
    Ok(lists?.into_iter().filter(|list| !list.is_empty()).collect::<Vec<_>>().join("\n"))
}

fn list(list: &CompoundList, depth: usize) -> PrintResult {
    let mut out = String::new();
    for (at, item) in list.0.iter().enumerate() {
        let mut one = pipeline(&item.0.first, depth)?;
        for more in &item.0.additional {
            let (sign, next) = match more {
                AndOr::And(next) => ("&&", next),
                AndOr::Or(next) => ("||", next),
            };
            one = format!("{one} {sign} {}", pipeline(next, depth)?);
        }
        out.push_str(&one);
        let is_last = at + 1 == list.0.len();
        match item.1 {
            SeparatorOperator::Async => out.push_str(if is_last { " &" } else { " & " }),
            SeparatorOperator::Sequence if is_last => {}
            SeparatorOperator::Sequence => out.push_str("; "),
        }
    }
    Ok(out)
}

/// Prints a list that a word such as `do` or `}` follows.
fn body(commands: &CompoundList, depth: usize) -> PrintResult {
    let text = list(commands, depth)?;
    Ok(if text.ends_with('&') { text } else { format!("{text};") })
}

fn pipeline(pipeline: &Pipeline, depth: usize) -> PrintResult {
    let commands: Result<Vec<String>, _> = pipeline.seq.iter().map(|one| command(one, depth)).collect();
    let mut out = String::new();
    match &pipeline.timed {
        Some(PipelineTimed::Timed(_)) => out.push_str("time "),
        Some(PipelineTimed::TimedWithPosixOutput(_)) => out.push_str("time -p "),
        None => {}
    }
    if pipeline.bang {
        out.push_str("! ");
    }
    Ok(out + &commands?.join(" | "))
}

fn command(command: &Command, depth: usize) -> PrintResult {
    match command {
        Command::Simple(simple) => simple_command(simple, depth),
        Command::Compound(inner, redirects) => {
            Ok(format!("{}{}", compound(inner, depth)?, all_redirects(redirects.as_ref(), depth)?))
        }
        Command::Function(function) => {
            let name = &function.fname.value;
            let is_plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
            if !is_plain || name.is_empty() || RESERVED.contains(&name.as_str()) {
                return unprintable(format!("a function is called `{name}`"));
            }
            let inner = compound(&function.body.0, depth)?;
            Ok(format!("{name}() {inner}{}", all_redirects(function.body.1.as_ref(), depth)?))
        }
        Command::ExtendedTest(test, redirects) => {
            let redirects = all_redirects(redirects.as_ref(), depth)?;
            Ok(format!("[[ {} ]]{redirects}", condition(&test.expr, depth)?))
        }
    }
}

fn compound(compound: &CompoundCommand, depth: usize) -> PrintResult {
    let depth = depth + 1;
    if depth > 4 * DEPTH_MAX {
        return unprintable("compound commands are nested too deeply");
    }
    Ok(match compound {
        CompoundCommand::Arithmetic(inner) => format!("(( {} ))", calculated(&inner.expr.value, depth)?),
        CompoundCommand::ArithmeticForClause(clause) => {
            let part = |part: &Option<ast::UnexpandedArithmeticExpr>| {
                part.as_ref().map_or(Ok(String::new()), |part| arithmetic(&part.value))
            };
            let (first, test, next) =
                (part(&clause.initializer)?, part(&clause.condition)?, part(&clause.updater)?);
            format!("for (( {first}; {test}; {next} )); do {} done", body(&clause.body.list, depth)?)
        }
        CompoundCommand::BraceGroup(group) => format!("{{ {} }}", body(&group.list, depth)?),
        CompoundCommand::Subshell(subshell) => format!("( {} )", list(&subshell.list, depth)?),
        CompoundCommand::ForClause(clause) => {
            let name = &clause.variable_name;
            if !is_name(name) {
                return unprintable(format!("`{name}` is not a variable"));
            }
            let values = match &clause.values {
                Some(values) => format!(" in{}", spaced(values, depth)?),
                None => String::new(),
            };
            format!("for {name}{values}; do {} done", body(&clause.body.list, depth)?)
        }
        CompoundCommand::CaseClause(clause) => {
            let mut out = format!("case {} in ", word(&clause.value.value, depth)?);
            for case in &clause.cases {
                let patterns: Result<Vec<String>, _> =
                    case.patterns.iter().map(|pattern| word(&pattern.value, depth)).collect();
                let commands = case.cmd.as_ref().map_or(Ok(String::new()), |inner| list(inner, depth))?;
                let end = match case.post_action {
                    CaseItemPostAction::ExitCase => ";;",
                    CaseItemPostAction::UnconditionallyExecuteNextCaseItem => ";&",
                    CaseItemPostAction::ContinueEvaluatingCases => ";;&",
                };
                out.push_str(&format!("({}) {commands} {end} ", patterns?.join(" | ")));
            }
            out + "esac"
        }
        CompoundCommand::IfClause(clause) => {
            let mut out =
                format!("if {} then {}", body(&clause.condition, depth)?, body(&clause.then, depth)?);
            for otherwise in clause.elses.as_deref().unwrap_or_default() {
                out = match &otherwise.condition {
                    Some(condition) => format!("{out} elif {} then", body(condition, depth)?),
                    None => format!("{out} else"),
                };
                out = format!("{out} {}", body(&otherwise.body, depth)?);
            }
            out + " fi"
        }
        CompoundCommand::WhileClause(clause) => {
            format!("while {} do {} done", body(&clause.0, depth)?, body(&clause.1.list, depth)?)
        }
        CompoundCommand::UntilClause(clause) => {
            format!("until {} do {} done", body(&clause.0, depth)?, body(&clause.1.list, depth)?)
        }
        CompoundCommand::Coprocess(_) => return unprintable("a coprocess has no safe form"),
    })
}

fn spaced(words: &[ast::Word], depth: usize) -> PrintResult {
    let words: Result<Vec<String>, _> = words.iter().map(|one| word(&one.value, depth)).collect();
    Ok(words?.into_iter().map(|word| format!(" {word}")).collect())
}

fn condition(test: &ExtendedTestExpr, depth: usize) -> PrintResult {
    Ok(match test {
        ExtendedTestExpr::And(left, right) => {
            format!("{} && {}", condition(left, depth)?, condition(right, depth)?)
        }
        ExtendedTestExpr::Or(left, right) => {
            format!("{} || {}", condition(left, depth)?, condition(right, depth)?)
        }
        ExtendedTestExpr::Not(inner) => format!("! {}", condition(inner, depth)?),
        ExtendedTestExpr::Parenthesized(inner) => format!("( {} )", condition(inner, depth)?),
        ExtendedTestExpr::UnaryTest(sign, one) => format!("{sign} {}", word(&one.value, depth)?),
        ExtendedTestExpr::BinaryTest(sign, left, right) => {
            let right = match sign {
                ast::BinaryPredicate::StringMatchesRegex => regex(&right.value, depth)?,
                _ => word(&right.value, depth)?,
            };
            // The parser's names of some signs are not those of bash.
            let sign = match sign {
                ast::BinaryPredicate::StringMatchesRegex => "=~".to_owned(),
                other => other.to_string(),
            };
            format!("{} {sign} {right}", word(&left.value, depth)?)
        }
    })
}

fn simple_command(simple: &SimpleCommand, depth: usize) -> PrintResult {
    let mut parts = Vec::new();
    for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
        parts.push(match item {
            CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => assigned(assignment, depth)?,
            other => suffix_item(other, depth, &[])?,
        });
    }
    let lines = executed(simple, depth)?;
    if let Some(name) = &simple.word_or_name {
        let printed = word(&name.value, depth)?;
        let is_special = RESERVED.contains(&printed.as_str());
        // Neither a keyword nor an assignment to bash, since it is neither here.
        let is_bare = !name.value.contains(['\'', '"', '\\', '$', '`']);
        let printed = match (is_special, is_bare) {
            (true, _) => single_quoted(&printed),
            (false, true) => printed.replace('=', "'='"),
            (false, false) => printed,
        };
        parts.push(printed);
    }
    let is_eval = simple.word_or_name.as_ref().is_some_and(|name| name.value == "eval");
    for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
        match (item, is_eval, lines.first()) {
            // All its arguments are one text.
            (CommandPrefixOrSuffixItem::IoRedirect(one), true, Some(_)) => parts.push(redirect(one, depth)?),
            (_, true, Some(_)) => {}
            _ => parts.push(suffix_item(item, depth, &lines)?),
        }
    }
    if let (true, Some((_, printed))) = (is_eval, lines.first()) {
        parts.push(single_quoted(printed));
    }
    Ok(parts.join(" "))
}

/// Returns the texts in a command's arguments that another shell runs, with their printed form.
fn executed(simple: &SimpleCommand, depth: usize) -> Result<Vec<(String, String)>, Unprintable> {
    let words = simple.suffix.iter().flat_map(|suffix| &suffix.0).filter_map(|item| match item {
        CommandPrefixOrSuffixItem::Word(word) | CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
            Some(word)
        }
        CommandPrefixOrSuffixItem::IoRedirect(_) | CommandPrefixOrSuffixItem::ProcessSubstitution(..) => None,
    });
    let known = |word: &ast::Word| {
        let pieces = brush_parser::word::parse(&word.value, &options()).unwrap_or_default();
        Word::of_pieces(&word.value, &pieces)
    };
    let words: Vec<Word> = simple.word_or_name.iter().chain(words).map(known).collect();
    let mut found = Vec::new();
    let mut open = vec![(words.clone(), 0_usize)];
    while let Some((command, nested)) = open.pop() {
        for inner in wrappers::inner(&Simple { words: command }) {
            match inner {
                WrappedCommand::Command(words) if nested < DEPTH_MAX => open.push((words, nested + 1)),
                WrappedCommand::Command(_) => return unprintable("commands run each other too deeply"),
                WrappedCommand::Line(line) => {
                    let is_whole = nested == 0 && words.first().is_some_and(|name| name.is("eval"));
                    if !is_whole && !words.iter().any(|word| word.is(&line)) {
                        return unprintable("the text of `eval` has several parts: quote it as one");
                    }
                    let printed = text(&line, depth + 1)?;
                    found.push((line, printed));
                }
                WrappedCommand::Assigned(_) | WrappedCommand::Written(_) | WrappedCommand::Unknowable(_) => {}
            }
        }
    }
    let is_bash = words.first().is_some_and(|name| ["bash", "eval", "trap"].contains(&name.text()));
    let needs_bash = |text: &str| text.contains("<<<") || text.contains("[[ ") || text.contains("&>");
    match found.iter().any(|(_, printed)| needs_bash(printed)) && !is_bash {
        true => unprintable("a text for another shell needs bash: run it with `bash -c`, or without"),
        false => Ok(found),
    }
}

fn suffix_item(item: &CommandPrefixOrSuffixItem, depth: usize, lines: &[(String, String)]) -> PrintResult {
    match item {
        CommandPrefixOrSuffixItem::IoRedirect(one) => redirect(one, depth),
        CommandPrefixOrSuffixItem::Word(one) => argument(&one.value, depth, lines),
        CommandPrefixOrSuffixItem::AssignmentWord(assignment, one) => match &assignment.value {
            AssignmentValue::Scalar(_) => argument(&one.value, depth, lines),
            AssignmentValue::Array(_) => assigned(assignment, depth),
        },
        CommandPrefixOrSuffixItem::ProcessSubstitution(kind, subshell) => {
            substituted(kind, &subshell.list, depth)
        }
    }
}

fn argument(value: &str, depth: usize, lines: &[(String, String)]) -> PrintResult {
    if !lines.is_empty() {
        let pieces = brush_parser::word::parse(value, &options()).unwrap_or_default();
        let known = Word::of_pieces(value, &pieces);
        if let Some((_, printed)) = lines.iter().find(|(line, _)| known.is(line)) {
            return Ok(single_quoted(printed));
        }
    }
    word(value, depth)
}

fn substituted(kind: &ProcessSubstitutionKind, commands: &CompoundList, depth: usize) -> PrintResult {
    let sign = match kind {
        ProcessSubstitutionKind::Read => "<",
        ProcessSubstitutionKind::Write => ">",
    };
    Ok(format!("{sign}( {} )", list(commands, depth + 1)?))
}

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn assigned(assignment: &Assignment, depth: usize) -> PrintResult {
    let name = match &assignment.name {
        AssignmentName::VariableName(name) if is_name(name) => name.clone(),
        AssignmentName::ArrayElementName(name, index) if is_name(name) => {
            format!("{name}[{}]", arithmetic(index)?)
        }
        other => return unprintable(format!("`{other}` is not a variable")),
    };
    let sign = if assignment.append { "+=" } else { "=" };
    let value = match &assignment.value {
        AssignmentValue::Scalar(value) => word(&value.value, depth)?,
        AssignmentValue::Array(items) => {
            let mut printed = Vec::new();
            for (key, value) in items {
                let value = word(&value.value, depth)?;
                printed.push(match key {
                    Some(key) => format!("[{}]={value}", word(&key.value, depth)?),
                    None => value,
                });
            }
            format!("({})", printed.join(" "))
        }
    };
    Ok(format!("{name}{sign}{value}"))
}

fn all_redirects(redirects: Option<&RedirectList>, depth: usize) -> PrintResult {
    let all: Result<Vec<String>, _> =
        redirects.iter().flat_map(|list| &list.0).map(|one| redirect(one, depth)).collect();
    Ok(all?.into_iter().map(|one| format!(" {one}")).collect())
}

fn redirect(redirect: &IoRedirect, depth: usize) -> PrintResult {
    let number = |fd: &Option<ast::IoFd>| fd.map(|fd| fd.to_string()).unwrap_or_default();
    Ok(match redirect {
        IoRedirect::File(fd, kind, target) => {
            let target = match target {
                IoFileRedirectTarget::Filename(name) => format!(" {}", word(&name.value, depth)?),
                IoFileRedirectTarget::Fd(fd) => fd.to_string(),
                IoFileRedirectTarget::Duplicate(name) => word(&name.value, depth)?,
                IoFileRedirectTarget::ProcessSubstitution(kind, subshell) => {
                    format!(" {}", substituted(kind, &subshell.list, depth)?)
                }
            };
            format!("{}{kind}{target}", number(fd))
        }
        IoRedirect::HereDocument(fd, document) => {
            // A here-string ends with a newline, as every here-document does.
            let text = document.doc.value.strip_suffix('\n');
            match text {
                None if document.doc.value.is_empty() => format!("{}< /dev/null", number(fd)),
                None => return unprintable("a here-document has no end"),
                Some(text) if document.requires_expansion => {
                    format!("{}<<< {}", number(fd), heredoc(text, depth)?)
                }
                Some(text) => format!("{}<<< {}", number(fd), single_quoted(text)),
            }
        }
        IoRedirect::HereString(fd, text) => format!("{}<<< {}", number(fd), word(&text.value, depth)?),
        IoRedirect::OutputAndError(target, appends) => {
            format!("&>{} {}", if *appends { ">" } else { "" }, word(&target.value, depth)?)
        }
    })
}
