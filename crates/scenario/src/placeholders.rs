//! Finds variables that a file uses and nothing sets.

use prony_hurl::ast::{
    Body, BodyValue, Capture, Entry, Expression, FilePart, HurlFile, Json, JsonPiece, KeyValue,
    Multiline, OptionValue, Part, Placeholder, Request, Setting, Template, VariableValue,
};

use crate::error::ScenarioError;
use crate::prepare::place;
use crate::sources::Sources;

/// Checks that every variable of a request is known by then.
pub(crate) fn check_variables(
    file: &str,
    parsed: &HurlFile,
    sources: &Sources,
) -> Result<(), ScenarioError> {
    let mut known: Vec<&str> = sources.changing().collect();
    for entry in &parsed.entries {
        let check = |known: &[&str], placeholders: Vec<&Placeholder>| {
            let is_known =
                |name: &str| known.contains(&name) || sources.variables.get(name).is_some();
            let unknown = placeholders
                .into_iter()
                .find_map(|it| match &it.expression {
                    Expression::Variable(name) if !is_known(name) => Some((name, it.span.start)),
                    _ => None,
                });
            unknown.map_or(Ok(()), |(name, position)| {
                Err(ScenarioError::Undefined {
                    place: place(file, position),
                    name: name.clone(),
                })
            })
        };
        // Options take effect in their order, and before the rest of the request.
        for option in &entry.request.options {
            check(&known, of_option(&option.value))?;
            if let OptionValue::Variable(definition) = &option.value {
                known.push(&definition.name);
            }
        }
        check(&known, of_request(&entry.request))?;
        match captured(entry) {
            Some(names) => known.extend(names),
            // It may set any variable.
            None => return Ok(()),
        }
    }
    Ok(())
}

/// The names that an entry captures; `None` if one of them is a value.
fn captured(entry: &Entry) -> Option<Vec<&str>> {
    let captures = entry.response.iter().flat_map(|it| &it.captures);
    captures
        .map(|Capture { name, .. }| name.literal())
        .collect()
}

/// Those of an option, if it is evaluated before the request.
fn of_option(option: &OptionValue) -> Vec<&Placeholder> {
    match option {
        OptionValue::Flag(_, setting) => of_setting(setting),
        OptionValue::Count(_, setting) => of_setting(setting),
        OptionValue::Duration(_, setting) => of_setting(setting),
        OptionValue::LimitRate(setting) => of_setting(setting),
        OptionValue::Variable(definition) => match &definition.value {
            VariableValue::Text(template) => template.placeholders().collect(),
            VariableValue::Null | VariableValue::Bool(_) | VariableValue::Number(_) => Vec::new(),
        },
        OptionValue::Text(..) | OptionValue::File(..) | OptionValue::Verbosity(_) => Vec::new(),
    }
}

fn of_setting<T>(setting: &Setting<T>) -> Vec<&Placeholder> {
    match setting {
        Setting::Literal(_) => Vec::new(),
        Setting::Placeholder(placeholder) => vec![placeholder],
    }
}

fn of_request(request: &Request) -> Vec<&Placeholder> {
    let pairs = [
        &request.headers,
        &request.query,
        &request.form,
        &request.cookies,
    ];
    let pairs = pairs.into_iter().flatten().chain(&request.basic_auth);
    let of_pairs = pairs.flat_map(|KeyValue { key, value }| [key, value]);
    let of_options = request
        .options
        .iter()
        .filter_map(|option| match &option.value {
            OptionValue::Text(_, template) => Some(template),
            _ => None,
        });
    let of_parts = request.multipart.iter().flat_map(templates_of_part);
    let templates = std::iter::once(&request.url).chain(of_pairs);
    let templates = templates.chain(of_options).chain(of_parts);
    let mut placeholders: Vec<&Placeholder> = templates.flat_map(Template::placeholders).collect();
    if let Some(Body { value, .. }) = &request.body {
        placeholders.extend(of_body(value));
    }
    placeholders
}

fn templates_of_part(part: &Part) -> Vec<&Template> {
    match part {
        Part::Value(KeyValue { key, value }) => vec![key, value],
        Part::File(FilePart {
            key,
            file,
            content_type,
        }) => [key, file].into_iter().chain(content_type).collect(),
    }
}

fn of_body(body: &BodyValue) -> Vec<&Placeholder> {
    match body {
        BodyValue::Json(json) => of_json(json),
        BodyValue::Oneline(template) | BodyValue::File(template) => {
            template.placeholders().collect()
        }
        BodyValue::Multiline(
            Multiline::Text(template) | Multiline::Json(template) | Multiline::Xml(template),
        ) => template.placeholders().collect(),
        BodyValue::Multiline(Multiline::GraphQl { query, variables }) => {
            let variables = variables.iter().flat_map(of_json);
            query.placeholders().chain(variables).collect()
        }
        BodyValue::Xml(_) | BodyValue::Bytes(_) | BodyValue::Multiline(Multiline::Raw(_)) => {
            Vec::new()
        }
    }
}

fn of_json(json: &Json) -> Vec<&Placeholder> {
    let pieces = json.pieces.iter().filter_map(|piece| match piece {
        JsonPiece::Text(_) => None,
        JsonPiece::InString(placeholder) | JsonPiece::Value(placeholder) => Some(placeholder),
    });
    pieces.collect()
}
