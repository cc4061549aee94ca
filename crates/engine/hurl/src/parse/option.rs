//! Options.

use std::time::Duration;

use super::combine::{Parsed, Parser, choice, fatal, soft};
use super::primitive::{boolean, line_end, literal, skip_spaces, skip_to_item, try_literal};
use super::{key, number, template, text};
use crate::ast::{
    CountOption, DurationOption, EntryOption, FlagOption, OptionValue, Setting, TextOption,
    VariableDefinition, VariableValue, named,
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

/// What the value of an option is that Prony does not support.
#[derive(Clone, Copy)]
enum Kind {
    Flag,
    Text,
    File,
    FileAndPassword,
    Duration,
    Natural,
}

const UNSUPPORTED: &[(Kind, &str)] = &[
    (
        Kind::Flag,
        "digest fail-with-body http1.0 http3 ipv4 ipv6 negotiate netrc netrc-optional ntlm",
    ),
    (
        Kind::Text,
        "aws-sigv4 connect-to netrc-file pinnedpubkey proxy resolve tls-max tls-min unix-socket",
    ),
    (Kind::File, "cacert key output"),
    (Kind::FileAndPassword, "cert"),
    (Kind::Duration, "connect-timeout"),
    (Kind::Natural, "limit-rate"),
];

fn value(reader: &mut Reader<'_>, name: &str, position: Position) -> Parsed<OptionValue> {
    if let Some(option) = named(name, FlagOption::ALL) {
        return flag(reader).map(|setting| OptionValue::Flag(option, setting));
    }
    if let Some(option) = named(name, TextOption::ALL) {
        return text::unquoted(reader).map(|text| OptionValue::Text(option, text));
    }
    if let Some(option) = named(name, DurationOption::ALL) {
        return duration(reader).map(|setting| OptionValue::Duration(option, setting));
    }
    if let Some(option) = named(name, CountOption::ALL) {
        let setting = setting(reader, number::count, "integer >= -1")?;
        return Ok(OptionValue::Count(option, setting));
    }
    match name {
        "variable" => return variable(reader).map(OptionValue::Variable),
        "verbosity" => return verbosity(reader),
        _ => {}
    }
    for (kind, names) in UNSUPPORTED {
        if let Some(name) = names.split(' ').find(|known| *known == name) {
            return unsupported(reader, name, *kind);
        }
    }
    let names = suggest(name, &names());
    fatal(position, format!("the option name is not valid. {names}"))
}

/// The names of all options, in alphabetical order.
fn names() -> Vec<&'static str> {
    let mut names = vec!["variable", "verbosity"];
    names.extend(FlagOption::ALL.iter().map(|(name, _)| name));
    names.extend(TextOption::ALL.iter().map(|(name, _)| name));
    names.extend(DurationOption::ALL.iter().map(|(name, _)| name));
    names.extend(CountOption::ALL.iter().map(|(name, _)| name));
    names.extend(UNSUPPORTED.iter().flat_map(|(_, names)| names.split(' ')));
    names.sort_unstable();
    names
}

fn unsupported(reader: &mut Reader<'_>, name: &'static str, kind: Kind) -> Parsed<OptionValue> {
    match kind {
        Kind::Flag => {
            if let Setting::Literal(false) = flag(reader)? {
                return Ok(OptionValue::Ignored);
            }
        }
        Kind::Text => drop(text::unquoted(reader)?),
        Kind::File => drop(key::file(reader)?),
        Kind::FileAndPassword => drop(key::file_with_password(reader)?),
        Kind::Duration => drop(duration(reader)?),
        Kind::Natural => drop(setting(reader, number::natural, "integer >= 0")?),
    }
    Ok(OptionValue::Unsupported(name))
}

fn flag(reader: &mut Reader<'_>) -> Parsed<Setting<bool>> {
    setting(reader, boolean, "true|false")
}

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

fn verbosity(reader: &mut Reader<'_>) -> Parsed<OptionValue> {
    let start = reader.position();
    match reader.read_while(|character| character.is_ascii_alphabetic()) {
        "brief" | "verbose" | "debug" => Ok(OptionValue::Ignored),
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
