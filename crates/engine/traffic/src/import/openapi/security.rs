//! How an operation knows who calls it.

use percent_encoding::utf8_percent_encode;

use super::document::Document;
use super::draft::Draft;
use super::node::Node;
use super::variables::Variables;
use crate::import::ImportError;
use crate::import::scenario::Text;
use crate::target::UNRESERVED;

/// Adds what the first of an operation's alternatives requires.
pub(super) fn add_credentials(
    draft: &mut Draft,
    document: &Document,
    operation: &Node,
    variables: &mut Variables,
) -> Result<(), ImportError> {
    let all = operation
        .get("security")
        .or_else(|| document.root.get("security"));
    let first = all.and_then(|all| all.items().first());
    let schemes = document.root.at("/components/securitySchemes");
    for (name, _) in first.map_or(&[][..], Node::members) {
        if let Some(scheme) = schemes.and_then(|schemes| schemes.get(name)) {
            add(draft, name, document.resolve(scheme)?, variables);
        }
    }
    Ok(())
}

fn add(draft: &mut Draft, name: &str, scheme: &Node, variables: &mut Variables) {
    let http_scheme = scheme
        .text_of("scheme")
        .unwrap_or_default()
        .to_ascii_lowercase();
    let entry = &mut draft.entry;
    match (scheme.text_of("type"), http_scheme.as_str()) {
        (Some("http"), "basic") => {
            let user = variables.named("user", "the user of a password");
            let password = variables.named("password", "the password");
            entry.basic_auth = Some((Text::variable(user), Text::variable(password)));
        }
        (Some("http"), "bearer") | (Some("oauth2" | "openIdConnect"), _) => {
            let token = variables.named("token", "the token behind `Bearer`");
            let value = Text::from("Bearer ").then(Text::variable(token));
            entry.headers.push(("authorization".into(), value));
        }
        (Some("apiKey"), _) => {
            let key = scheme.text_of("name").unwrap_or(name);
            let value = Text::variable(variables.named(name, format!("the key `{key}`")));
            match scheme.text_of("in") {
                Some("query") => {
                    let key = utf8_percent_encode(key, UNRESERVED);
                    draft.query.push(Text::from(format!("{key}=")).then(value));
                }
                Some("cookie") => {
                    draft
                        .cookies
                        .push(Text::from(format!("{key}=")).then(value));
                }
                _ => entry.headers.push((key.into(), value)),
            }
        }
        _ => {}
    }
}
