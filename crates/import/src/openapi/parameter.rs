//! The required parameters of an operation.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::OpenApiError;
use super::document::Document;
use super::node::Node;
use super::sample::Sampler;
use crate::scenario::Text;

/// What a segment of a path or a value of a query may have (RFC 3986, unreserved).
pub(super) const VALUE: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// What parameters add to a request.
#[derive(Default)]
pub(super) struct Parameters {
    /// The path with values.
    pub(super) path: String,
    /// Fields of the query, encoded.
    pub(super) query: Vec<String>,
    pub(super) headers: Vec<(Text, Text)>,
    /// `name=value`
    pub(super) cookies: Vec<String>,
}

impl Parameters {
    /// Those of an operation and of its path; of two with the same name and place, the operation's counts.
    pub(super) fn of(
        document: &Document,
        path: &str,
        path_item: &Node,
        operation: &Node,
    ) -> Result<Self, OpenApiError> {
        let mut known: Vec<(&str, &str)> = Vec::new();
        let mut found = Self {
            path: path.to_owned(),
            ..Self::default()
        };
        for owner in [operation, path_item] {
            for parameter in owner.get("parameters").map_or(&[][..], Node::items) {
                let parameter = document.resolve(parameter)?;
                let (Some(name), Some(place)) =
                    (parameter.text_of("name"), parameter.text_of("in"))
                else {
                    continue;
                };
                if known.contains(&(name, place)) {
                    continue;
                }
                known.push((name, place));
                if place == "path" || parameter.is_true("required") {
                    found.add(document, parameter, name, place)?;
                }
            }
        }
        Ok(found)
    }

    fn add(
        &mut self,
        document: &Document,
        parameter: &Node,
        name: &str,
        place: &str,
    ) -> Result<(), OpenApiError> {
        let value = value(document, parameter)?;
        match place {
            "path" => {
                let text = encoded(&joined(&value));
                self.path = self.path.replace(&format!("{{{name}}}"), &text);
            }
            "query" => {
                let name = encoded(name);
                let is_exploded = !matches!(parameter.get("explode"), Some(Node::Bool(false)));
                match &value {
                    Node::List(items) if is_exploded => {
                        let field = |item| format!("{name}={}", encoded(&joined(item)));
                        self.query.extend(items.iter().map(field));
                    }
                    value => self
                        .query
                        .push(format!("{name}={}", encoded(&joined(value)))),
                }
            }
            "header" => {
                // These are described elsewhere in the document.
                let is_other = ["accept", "content-type", "authorization"]
                    .iter()
                    .any(|other| name.eq_ignore_ascii_case(other));
                if !is_other {
                    self.headers.push((name.into(), joined(&value).into()));
                }
            }
            "cookie" => self.cookies.push(format!("{name}={}", joined(&value))),
            _ => {}
        }
        Ok(())
    }
}

/// The value of a parameter, which a schema or a media type describes.
fn value(document: &Document, parameter: &Node) -> Result<Node, OpenApiError> {
    let mut sampler = Sampler::new(document);
    let mut value = sampler.described(parameter)?;
    if value.is_none() {
        let content = parameter.get("content").map_or(&[][..], Node::members);
        if let Some((_, media)) = content.first() {
            value = sampler.described(media)?;
        }
    }
    Ok(match value {
        None => Node::Text("text".into()),
        // A list of no items would be no parameter.
        Some(Node::List(items)) if items.is_empty() => {
            let schema = document.member(parameter, "schema")?;
            let items = schema.and_then(|schema| schema.get("items"));
            let item = match items {
                Some(items) => sampler.schema(items, 0)?,
                None => None,
            };
            Node::List(vec![item.unwrap_or_else(|| Node::Text("text".into()))])
        }
        Some(value) => value,
    })
}

/// A value as a text: lists with commas, objects as JSON.
pub(super) fn joined(value: &Node) -> String {
    match value {
        Node::List(items) => {
            let items: Vec<String> = items.iter().map(joined).collect();
            items.join(",")
        }
        value => match value.scalar() {
            Some(text) => text,
            None => serde_json::to_string(value).unwrap_or_default(),
        },
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, VALUE).to_string()
}
