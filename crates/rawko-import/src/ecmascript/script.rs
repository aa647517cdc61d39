//! Scripts that consist of assignments only: the part of `<script>` that our `assign` can express.

use super::Untranslatable;
use super::syntax::{EcmaParser, Js};
use super::token::EcmaToken;

/// Keywords of statements other than assignments.
const STATEMENTS: [&str; 9] = ["if", "for", "while", "do", "switch", "try", "throw", "function", "class"];

/// One statement of a plain script.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Statement {
    /// `var x` or `var x = 1`: declares the name.
    Declare(String, Option<Js>),
    /// `x = …`, `x.y = …`; `x += 1` and `x++` are written out.
    Assign(Js, Js),
}

/// Parses a script, or names the part that is not an assignment.
pub(crate) fn parse_script(text: &str) -> Result<Vec<Statement>, Untranslatable> {
    let mut parser = EcmaParser::new(text)?;
    let mut statements = Vec::new();
    while parser.peek().is_some() {
        parser.begin_statement();
        if parser.accept(";") {
            continue;
        }
        if ["var", "let", "const"].iter().any(|word| parser.at_word(word)) {
            parser.next();
            declarations(&mut parser, &mut statements)?;
        } else {
            statements.push(assignment(&mut parser)?);
        }
    }
    Ok(statements)
}

fn declarations(parser: &mut EcmaParser, statements: &mut Vec<Statement>) -> Result<(), Untranslatable> {
    loop {
        let Some(EcmaToken::Word(name)) = parser.next() else {
            return Err(Untranslatable::Illegal("`var` without a name".to_owned()));
        };
        let value = if parser.accept("=") { Some(parser.expression()?) } else { None };
        statements.push(Statement::Declare(name, value));
        if !parser.accept(",") {
            return Ok(());
        }
    }
}

fn assignment(parser: &mut EcmaParser) -> Result<Statement, Untranslatable> {
    for (sign, operator) in [("++", "+"), ("--", "-")] {
        if parser.accept(sign) {
            let place = parser.expression()?;
            return Ok(Statement::Assign(place.clone(), step(operator, place)));
        }
    }
    if let Some(EcmaToken::Word(word)) = parser.peek()
        && STATEMENTS.contains(&word.as_str())
    {
        return Err(Untranslatable::foreign(format!("`{word}`")));
    }
    let place = parser.expression()?;
    for (sign, operator) in [("++", "+"), ("--", "-")] {
        if parser.accept(sign) {
            return Ok(Statement::Assign(place.clone(), step(operator, place)));
        }
    }
    for (sign, operator) in [("+=", "+"), ("-=", "-"), ("*=", "*"), ("/=", "/"), ("%=", "%")] {
        if parser.accept(sign) {
            let amount = parser.expression()?;
            return Ok(Statement::Assign(
                place.clone(),
                Js::Binary(operator, Box::new(place), Box::new(amount)),
            ));
        }
    }
    if parser.accept("=") {
        let value = parser.expression()?;
        return Ok(Statement::Assign(place, value));
    }
    Err(Untranslatable::foreign("a statement that is not an assignment"))
}

fn step(operator: &'static str, place: Js) -> Js {
    Js::Binary(operator, Box::new(place), Box::new(Js::Number(1.0)))
}
