//! How an operation knows who calls it.

use super::document::Document;
use super::node::Node;
use super::variables::Variables;
use crate::import::ImportError;
use crate::import::scenario::Text;

/// What the first of an operation's alternatives adds to a request.
#[derive(Default)]
pub(super) struct Credentials {
    pub(super) headers: Vec<(Text, Text)>,
    pub(super) basic_auth: Option<(Text, Text)>,
    /// A field of the query: its name and its value.
    pub(super) query: Vec<(String, Text)>,
    pub(super) cookies: Vec<Text>,
}

impl Credentials {
    pub(super) fn of(
        document: &Document,
        operation: &Node,
        variables: &mut Variables,
    ) -> Result<Self, ImportError> {
        let mut found = Self::default();
        let all = operation
            .get("security")
            .or_else(|| document.root.get("security"));
        let first = all.and_then(|all| all.items().first());
        let schemes = document
            .root
            .get("components")
            .and_then(|components| components.get("securitySchemes"));
        for (name, _) in first.map_or(&[][..], Node::members) {
            if let Some(scheme) = schemes.and_then(|schemes| schemes.get(name)) {
                found.add(name, document.resolve(scheme)?, variables);
            }
        }
        Ok(found)
    }

    fn add(&mut self, name: &str, scheme: &Node, variables: &mut Variables) {
        let http_scheme = scheme
            .text_of("scheme")
            .unwrap_or_default()
            .to_ascii_lowercase();
        match (scheme.text_of("type"), http_scheme.as_str()) {
            (Some("http"), "basic") => {
                let user = variables.named("user", "the user of a password");
                let password = variables.named("password", "the password");
                self.basic_auth = Some((Text::variable(user), Text::variable(password)));
            }
            (Some("http"), "bearer") | (Some("oauth2" | "openIdConnect"), _) => {
                let token = variables.named("token", "the token behind `Bearer`");
                let value = Text::from("Bearer ").then(Text::variable(token));
                self.headers.push(("authorization".into(), value));
            }
            (Some("apiKey"), _) => {
                let key = scheme.text_of("name").unwrap_or(name);
                let value = Text::variable(variables.named(name, format!("the key `{key}`")));
                match scheme.text_of("in") {
                    Some("query") => self.query.push((key.to_owned(), value)),
                    Some("cookie") => {
                        self.cookies.push(Text::from(format!("{key}=")).then(value));
                    }
                    _ => self.headers.push((key.into(), value)),
                }
            }
            _ => {}
        }
    }
}
