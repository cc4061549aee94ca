//! Options.

use std::time::Duration;

use super::combine::{Parsed, Parser, choice, fatal, soft};
use super::primitive::{boolean, line_end, literal, skip_spaces, skip_to_item, try_literal};
use super::{key, number, template, text};
use crate::ast::{
    CountOption, DurationOption, EntryOption, FileOption, FlagOption, OptionValue, Setting,
    TextOption, VariableDefinition, VariableValue, named,
};
use crate::error::suggest;
use crate::position::Position;
use crate::reader::Reader;

pub(super) fn parse(reader: &mut Reader<'_>) -> Parsed<EntryOption> {
    skip_to_item(reader);
    let position = reader.position();
    // No name has an underscore, but a wrong name may.
    let name = reader.read_while(|character| {
        character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '_')
    });
    skip_spaces(reader);
    try_literal(reader, ":")?;
    skip_spaces(reader);
    let value = value(reader, name, position)?;
    line_end(reader)?;
    Ok(EntryOption { value, position })
}

fn value(reader: &mut Reader<'_>, name: &str, position: Position) -> Parsed<OptionValue> {
    if let Some(option) = named(name, FlagOption::ALL) {
        let setting = setting(reader, boolean, "true|false")?;
        return Ok(OptionValue::Flag(option, setting));
    }
    if let Some(option) = named(name, TextOption::ALL) {
        return Ok(OptionValue::Text(option, text::unquoted(reader)?));
    }
    if let Some(option) = named(name, FileOption::ALL) {
        return Ok(OptionValue::File(option, file(reader, option)?));
    }
    if let Some(option) = named(name, DurationOption::ALL) {
        return Ok(OptionValue::Duration(option, duration(reader)?));
    }
    if let Some(option) = named(name, CountOption::ALL) {
        let setting = setting(reader, number::count, "integer >= -1")?;
        return Ok(OptionValue::Count(option, setting));
    }
    match name {
        "limit-rate" => {
            setting(reader, number::natural, "integer >= 0").map(OptionValue::LimitRate)
        }
        "variable" => variable(reader).map(OptionValue::Variable),
        "verbosity" => verbosity(reader),
        _ => {
            let names = suggest(name, &OptionValue::names());
            fatal(position, format!("the option name is not valid. {names}"))
        }
    }
}

/// A value or a placeholder.
fn setting<T>(reader: &mut Reader<'_>, parser: Parser<T>, expecting: &str) -> Parsed<Setting<T>> {
    let start = reader.cursor();
    if let Ok(value) = parser(reader) {
        return Ok(Setting::Literal(value));
    }
    reader.seek(start);
    placeholder(reader, expecting)
}

fn placeholder<T>(reader: &mut Reader<'_>, expecting: &str) -> Parsed<Setting<T>> {
    template::placeholder(reader)
        .map(Setting::Placeholder)
        .map_err(|refusal| refusal.because(format!("expecting '{expecting}'")))
}

fn duration(reader: &mut Reader<'_>) -> Parsed<Setting<Duration>> {
    let start = reader.cursor();
    match number::duration(reader) {
        Ok(value) => Ok(Setting::Literal(value)),
        Err(refusal) if refusal.is_soft() => {
            reader.seek(start);
            placeholder(reader, "integer")
        }
        Err(refusal) => Err(refusal),
    }
}

fn file(reader: &mut Reader<'_>, option: FileOption) -> Parsed<crate::ast::Template> {
    match option {
        FileOption::ClientCertificate => key::file_with_password(reader),
        FileOption::CaCertificate | FileOption::ClientKey | FileOption::Output => key::file(reader),
    }
}

fn verbosity(reader: &mut Reader<'_>) -> Parsed<OptionValue> {
    let start = reader.position();
    match reader.read_while(|character| character.is_ascii_alphabetic()) {
        "brief" | "verbose" | "debug" => Ok(OptionValue::Verbosity),
        _ => fatal(start, "expecting 'brief|verbose|debug'"),
    }
}

fn variable(reader: &mut Reader<'_>) -> Parsed<VariableDefinition> {
    let start = reader.position();
    let name = reader.read_while(template::is_name);
    match name {
        "" => return fatal(start, "expecting 'variable name'"),
        "getEnv" | "newDate" | "newUuid" => {
            return fatal(
                start,
                format!("conflicts with the {name} function, use a different name"),
            );
        }
        _ => {}
    }
    skip_spaces(reader);
    literal(reader, "=")?;
    skip_spaces(reader);
    Ok(VariableDefinition {
        name: name.to_owned(),
        value: variable_value(reader)?,
    })
}

fn variable_value(reader: &mut Reader<'_>) -> Parsed<VariableValue> {
    let kinds: &[Parser<VariableValue>] = &[
        |reader| try_literal(reader, "null").and_then(|()| whole(reader, VariableValue::Null)),
        |reader| boolean(reader).and_then(|value| whole(reader, VariableValue::Bool(value))),
        |reader| {
            number::number(reader).and_then(|value| whole(reader, VariableValue::Number(value)))
        },
        |reader| text::quoted(reader).map(VariableValue::Text),
        |reader| text::unquoted(reader).map(VariableValue::Text),
    ];
    choice(reader, kinds).map_err(|refusal| refusal.because("expecting 'variable value'"))
}

/// The value, if its text ends here: `11aa` is a text.
fn whole(reader: &mut Reader<'_>, value: VariableValue) -> Parsed<VariableValue> {
    match reader.peek() {
        None | Some(' ' | '\t' | '\r' | '\n' | '#') => Ok(value),
        Some(_) => soft(reader.position(), "expecting 'variable value'"),
    }
}
