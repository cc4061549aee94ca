//! Cookies that a response sets.

use super::date;
use super::failure::{Failure, fail};
use super::response::Response;
use super::value::Value;
use crate::ast::CookieAttribute;
use crate::position::Position;

/// The value or an attribute of the first cookie of that name, if the response sets one.
pub(super) fn attribute(
    response: &Response<'_>,
    name: &str,
    attribute: CookieAttribute,
    position: Position,
) -> Result<Option<Value>, Failure> {
    let cookies = response
        .header("set-cookie")
        .filter_map(|cookie| cookie.split_once('='));
    let Some((_, cookie)) = cookies.into_iter().find(|(cookie, _)| *cookie == name) else {
        return Ok(None);
    };
    let (value, attributes) = cookie.split_once(';').unwrap_or((cookie, ""));
    let mut values = with_value(attributes, attribute.name());
    Ok(match attribute {
        CookieAttribute::Value => Some(Value::Text(value.to_owned())),
        CookieAttribute::Domain | CookieAttribute::Path | CookieAttribute::SameSite => {
            values.next().map(|value| Value::Text(value.to_owned()))
        }
        CookieAttribute::Secure | CookieAttribute::HttpOnly => {
            is_flag(attributes, attribute.name()).then_some(Value::Unit)
        }
        CookieAttribute::MaxAge => values
            .find_map(|value| value.parse::<i64>().ok())
            .map(Value::integer),
        CookieAttribute::Expires => match values.next() {
            None => None,
            Some(value) => match date::cookie_expires(value) {
                Some(date) => Some(Value::Date(date)),
                None => {
                    let reason =
                        format!("could not parse Cookie Expires attribute value <{value}>");
                    return fail(position, "HTTP connection", reason);
                }
            },
        },
    })
}

/// The values of the attributes of a name, up to another `=`.
fn with_value<'a>(attributes: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let pairs = attributes
        .split(';')
        .filter_map(|attribute| attribute.split_once('='));
    pairs
        .filter(move |(attribute, _)| attribute.trim().eq_ignore_ascii_case(name))
        .map(|(_, value)| value.split('=').next().unwrap_or_default())
}

fn is_flag(attributes: &str, name: &str) -> bool {
    attributes
        .split(';')
        .any(|attribute| attribute.trim().eq_ignore_ascii_case(name))
}
