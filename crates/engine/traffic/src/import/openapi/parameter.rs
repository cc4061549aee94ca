//! The required parameters of an operation.

use percent_encoding::utf8_percent_encode;

use super::check::unmet;
use super::document::Document;
use super::draft::Draft;
use super::node::Node;
use super::sample::Sampler;
use crate::import::ImportError;
use crate::import::scenario::Text;
use crate::target::UNRESERVED;

/// Adds those of an operation and of its path; of two with the same name and place, the operation's counts.
pub(super) fn add_parameters<'a>(
    draft: &mut Draft,
    document: &'a Document,
    path_item: &'a Node,
    operation: &'a Node,
) -> Result<(), ImportError> {
    let mut known: Vec<(&str, &str)> = Vec::new();
    for owner in [operation, path_item] {
        for parameter in owner.items_of("parameters") {
            let parameter = document.resolve(parameter)?;
            let (Some(name), Some(place)) = (parameter.text_of("name"), parameter.text_of("in"))
            else {
                continue;
            };
            if known.contains(&(name, place)) {
                continue;
            }
            known.push((name, place));
            if place == "path" || parameter.is_true("required") {
                add(draft, document, parameter, name, place)?;
            }
        }
    }
    Ok(())
}

fn add<'a>(
    draft: &mut Draft,
    document: &'a Document,
    parameter: &'a Node,
    name: &str,
    place: &str,
) -> Result<(), ImportError> {
    // These are described elsewhere in the document.
    let others = ["accept", "content-type", "authorization"];
    let is_other = |other: &&str| name.eq_ignore_ascii_case(other);
    if place == "header" && others.iter().any(is_other) {
        return Ok(());
    }
    let (schema, value) = value(document, parameter)?;
    let what = format!("the parameter `{name}`");
    let unmet = schema.and_then(|schema| unmet(document, &what, schema, &value));
    draft.entry.comments.extend(unmet);
    let default = match place {
        "query" | "cookie" => "form",
        _ => "simple",
    };
    let style = match parameter.get("content") {
        // A media type, JSON, says how it is written.
        Some(_) => Style {
            name: "json",
            is_exploded: false,
        },
        None => Style::of(parameter, default),
    };
    match place {
        "path" => {
            let text = style.in_path(name, &value);
            draft.path = draft.path.replace(&format!("{{{name}}}"), &text);
        }
        "query" => {
            let fields = style.fields(name, &value, encoded);
            draft.query.extend(fields.into_iter().map(Text::from));
        }
        "header" => {
            let text = style.joined(&value, &str::to_owned);
            draft.entry.headers.push((name.into(), text.into()));
        }
        "cookie" => {
            let fields = style.fields(name, &value, str::to_owned);
            draft.cookies.extend(fields.into_iter().map(Text::from));
        }
        _ => {}
    }
    Ok(())
}

/// The value of a parameter, which a schema or a media type describes, and its schema.
fn value<'a>(
    document: &'a Document,
    parameter: &'a Node,
) -> Result<(Option<&'a Node>, Node), ImportError> {
    let mut sampler = Sampler::new(document);
    let content = parameter.members_of("content");
    let media = content.first().map(|(_, media)| media);
    let schema = parameter.get("schema");
    let schema = schema.or_else(|| media?.get("schema"));
    let mut value = sampler.described(parameter)?;
    if let (None, Some(media)) = (&value, media) {
        value = sampler.described(media)?;
    }
    let value = match value {
        None => Node::Text("text".into()),
        // A list of no items would be no parameter.
        Some(Node::List(items)) if items.is_empty() => {
            let list = schema.map(|schema| document.resolve(schema)).transpose()?;
            let item = match list.and_then(|list| list.get("items")) {
                Some(items) => sampler.schema(items, 0)?,
                None => None,
            };
            Node::List(vec![item.unwrap_or_else(|| Node::Text("text".into()))])
        }
        Some(value) => value,
    };
    Ok((schema, value))
}

/// How a value becomes text (OpenAPI 3.0, Parameter Object, Style Values).
#[derive(Clone, Copy)]
pub(super) struct Style<'a> {
    name: &'a str,
    is_exploded: bool,
}

impl<'a> Style<'a> {
    /// That of a parameter, or of a property of a form.
    pub(super) fn of(node: &'a Node, default: &'a str) -> Self {
        let name = node.text_of("style").unwrap_or(default);
        Self {
            name,
            is_exploded: match node.get("explode") {
                Some(Node::Bool(explode)) => *explode,
                _ => name == "form",
            },
        }
    }

    /// `name=value` each, as in a query.
    pub(super) fn fields(
        self,
        name: &str,
        value: &Node,
        encode: impl Fn(&str) -> String,
    ) -> Vec<String> {
        let field = |name: String, value: &Node| format!("{name}={}", encode(&joined(value)));
        let name = encode(name);
        match value {
            Node::Map(members) if self.name == "deepObject" => members
                .iter()
                .map(|(member, value)| field(format!("{name}[{}]", encode(member)), value))
                .collect(),
            Node::Map(members) if self.is_exploded => members
                .iter()
                .map(|(member, value)| field(encode(member), value))
                .collect(),
            Node::List(items) if self.is_exploded => {
                items.iter().map(|item| field(name.clone(), item)).collect()
            }
            value => vec![format!("{name}={}", self.joined(value, &encode))],
        }
    }

    /// The text in a path.
    fn in_path(self, name: &str, value: &Node) -> String {
        match self.name {
            "label" => {
                let between = if self.is_exploded { "." } else { "," };
                format!(".{}", self.joined_by(between, value, &encoded))
            }
            "matrix" => match value {
                Node::List(_) | Node::Map(_) if self.is_exploded => self
                    .fields(name, value, encoded)
                    .iter()
                    .map(|field| format!(";{field}"))
                    .collect(),
                value => format!(";{}={}", encoded(name), self.joined(value, &encoded)),
            },
            _ => self.joined(value, &encoded),
        }
    }

    /// The items of a list, or the names and values of an object, with what the style has between them.
    fn joined(self, value: &Node, encode: &dyn Fn(&str) -> String) -> String {
        let between = match self.name {
            "spaceDelimited" => "%20",
            "pipeDelimited" => "|",
            _ => ",",
        };
        self.joined_by(between, value, encode)
    }

    fn joined_by(self, between: &str, value: &Node, encode: &dyn Fn(&str) -> String) -> String {
        let texts: Vec<String> = match value {
            value if self.name == "json" => vec![encode(&json_or_text(value))],
            Node::List(items) => items.iter().map(|item| encode(&joined(item))).collect(),
            Node::Map(members) => {
                let equals = if self.is_exploded { "=" } else { between };
                let members = members.iter().map(|(name, value)| {
                    format!("{}{equals}{}", encode(name), encode(&joined(value)))
                });
                members.collect()
            }
            value => vec![encode(&json_or_text(value))],
        };
        texts.join(between)
    }
}

/// A value as a text: lists with commas, objects as JSON.
pub(super) fn joined(value: &Node) -> String {
    match value {
        Node::List(items) => {
            let items: Vec<String> = items.iter().map(joined).collect();
            items.join(",")
        }
        value => json_or_text(value),
    }
}

fn json_or_text(value: &Node) -> String {
    let json = || serde_json::to_string(value).unwrap_or_default();
    value.scalar().unwrap_or_else(json)
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}
