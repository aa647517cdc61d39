//! Walks a parsed command line to every simple command in it. A construct unknown to the parser or to this walk is
//! never skipped: it becomes an error, or a reason to treat the line as unknown.

use brush_parser::ast::{
    AndOr, Assignment, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem, CompoundCommand,
    CompoundList, ExtendedTestExpr, Pipeline, SimpleCommand, UnaryPredicate,
};
use brush_parser::{Parser, ParserOptions, ast};

use super::reading::{DEPTH_MAX, LineReading, Simple};
use super::runs;
use super::word::Word;
use super::wrappers::{self, WrappedCommand};

/// A parse error; the line is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ShellReadError {
    #[error("it cannot be read as a bash command: {0}")]
    Syntax(String),
    #[error("commands stand more than {DEPTH_MAX} deep in each other")]
    TooDeep,
}

pub(super) fn options() -> ParserOptions {
    // Like `bash -c`: no extended patterns outside `[[ … ]]`.
    ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() }
}

pub(super) struct LineWalk {
    pub(super) reading: LineReading,
    pub(super) depth: usize,
    /// A text on the line that is the input of the command that is being read.
    fed: Option<String>,
}

type WalkResult = Result<(), ShellReadError>;

impl LineWalk {
    pub(super) fn read(line: &str) -> Result<LineReading, ShellReadError> {
        let mut walk = LineWalk { reading: LineReading::default(), depth: 0, fed: None };
        walk.line(line)?;
        Ok(walk.reading)
    }

    /// Walks a separate text: the whole line, a substitution, the argument of `sh -c`.
    pub(super) fn line(&mut self, text: &str) -> WalkResult {
        self.deeper()?;
        let mut parser = Parser::new(text.as_bytes(), &options());
        let program = parser.parse_program().map_err(|error| ShellReadError::Syntax(error.to_string()))?;
        program.complete_commands.iter().try_for_each(|list| self.list(list))?;
        self.depth -= 1;
        Ok(())
    }

    pub(super) fn deeper(&mut self) -> WalkResult {
        self.depth += 1;
        if self.depth > DEPTH_MAX { Err(ShellReadError::TooDeep) } else { Ok(()) }
    }

    pub(super) fn list(&mut self, list: &CompoundList) -> WalkResult {
        for item in &list.0 {
            self.pipeline(&item.0.first)?;
            for more in &item.0.additional {
                match more {
                    AndOr::And(pipeline) | AndOr::Or(pipeline) => self.pipeline(pipeline)?,
                }
            }
        }
        Ok(())
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> WalkResult {
        let from = self.reading.commands.len();
        pipeline.seq.iter().try_for_each(|command| self.command(command))?;
        if pipeline.seq.len() > 1 {
            self.reading.pipelines.push((from, self.reading.commands.len()));
        }
        Ok(())
    }

    fn command(&mut self, command: &Command) -> WalkResult {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                self.compound(compound)?;
                self.redirects(redirects.as_ref())
            }
            // Calling a function is a command like any other: its name must be allowed. Naming a function after an
            // allowed command gains nothing, because its body is checked here in any case.
            Command::Function(function) => {
                self.compound(&function.body.0)?;
                self.redirects(function.body.1.as_ref())
            }
            Command::ExtendedTest(test, redirects) => {
                self.test(&test.expr)?;
                self.redirects(redirects.as_ref())
            }
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) -> WalkResult {
        match compound {
            CompoundCommand::Arithmetic(arithmetic) => self.arithmetic(&arithmetic.expr.value),
            CompoundCommand::ArithmeticForClause(clause) => {
                for part in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.arithmetic(&part.value)?;
                }
                self.list(&clause.body.list)
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(subshell) => self.list(&subshell.list),
            CompoundCommand::ForClause(clause) => {
                self.reading.assigned.push(clause.variable_name.clone());
                let mut are_files = clause.values.is_some();
                for value in clause.values.as_deref().unwrap_or_default() {
                    let word = self.word(&value.value)?;
                    are_files &= !word.prefix.is_empty() && !word.prefix.starts_with('/')
                        || (word.known().is_none() && word.shown.starts_with(['*', '?', '[']));
                }
                if are_files {
                    self.reading.loops.push(clause.variable_name.clone());
                }
                self.list(&clause.body.list)
            }
            CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value.value)?;
                for case in &clause.cases {
                    self.words(&case.patterns)?;
                    case.cmd.as_ref().map_or(Ok(()), |list| self.list(list))?;
                }
                Ok(())
            }
            CompoundCommand::IfClause(clause) => self.conditional(clause),
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0)?;
                self.list(&clause.1.list)
            }
            CompoundCommand::Coprocess(coprocess) => self.command(&coprocess.body),
        }
    }

    fn conditional(&mut self, clause: &ast::IfClauseCommand) -> WalkResult {
        self.list(&clause.condition)?;
        self.list(&clause.then)?;
        for otherwise in clause.elses.as_deref().unwrap_or_default() {
            otherwise.condition.as_ref().map_or(Ok(()), |list| self.list(list))?;
            self.list(&otherwise.body)?;
        }
        Ok(())
    }

    fn test(&mut self, test: &ExtendedTestExpr) -> WalkResult {
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left)?;
                self.test(right)
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ExtendedTestExpr::UnaryTest(predicate, word) => {
                // The name of a variable may contain a subscript, which is evaluated.
                if matches!(predicate, UnaryPredicate::ShellVariableIsSetAndAssigned) {
                    self.arithmetic(&word.value)?;
                }
                self.word(&word.value).map(drop)
            }
            ExtendedTestExpr::BinaryTest(predicate, left, right) => {
                if predicate.to_string().starts_with('-') && predicate.to_string().len() == 3 {
                    self.compared(&left.value)?;
                    self.compared(&right.value)?;
                }
                self.word(&left.value)?;
                self.word(&right.value).map(drop)
            }
        }
    }

    fn words(&mut self, words: &[ast::Word]) -> WalkResult {
        words.iter().try_for_each(|word| self.word(&word.value).map(drop))
    }

    fn simple(&mut self, simple: &SimpleCommand) -> WalkResult {
        let mut words = Vec::new();
        let before = self.reading.assigned.len();
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            self.item(item, &mut Vec::new())?;
        }
        // `IFS= read` sets it for `read` alone.
        if simple.word_or_name.as_ref().is_some_and(|name| name.value == "read") {
            let mut own = self.reading.assigned.split_off(before);
            own.retain(|name| name != "IFS");
            self.reading.assigned.extend(own);
        }
        if let Some(name) = &simple.word_or_name {
            words.push(self.word(&name.value)?);
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, &mut words)?;
        }
        let outer = std::mem::replace(&mut self.fed, input(simple));
        self.invoked(words)?;
        self.fed = outer;
        Ok(())
    }

    fn item(&mut self, item: &CommandPrefixOrSuffixItem, words: &mut Vec<Word>) -> WalkResult {
        match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect)?,
            CommandPrefixOrSuffixItem::Word(word) => words.push(self.word(&word.value)?),
            CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                self.assignment(assignment)?;
                words.push(Word { shown: word.value.clone(), ..self.assigned_word(assignment, word)? });
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, subshell) => {
                self.list(&subshell.list)?;
                words.push(Word { prefix: "/dev/fd/".into(), splits: false, ..Word::unknown("<(…)") });
            }
        }
        Ok(())
    }

    fn assigned_word(&mut self, assignment: &Assignment, word: &ast::Word) -> Result<Word, ShellReadError> {
        match assignment.value {
            AssignmentValue::Scalar(_) => self.word(&word.value),
            AssignmentValue::Array(_) => Ok(Word::unknown(&word.value)),
        }
    }

    fn assignment(&mut self, assignment: &Assignment) -> WalkResult {
        match &assignment.name {
            AssignmentName::VariableName(name) => self.reading.assigned.push(name.clone()),
            AssignmentName::ArrayElementName(name, index) => {
                self.reading.assigned.push(name.clone());
                self.arithmetic(index)?;
            }
        }
        match &assignment.value {
            AssignmentValue::Scalar(word) => {
                let word = self.word(&word.value)?;
                self.reading.values.extend(word.known);
                Ok(())
            }
            AssignmentValue::Array(items) => {
                for (index, value) in items {
                    index.as_ref().map_or(Ok(()), |index| self.arithmetic(&index.value))?;
                    self.word(&value.value)?;
                }
                Ok(())
            }
        }
    }

    /// Records a command and, if it is a wrapper, the command it runs.
    pub(super) fn invoked(&mut self, words: Vec<Word>) -> WalkResult {
        let Some(first) = words.first() else { return Ok(()) };
        if first.known().is_none() {
            self.cannot_know(format!("`{}` stands where a command's name should", first.shown));
        }
        self.deeper()?;
        for inner in wrappers::inner(&Simple { words: words.clone() }) {
            self.inner(inner)?;
        }
        for run in runs::runs(&Simple { words: words.clone() }, self.fed.as_deref()) {
            self.run(run)?;
        }
        self.depth -= 1;
        let is_transparent = wrappers::is_transparent(&words);
        let list = if is_transparent { &mut self.reading.wrappers } else { &mut self.reading.commands };
        list.push(Simple { words });
        Ok(())
    }

    fn inner(&mut self, inner: WrappedCommand) -> WalkResult {
        match inner {
            WrappedCommand::Command(words) => self.invoked(words),
            WrappedCommand::Line(text) => self.line(&text),
            WrappedCommand::Assigned(name) => {
                self.reading.assigned.push(name);
                Ok(())
            }
            WrappedCommand::Written(word) => {
                self.reading.writes.push(word);
                Ok(())
            }
            WrappedCommand::Unknowable(why) => {
                self.cannot_know(why);
                Ok(())
            }
        }
    }

    /// Records what a program runs by text in its arguments. Text that is no command line of a shell is opaque.
    fn run(&mut self, run: WrappedCommand) -> WalkResult {
        let mut walk = LineWalk { reading: LineReading::default(), depth: self.depth, fed: None };
        match run {
            WrappedCommand::Command(words) => walk.invoked(words)?,
            WrappedCommand::Line(text) => match walk.line(&text) {
                Ok(()) => {}
                Err(ShellReadError::TooDeep) => return Err(ShellReadError::TooDeep),
                Err(ShellReadError::Syntax(_)) => {
                    self.reading.opaque.push(format!("`{text}` is run, and cannot be read"));
                }
            },
            WrappedCommand::Unknowable(why) => self.reading.opaque.push(why),
            WrappedCommand::Assigned(_) | WrappedCommand::Written(_) => {}
        }
        let found = walk.reading;
        self.reading.inner.extend(found.commands.into_iter().chain(found.wrappers).chain(found.inner));
        self.reading.opaque.extend(found.unknowable.into_iter().chain(found.opaque));
        self.reading.writes.extend(found.writes);
        Ok(())
    }

    pub(super) fn cannot_know(&mut self, why: String) {
        self.reading.unknowable.push(why);
    }
}

/// Returns the text of a here-document or here-string, if it is known.
fn input(simple: &SimpleCommand) -> Option<String> {
    let items = simple.prefix.iter().flat_map(|prefix| &prefix.0);
    let items = items.chain(simple.suffix.iter().flat_map(|suffix| &suffix.0));
    items
        .filter_map(|item| match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => Some(redirect),
            _ => None,
        })
        .filter_map(|redirect| match redirect {
            ast::IoRedirect::HereDocument(None | Some(0), document) => {
                let text = document.doc.value.clone();
                let is_known = !document.requires_expansion || !text.contains(['$', '`', '\\']);
                is_known.then_some(text)
            }
            ast::IoRedirect::HereString(None | Some(0), text) => {
                let pieces = brush_parser::word::parse(&text.value, &options()).ok()?;
                Word::of_pieces(&text.value, &pieces).known
            }
            _ => None,
        })
        .next_back()
}
