//! The operations of an OpenAPI document, version 3.0 or 3.1.

mod body;
mod check;
mod document;
mod draft;
mod node;
mod parameter;
mod pattern;
mod sample;
mod security;
#[cfg(test)]
mod tests;
mod variables;

use self::body::add_body;
use self::document::Document;
use self::draft::Draft;
use self::node::Node;
use self::parameter::add_parameters;
use self::security::add_credentials;
use self::variables::Variables;
use super::scenario::{Entry, Status, Text};
use super::url::Url;
use super::{ImportError, Imported, refuse};

/// The members of a path that are operations.
const METHODS: [&str; 8] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];

/// Reads one request for each operation of an OpenAPI document in JSON or YAML.
pub fn openapi(text: &str) -> Result<Imported, ImportError> {
    let document = Document::read(text)?;
    let mut variables = Variables::default();
    let mut entries = Vec::new();
    for (path, item) in document.root.members_of("paths") {
        let item = document
            .resolve(item)
            .map_err(|error| format!("{path}: {error}"))?;
        for (name, operation) in item.members() {
            if !METHODS.contains(&name.as_str()) {
                continue;
            }
            let request = Operation {
                document: &document,
                path,
                item,
                operation,
            };
            let entry = request.entry(name.to_ascii_uppercase(), &mut variables);
            entries.push(entry.map_err(|error| format!("{name} {path}: {error}"))?);
        }
    }
    if entries.is_empty() {
        return refuse("the document has no operations: `paths` is missing or empty");
    }
    Ok(Imported {
        entries,
        variables: variables.all,
        notes: Vec::new(),
    })
}

struct Operation<'a> {
    document: &'a Document,
    path: &'a str,
    item: &'a Node,
    operation: &'a Node,
}

impl Operation<'_> {
    fn entry(&self, method: String, variables: &mut Variables) -> Result<Entry, ImportError> {
        let base = self.base(variables)?;
        let mut draft = Draft {
            path: self.path.to_owned(),
            ..Draft::default()
        };
        draft.entry.method = method;
        draft.entry.status = self.status();
        draft.entry.comments = self.comments();
        add_parameters(&mut draft, self.document, self.item, self.operation)?;
        add_credentials(&mut draft, self.document, self.operation, variables)?;
        let cookies = draft.cookies.drain(..);
        if let Some(cookies) = cookies.reduce(|all, cookie| all.then("; ").then(cookie)) {
            draft.entry.headers.push(("cookie".into(), cookies));
        }
        add_body(&mut draft.entry, self.document, self.operation, variables)?;
        let mut url = base.then(path(&draft.path, variables));
        for (number, field) in draft.query.into_iter().enumerate() {
            url = url.then(if number == 0 { "?" } else { "&" }).then(field);
        }
        Ok(Entry { url, ..draft.entry })
    }

    /// The URL of the server: a variable if there are several, or if it depends on where the document is.
    fn base(&self, variables: &mut Variables) -> Result<Text, ImportError> {
        let owners = [self.operation, self.item, &self.document.root];
        let mut lists = owners.iter().map(|owner| owner.items_of("servers"));
        let servers = lists.find(|servers| !servers.is_empty());
        let servers = servers.unwrap_or_default();
        let urls: Vec<String> = servers.iter().map(url_of).collect();
        let (meaning, path) = match urls.as_slice() {
            [] => (
                "the server's URL, such as http://localhost:8080".to_owned(),
                "",
            ),
            [url] if url.contains("://") => {
                let url = Url::parse(url).map_err(|error| format!("the server {error}"))?;
                return Ok(url.to_string().trim_end_matches('/').into());
            }
            [path] => {
                let meaning = "the server's URL without a path, such as http://localhost:8080";
                (meaning.to_owned(), path.trim_matches('/'))
            }
            several => (format!("the server's URL: {}", several.join(" or ")), ""),
        };
        let host = Text::variable(variables.named("host", meaning));
        let slash = if path.is_empty() { "" } else { "/" };
        Ok(host.then(format!("{slash}{path}")))
    }

    fn comments(&self) -> Vec<String> {
        let names = ["operationId", "summary"].into_iter();
        let texts: Vec<&str> = names
            .filter_map(|name| self.operation.text_of(name))
            .collect();
        let comment = (!texts.is_empty()).then(|| texts.join(": "));
        comment.into_iter().collect()
    }

    /// The first status that means success, or else that of a redirect.
    fn status(&self) -> Option<Status> {
        let responses = self.operation.members_of("responses");
        let of = |first: char| {
            let mut names = responses.iter().map(|(name, _)| name.as_str());
            names.find(|name| name.starts_with(first) && name.len() == 3)
        };
        let name = of('2').or_else(|| of('3'))?;
        match name.parse() {
            Ok(status) => Some(Status::Exactly(status)),
            Err(_) => name[..1].parse().ok().map(Status::Hundred),
        }
    }
}

/// A path, in which variables stand for what the document does not describe.
fn path(path: &str, variables: &mut Variables) -> Text {
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut text = Text::from(slash);
    let mut rest = path;
    while let Some((before, (name, behind))) = rest
        .split_once('{')
        .and_then(|(before, more)| Some((before, more.split_once('}')?)))
    {
        let variable = variables.named(name, format!("`{name}` of {path}"));
        text = text.then(before).then(Text::variable(variable));
        rest = behind;
    }
    text.then(rest)
}

/// The URL of a server, with the defaults of its variables.
fn url_of(server: &Node) -> String {
    let mut url = server.text_of("url").unwrap_or("/").to_owned();
    for (name, variable) in server.members_of("variables") {
        if let Some(default) = variable.get("default").and_then(Node::scalar) {
            url = url.replace(&format!("{{{name}}}"), &default);
        }
    }
    url
}
