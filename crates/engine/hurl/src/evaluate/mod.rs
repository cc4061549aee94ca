//! What a Hurl file means: texts from templates, values from responses, and whether a response is as expected.

mod check;
mod cookie;
mod date;
mod failure;
mod filter;
mod html;
mod predicate;
mod query;
mod request;
mod response;
mod scope;
#[cfg(test)]
mod tests;
mod url;
mod value;
mod variables;

pub use crate::ast::HttpVersion;
pub use crate::number::Number;
pub use check::Evaluation;
pub use failure::Failure;
pub use request::Rendered;
pub use response::{Redirect, Response};
pub use scope::{Environment, FileError, Scope};
pub use value::Value;
pub use variables::{Variable, Variables};
