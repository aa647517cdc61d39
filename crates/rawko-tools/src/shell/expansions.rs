//! Commands inside words, redirections and arithmetic, which run during expansion. Separate from the walk over commands
//! because these are the places to hide a command.

use brush_parser::ast::{IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, RedirectList};
use brush_parser::word::{
    self, Parameter, ParameterExpr, ParameterTransformOp, WordPiece, WordPieceWithSource,
};

use super::walk::{LineWalk, ShellReadError, options};
use super::word::Word;

type WalkResult = Result<(), ShellReadError>;

impl LineWalk {
    pub(super) fn word(&mut self, text: &str) -> Result<Word, ShellReadError> {
        let pieces =
            word::parse(text, &options()).map_err(|error| ShellReadError::Syntax(error.to_string()))?;
        self.pieces(&pieces)?;
        let word = Word::of_pieces(text, &pieces);
        if word.known().is_none() {
            self.note_file_parts(text);
        }
        Ok(word)
    }

    /// Records the parts of an unknown word that may name a file: `.env` of `$dir/.env`, or the pattern `.e*`.
    fn note_file_parts(&mut self, text: &str) {
        let plain = text.replace(['"', '\'', '\\'], "");
        if !plain.contains(['$', '`', '(']) {
            self.reading.globs.push(plain);
            return;
        }
        let tail = plain.rsplit(['}', '$', '`', ')']).next().unwrap_or_default();
        if let Some((_, tail)) = tail.split_once('/') {
            let target = if tail.contains(['*', '?', '[']) {
                &mut self.reading.globs
            } else {
                &mut self.reading.values
            };
            target.push(tail.to_owned());
        }
    }

    fn pieces(&mut self, pieces: &[WordPieceWithSource]) -> WalkResult {
        pieces.iter().try_for_each(|piece| self.piece(&piece.piece))
    }

    fn piece(&mut self, piece: &WordPiece) -> WalkResult {
        match piece {
            WordPiece::Text(text) => plain(text),
            WordPiece::DoubleQuotedSequence(pieces) | WordPiece::GettextDoubleQuotedSequence(pieces) => {
                self.pieces(pieces)
            }
            WordPiece::ParameterExpansion(parameter) => self.parameter(parameter),
            WordPiece::CommandSubstitution(line) => self.line(line),
            // The effect of a backslash between backquotes depends on the surrounding quotes.
            WordPiece::BackquotedCommandSubstitution(line) if line.contains('\\') => {
                self.cannot_know("there is a backslash between backquotes: write `$(…)`".into());
                self.line(line)
            }
            WordPiece::BackquotedCommandSubstitution(line) => self.line(line),
            WordPiece::ArithmeticExpression(expression) => self.arithmetic(&expression.value),
            WordPiece::SingleQuotedText(_)
            | WordPiece::AnsiCQuotedText(_)
            | WordPiece::TildeExpansion(_)
            | WordPiece::EscapeSequence(_) => Ok(()),
        }
    }

    fn parameter(&mut self, parameter: &ParameterExpr) -> WalkResult {
        if let ParameterExpr::Transform { op: ParameterTransformOp::PromptExpand, .. } = parameter {
            self.cannot_know("`@P` runs what a variable holds".into());
        }
        if let ParameterExpr::AssignDefaultValues { parameter, .. } = parameter {
            self.reading.assigned.push(parameter.to_string().trim_matches(['$', '{', '}']).to_owned());
        }
        if let Some((subject, is_indirect)) = subject(parameter) {
            if is_indirect {
                self.cannot_know(format!("`${{!…}}` uses what {subject} holds as a name"));
            }
            if let Parameter::NamedWithIndex { index, .. } = subject {
                self.arithmetic(index)?;
            }
        }
        self.nested(parameter)
    }

    /// Walks the texts of a parameter expansion. The effect of quotes in them depends on the surrounding quotes, so
    /// both readings are walked: this finds more commands than run, never fewer.
    fn nested(&mut self, parameter: &ParameterExpr) -> WalkResult {
        self.deeper()?;
        for text in texts(parameter) {
            self.word(text)?;
            let quoted = word::parse_heredoc(text, &options())
                .map_err(|error| ShellReadError::Syntax(error.to_string()))?;
            self.pieces(&quoted)?;
        }
        if let ParameterExpr::Substring { offset, length, .. } = parameter {
            self.arithmetic(&offset.value)?;
            length.as_ref().map_or(Ok(()), |length| self.arithmetic(&length.value))?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Walks arithmetic, which evaluates variables recursively, including substitutions in their values. Only numbers
    /// are therefore known.
    pub(super) fn arithmetic(&mut self, expression: &str) -> WalkResult {
        if expression.contains(|letter: char| letter.is_alphabetic() || matches!(letter, '_' | '$' | '`')) {
            let why = format!("`{}` is calculated from variables", expression.trim());
            // A variable can hold a subscript, and a subscript a command. So can the output of a command, which the
            // kernel confines.
            let outside = substitutions(expression).map(|(outside, _)| outside.concat());
            let is_hiding = |rest: String| {
                let is_quoted = rest.contains('"') && !rest.trim_matches([' ', '"']).is_empty();
                is_quoted || rest.contains(['`', '[', '\'']) || rest.contains("$(")
            };
            match outside.is_none_or(is_hiding) {
                true => self.cannot_know(why),
                false => self.reading.calculated.push(why),
            }
        }
        self.word(expression).map(drop)
    }

    /// Walks one side of `-eq` and the like in `[[ … ]]`, which is arithmetic too.
    pub(super) fn compared(&mut self, side: &str) -> WalkResult {
        let word = self.word(side)?;
        match word.known() {
            Some(number) if number.parse::<i64>().is_ok() => Ok(()),
            Some(_) | None => self.arithmetic(side),
        }
    }

    pub(super) fn redirects(&mut self, redirects: Option<&RedirectList>) -> WalkResult {
        redirects.iter().flat_map(|list| &list.0).try_for_each(|redirect| self.redirect(redirect))
    }

    pub(super) fn redirect(&mut self, redirect: &IoRedirect) -> WalkResult {
        match redirect {
            IoRedirect::File(_, kind, target) => self.file(kind, target),
            IoRedirect::HereDocument(_, document) if document.requires_expansion => {
                let pieces = word::parse_heredoc(&document.doc.value, &options());
                self.pieces(&pieces.map_err(|error| ShellReadError::Syntax(error.to_string()))?)
            }
            IoRedirect::HereDocument(_, _) => Ok(()),
            IoRedirect::HereString(_, text) => self.word(&text.value).map(drop),
            IoRedirect::OutputAndError(target, _) => {
                let target = self.word(&target.value)?;
                self.reading.writes.push(target);
                Ok(())
            }
        }
    }

    fn file(&mut self, kind: &IoFileRedirectKind, target: &IoFileRedirectTarget) -> WalkResult {
        let target = match target {
            IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) => {
                self.word(&word.value)?
            }
            IoFileRedirectTarget::Fd(_) => return Ok(()),
            IoFileRedirectTarget::ProcessSubstitution(_, subshell) => return self.list(&subshell.list),
        };
        match kind {
            IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput => self.reading.reads.push(target),
            IoFileRedirectKind::DuplicateOutput if is_descriptor(&target) => {}
            IoFileRedirectKind::Write
            | IoFileRedirectKind::Append
            | IoFileRedirectKind::ReadAndWrite
            | IoFileRedirectKind::Clobber
            | IoFileRedirectKind::DuplicateOutput => self.reading.writes.push(target),
        }
        Ok(())
    }
}

/// Splits an expression at its command substitutions: the text around them, and their lines. `None` if one has no end.
pub(super) fn substitutions(expression: &str) -> Option<(Vec<&str>, Vec<&str>)> {
    let (mut outside, mut lines, mut rest) = (Vec::new(), Vec::new(), expression);
    while let Some(at) = rest.find("$(").filter(|at| !rest[*at..].starts_with("$((")) {
        let mut depth = 0_usize;
        let end = rest[at + 1..].char_indices().find_map(|(place, letter)| {
            match letter {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            (depth == 0).then_some(at + 1 + place)
        })?;
        outside.push(&rest[..at]);
        lines.push(&rest[at + 2..end]);
        rest = &rest[end + 1..];
    }
    outside.push(rest);
    Some((outside, lines))
}

/// Matches `>&2`, `>&-`, `>&3-`.
fn is_descriptor(target: &Word) -> bool {
    target.known().is_some_and(|text| text.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit()))
}

/// Rejects plain text that bash would still expand: the parser and bash disagree about such a line.
fn plain(text: &str) -> Result<(), ShellReadError> {
    let hidden = ["$(", "${", "$[", "`"].into_iter().find(|sign| text.contains(sign));
    hidden.map_or(Ok(()), |sign| Err(ShellReadError::Syntax(format!("`{sign}` without its end"))))
}

fn texts(parameter: &ParameterExpr) -> Vec<&str> {
    match parameter {
        ParameterExpr::UseDefaultValues { default_value: text, .. }
        | ParameterExpr::AssignDefaultValues { default_value: text, .. }
        | ParameterExpr::IndicateErrorIfNullOrUnset { error_message: text, .. }
        | ParameterExpr::UseAlternativeValue { alternative_value: text, .. }
        | ParameterExpr::RemoveSmallestSuffixPattern { pattern: text, .. }
        | ParameterExpr::RemoveLargestSuffixPattern { pattern: text, .. }
        | ParameterExpr::RemoveSmallestPrefixPattern { pattern: text, .. }
        | ParameterExpr::RemoveLargestPrefixPattern { pattern: text, .. }
        | ParameterExpr::UppercaseFirstChar { pattern: text, .. }
        | ParameterExpr::UppercasePattern { pattern: text, .. }
        | ParameterExpr::LowercaseFirstChar { pattern: text, .. }
        | ParameterExpr::LowercasePattern { pattern: text, .. } => text.iter().map(String::as_str).collect(),
        ParameterExpr::ReplaceSubstring { pattern, replacement, .. } => {
            std::iter::once(pattern.as_str()).chain(replacement.as_deref()).collect()
        }
        ParameterExpr::Parameter { .. }
        | ParameterExpr::ParameterLength { .. }
        | ParameterExpr::Substring { .. }
        | ParameterExpr::Transform { .. }
        | ParameterExpr::VariableNames { .. }
        | ParameterExpr::MemberKeys { .. } => Vec::new(),
    }
}

/// Returns the expanded parameter, and true if its value is the name of another one.
fn subject(expression: &ParameterExpr) -> Option<(&Parameter, bool)> {
    match expression {
        ParameterExpr::Parameter { parameter, indirect }
        | ParameterExpr::UseDefaultValues { parameter, indirect, .. }
        | ParameterExpr::AssignDefaultValues { parameter, indirect, .. }
        | ParameterExpr::IndicateErrorIfNullOrUnset { parameter, indirect, .. }
        | ParameterExpr::UseAlternativeValue { parameter, indirect, .. }
        | ParameterExpr::ParameterLength { parameter, indirect }
        | ParameterExpr::RemoveSmallestSuffixPattern { parameter, indirect, .. }
        | ParameterExpr::RemoveLargestSuffixPattern { parameter, indirect, .. }
        | ParameterExpr::RemoveSmallestPrefixPattern { parameter, indirect, .. }
        | ParameterExpr::RemoveLargestPrefixPattern { parameter, indirect, .. }
        | ParameterExpr::Substring { parameter, indirect, .. }
        | ParameterExpr::Transform { parameter, indirect, .. }
        | ParameterExpr::UppercaseFirstChar { parameter, indirect, .. }
        | ParameterExpr::UppercasePattern { parameter, indirect, .. }
        | ParameterExpr::LowercaseFirstChar { parameter, indirect, .. }
        | ParameterExpr::LowercasePattern { parameter, indirect, .. }
        | ParameterExpr::ReplaceSubstring { parameter, indirect, .. } => Some((parameter, *indirect)),
        ParameterExpr::VariableNames { .. } | ParameterExpr::MemberKeys { .. } => None,
    }
}
