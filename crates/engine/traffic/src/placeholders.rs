//! Finds variables that a file uses and nothing sets.

use prony_hurl::ast::{
    Body, BodyValue, Capture, CookiePath, Count, CountOption, EntryOption, Expression,
    FilenameParam, Filter, FilterValue, FlagOption, HurlFile, Json, JsonPath, JsonPiece, KeyValue,
    Multiline, MultipartParam, OptionValue, Placeholder, PredicateValue, Query, QueryValue,
    RegexTemplate, RegexValue, Request, Response, Setting, Template, Test, VariableValue,
};

use crate::error::{ScenarioError, place};
use crate::sources::Sources;

/// Checks that every variable is known when it is used: those of a request before it, and those of captures and asserts
/// when they are evaluated.
pub(crate) fn check_variables(
    file: &str,
    parsed: &HurlFile,
    sources: &Sources,
) -> Result<(), ScenarioError> {
    let mut known = Known {
        file,
        sources,
        names: sources.changing().collect(),
    };
    for entry in &parsed.entries {
        known.check_options(&entry.request.options)?;
        if is_never_sent(&entry.request.options) {
            continue;
        }
        known.check(of_request(&entry.request))?;
        for capture in entry.response.iter().flat_map(|it| &it.captures) {
            known.check(of_capture(capture))?;
            match capture.name.literal() {
                Some(name) => known.names.push(name),
                // It may set any variable.
                None => return Ok(()),
            }
        }
        if let Some(response) = &entry.response {
            known.check(of_asserts(response))?;
        }
    }
    Ok(())
}

/// The variables that are set by now.
struct Known<'a> {
    file: &'a str,
    sources: &'a Sources,
    /// Those that differ between flows.
    names: Vec<&'a str>,
}

impl<'a> Known<'a> {
    fn has(&self, name: &str) -> bool {
        self.names.contains(&name) || self.sources.variables.get(name).is_some()
    }

    fn check(&self, placeholders: Vec<&Placeholder>) -> Result<(), ScenarioError> {
        let unknown = placeholders
            .into_iter()
            .find_map(|it| match &it.expression {
                Expression::Variable(name) if !self.has(name) => Some((name, it.position)),
                _ => None,
            });
        unknown.map_or(Ok(()), |(name, position)| {
            Err(ScenarioError::Undefined {
                place: place(self.file, position),
                name: name.clone(),
            })
        })
    }

    /// Options take effect in their order, and before the rest of the request.
    fn check_options(&mut self, options: &'a [EntryOption]) -> Result<(), ScenarioError> {
        for option in options {
            self.check(of_option(&option.value))?;
            if let OptionValue::Variable(definition) = &option.value {
                self.names.push(&definition.name);
            }
        }
        Ok(())
    }
}

/// Whether the file itself says that an entry is not sent.
fn is_never_sent(options: &[EntryOption]) -> bool {
    options.iter().any(|option| {
        matches!(
            option.value,
            OptionValue::Flag(FlagOption::Skip, Setting::Literal(true))
                | OptionValue::Count(CountOption::Repeat, Setting::Literal(Count::Finite(0)))
        )
    })
}

/// Those of an option, if it is evaluated before the request.
fn of_option(option: &OptionValue) -> Vec<&Placeholder> {
    match option {
        OptionValue::Flag(_, setting) => of_setting(setting),
        OptionValue::Count(_, setting) => of_setting(setting),
        OptionValue::Duration(_, setting) => of_setting(setting),
        OptionValue::Variable(definition) => match &definition.value {
            VariableValue::Text(template) => template.placeholders().collect(),
            VariableValue::Null | VariableValue::Bool(_) | VariableValue::Number(_) => Vec::new(),
        },
        OptionValue::Text(..) | OptionValue::Ignored | OptionValue::Unsupported(_) => Vec::new(),
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
    let of_pairs = templates_of_pairs(pairs.into_iter().flatten().chain(&request.basic_auth));
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

fn templates_of_pairs<'a>(
    pairs: impl Iterator<Item = &'a KeyValue>,
) -> impl Iterator<Item = &'a Template> {
    pairs.flat_map(|KeyValue { key, value }| [key, value])
}

fn templates_of_part(part: &MultipartParam) -> Vec<&Template> {
    match part {
        MultipartParam::Value(KeyValue { key, value }) => vec![key, value],
        MultipartParam::File(FilenameParam {
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
        BodyValue::Multiline(multiline) => of_multiline(multiline),
        BodyValue::Xml(_) | BodyValue::Bytes(_) => Vec::new(),
    }
}

fn of_multiline(multiline: &Multiline) -> Vec<&Placeholder> {
    match multiline {
        Multiline::Text(template) | Multiline::Json(template) | Multiline::Xml(template) => {
            template.placeholders().collect()
        }
        Multiline::GraphQl { query, variables } => {
            let variables = variables.iter().flat_map(of_json);
            query.placeholders().chain(variables).collect()
        }
        Multiline::Raw(_) => Vec::new(),
    }
}

fn of_json(json: &Json) -> Vec<&Placeholder> {
    let pieces = json.pieces.iter().filter_map(|piece| match piece {
        JsonPiece::Text(_) => None,
        JsonPiece::InString(placeholder) | JsonPiece::Value(placeholder) => Some(placeholder),
    });
    pieces.collect()
}

fn of_capture(capture: &Capture) -> Vec<&Placeholder> {
    let mut placeholders: Vec<&Placeholder> = capture.name.placeholders().collect();
    placeholders.extend(of_query(&capture.query));
    placeholders.extend(capture.filters.iter().flat_map(of_filter));
    placeholders
}

/// Those of all that is checked after the captures.
fn of_asserts(response: &Response) -> Vec<&Placeholder> {
    let headers = templates_of_pairs(response.headers.iter());
    let mut placeholders: Vec<&Placeholder> = headers.flat_map(Template::placeholders).collect();
    if let Some(Body { value, .. }) = &response.body {
        placeholders.extend(of_body(value));
    }
    for assert in &response.asserts {
        placeholders.extend(of_query(&assert.query));
        placeholders.extend(assert.filters.iter().flat_map(of_filter));
        placeholders.extend(of_test(&assert.predicate.test));
    }
    placeholders
}

/// Those of a query. The query `variable` itself may name one that is not defined.
fn of_query(query: &Query) -> Vec<&Placeholder> {
    match &query.value {
        QueryValue::Header(template)
        | QueryValue::XPath(template)
        | QueryValue::Variable(template)
        | QueryValue::Cookie(CookiePath { name: template, .. })
        | QueryValue::JsonPath(JsonPath { template, .. }) => template.placeholders().collect(),
        QueryValue::Regex(regex) => of_regex(regex),
        QueryValue::Plain(_) | QueryValue::Certificate => Vec::new(),
    }
}

fn of_regex(regex: &RegexValue) -> Vec<&Placeholder> {
    match regex {
        RegexValue::Template(RegexTemplate { template, .. }) => template.placeholders().collect(),
        RegexValue::Literal(_) => Vec::new(),
    }
}

fn of_filter(filter: &Filter) -> Vec<&Placeholder> {
    match &filter.value {
        FilterValue::Text(_, template) | FilterValue::JsonPath(JsonPath { template, .. }) => {
            template.placeholders().collect()
        }
        FilterValue::Nth(setting) => of_setting(setting),
        FilterValue::Regex(regex) => of_regex(regex),
        FilterValue::Replace { old, new } => old.placeholders().chain(new.placeholders()).collect(),
        FilterValue::ReplaceRegex { pattern, new } => {
            let mut placeholders = of_regex(pattern);
            placeholders.extend(new.placeholders());
            placeholders
        }
        FilterValue::Plain(_) => Vec::new(),
    }
}

fn of_test(test: &Test) -> Vec<&Placeholder> {
    match test {
        Test::Compares(_, value) => of_predicate_value(value),
        Test::Matches(regex) => of_regex(regex),
        Test::Is(_) => Vec::new(),
    }
}

fn of_predicate_value(value: &PredicateValue) -> Vec<&Placeholder> {
    match value {
        PredicateValue::File(template) | PredicateValue::Text(template) => {
            template.placeholders().collect()
        }
        PredicateValue::Multiline(multiline) => of_multiline(multiline),
        PredicateValue::Placeholder(placeholder) => vec![placeholder],
        PredicateValue::Bytes(_)
        | PredicateValue::Bool(_)
        | PredicateValue::Null
        | PredicateValue::Number(_)
        | PredicateValue::Regex(_) => Vec::new(),
    }
}
