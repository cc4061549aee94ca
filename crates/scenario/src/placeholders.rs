//! The placeholders of a request.

use prony_hurl::ast::{
    Body, BodyValue, EntryOption, FilePart, Json, JsonPiece, KeyValue, Multiline, OptionValue,
    Part, Placeholder, Request, Template,
};

/// All whose values are needed to send a request.
pub(crate) fn of(request: &Request) -> Vec<&Placeholder> {
    let pairs = [
        &request.headers,
        &request.query,
        &request.form,
        &request.cookies,
    ];
    let pairs = pairs.into_iter().flatten().chain(&request.basic_auth);
    let of_pairs = pairs.flat_map(|KeyValue { key, value }| [key, value]);
    let of_parts = request.multipart.iter().flat_map(of_part);
    let of_options = request.options.iter().filter_map(of_option);
    let templates = std::iter::once(&request.url).chain(of_pairs);
    let templates = templates.chain(of_parts).chain(of_options);
    let mut all: Vec<&Placeholder> = templates.flat_map(Template::placeholders).collect();
    if let Some(Body { value, .. }) = &request.body {
        add_of_body(value, &mut all);
    }
    all
}

fn of_part(part: &Part) -> Vec<&Template> {
    match part {
        Part::Value(KeyValue { key, value }) => vec![key, value],
        Part::File(FilePart {
            key,
            file,
            content_type,
        }) => [key, file].into_iter().chain(content_type).collect(),
    }
}

fn of_option(EntryOption { value, .. }: &EntryOption) -> Option<&Template> {
    match value {
        OptionValue::Text(_, template) => Some(template),
        _ => None,
    }
}

fn add_of_body<'a>(body: &'a BodyValue, all: &mut Vec<&'a Placeholder>) {
    match body {
        BodyValue::Json(json) => all.extend(of_json(json)),
        BodyValue::Oneline(template)
        | BodyValue::File(template)
        | BodyValue::Multiline(
            Multiline::Text(template) | Multiline::Json(template) | Multiline::Xml(template),
        ) => all.extend(template.placeholders()),
        BodyValue::Multiline(Multiline::GraphQl { query, variables }) => {
            all.extend(query.placeholders());
            all.extend(variables.iter().flat_map(of_json));
        }
        BodyValue::Xml(_) | BodyValue::Bytes(_) | BodyValue::Multiline(Multiline::Raw(_)) => {}
    }
}

fn of_json(json: &Json) -> impl Iterator<Item = &Placeholder> {
    json.pieces.iter().filter_map(|piece| match piece {
        JsonPiece::Text(_) => None,
        JsonPiece::InString(placeholder) | JsonPiece::Value(placeholder) => Some(placeholder),
    })
}
