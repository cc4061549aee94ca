//! The body of an operation.

use super::check::unmet;
use super::document::Document;
use super::node::Node;
use super::parameter::{Style, joined};
use super::sample::Sampler;
use super::variables::Variables;
use crate::import::ImportError;
use crate::import::scenario::{Content, Entry, Part, Text};

/// Adds the body that an operation describes: JSON if there is a choice.
pub(super) fn add_body<'a>(
    entry: &mut Entry,
    document: &'a Document,
    operation: &'a Node,
    variables: &mut Variables,
) -> Result<(), ImportError> {
    let Some(body) = document.member(operation, "requestBody")? else {
        return Ok(());
    };
    let all = body.members_of("content");
    let chosen = all.iter().min_by_key(|(name, _)| Kind::of(name));
    let Some((name, media)) = chosen else {
        return Ok(());
    };
    let media = document.resolve(media)?;
    let value = Sampler::new(document).described(media)?;
    let kind = Kind::of(name);
    let value = value.or((kind == Kind::Json).then(|| Node::Map(Vec::new())));
    // Of bytes only the file has the value.
    let schema = media.get("schema").filter(|_| kind != Kind::Bytes);
    let described = schema.zip(value.as_ref());
    let unmet = described.and_then(|(schema, value)| unmet(document, "the body", schema, value));
    entry.comments.extend(unmet);
    entry.content = match (kind, value) {
        (Kind::Json, Some(value)) => Content::Bytes(json(&value).into_bytes()),
        (Kind::Form, Some(Node::Map(fields))) => {
            let fields = fields.iter();
            Content::Form(fields.flat_map(|field| form_fields(media, field)).collect())
        }
        (Kind::Multipart, Some(Node::Map(fields))) => {
            Content::Multipart(parts(document, media, fields, variables)?)
        }
        (_, Some(Node::Text(text))) if kind != Kind::Bytes => Content::Bytes(text.into_bytes()),
        _ => Content::File(Text::variable(variables.file("body"))),
    };
    // That of parts names their boundary.
    if !matches!(entry.content, Content::Multipart(_)) {
        let media_type = concrete(name).into();
        entry.headers.push(("content-type".into(), media_type));
    }
    Ok(())
}

/// Kinds of bodies, the preferred one first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Json,
    Form,
    Multipart,
    Text,
    Bytes,
}

impl Kind {
    fn of(media_type: &str) -> Self {
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        match essence.to_ascii_lowercase().as_str() {
            "application/json" | "*/*" | "application/*" => Self::Json,
            name if name.ends_with("+json") => Self::Json,
            "application/x-www-form-urlencoded" => Self::Form,
            "multipart/form-data" => Self::Multipart,
            name if name.starts_with("text/") => Self::Text,
            _ => Self::Bytes,
        }
    }
}

/// A media type that a range allows.
fn concrete(media_type: &str) -> &str {
    if !media_type.contains('*') {
        media_type
    } else if Kind::of(media_type) == Kind::Json {
        "application/json"
    } else if media_type.starts_with("text/") {
        "text/plain"
    } else {
        "application/octet-stream"
    }
}

/// JSON on several lines, if that helps.
fn json(value: &Node) -> String {
    let text = if value.members().is_empty() {
        serde_json::to_string(value)
    } else {
        serde_json::to_string_pretty(value)
    };
    text.unwrap_or_default()
}

/// The fields of a property of a form: a list has one for each item, unless the media type says otherwise.
fn form_fields(media: &Node, (name, value): &(String, Node)) -> Vec<(Text, Text)> {
    let own = media.get("encoding").and_then(|all| all.get(name));
    let own = own.filter(|encoding| encoding.get("style").is_some());
    let style = Style::of(own.unwrap_or(&Node::Null), "form");
    match value {
        // JSON, as for any object in a form.
        Node::Map(_) if own.is_none() => vec![(name.as_str().into(), joined(value).into())],
        value => {
            let fields = style.fields(name, value, str::to_owned);
            let fields = fields.iter().filter_map(|field| field.split_once('='));
            fields
                .map(|(name, value)| (name.into(), value.into()))
                .collect()
        }
    }
}

fn parts(
    document: &Document,
    media: &Node,
    fields: Vec<(String, Node)>,
    variables: &mut Variables,
) -> Result<Vec<Part>, ImportError> {
    let schema = document.member(media, "schema")?;
    let properties = schema.and_then(|schema| schema.get("properties"));
    let mut parts = Vec::new();
    for (name, value) in fields {
        let property = match properties.and_then(|properties| properties.get(&name)) {
            Some(property) => Some(document.resolve(property)?),
            None => None,
        };
        match (property.is_some_and(is_file), value) {
            (true, _) => {
                let file = Text::variable(variables.file(&name));
                parts.push(Part::File(name.into(), file, None));
            }
            (false, Node::List(items)) => {
                let part = |item| Part::Value(name.as_str().into(), joined(item).into());
                parts.extend(items.iter().map(part));
            }
            (false, value) => parts.push(Part::Value(name.into(), joined(&value).into())),
        }
    }
    Ok(parts)
}

/// Whether a property is the content of a file: by its format in OpenAPI 3.0, by its media type in 3.1.
fn is_file(property: &Node) -> bool {
    property.text_of("format") == Some("binary") || property.get("contentMediaType").is_some()
}
