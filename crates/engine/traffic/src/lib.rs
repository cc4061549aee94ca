//! What is sent, and what is expected back, as data: requests, flows of users, expected responses.
//!
//! ```
//! use prony_traffic::{Scenario, Sources};
//!
//! let text = "GET http://{{host}}/items/{{item}}\nHTTP 200\n";
//! let mut sources = Sources::default();
//! sources.set("host", "localhost:8080")?;
//! sources.add_random("item", "1..100".parse()?)?;
//! let scenario = Scenario::new("items.hurl", text, sources)?;
//! assert_eq!(scenario.server().as_str(), "http://localhost:8080/");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod base64;
mod body_limit;
mod call;
mod carried;
mod coding;
mod collect;
mod constants;
mod cookies;
mod encode;
mod environment;
mod error;
mod evaluate;
pub mod expected;
mod file;
mod http_version;
pub mod import;
mod json;
mod option_values;
mod options;
mod parts;
mod placeholders;
mod prepare;
pub mod protobuf;
mod redirect;
mod request;
mod request_file;
mod request_template;
mod response;
mod scenario;
mod secrets;
mod serde_http;
mod sources;
pub mod sse;
mod target;
mod text;
mod traffic;
mod turn;
mod url;
mod user;

pub use base64::Base64;
pub use body_limit::BodyLimit;
pub use call::{Call, CallError, CallKind, PREFIX};
pub use coding::{ALL_CODINGS, Accepted};
pub use collect::Collect;
pub use encode::Encode;
pub use error::ScenarioError;
pub use expected::Expected;
pub use file::{must_be_file, read_file, read_hurl_file};
pub use http_version::HttpVersion;
pub use json::{Json, SentJson, from_toml};
pub use parts::{
    Order, RequestError, RequestParts, RequestSet, add_field, add_user, expects_length,
    header_fields,
};
pub use request_file::{RequestFile, RequestFileError};
pub use request_template::{RequestTemplate, TemplateError};
pub use response::{LONGEST_BODY, LONGEST_LINE, Mismatch, Response, excerpt, same_bytes};
pub use scenario::{ConnectionOptions, Scenario};
pub use secrets::{HIDDEN, Secrets};
pub use serde_http::Field;
pub use sources::{RandomRange, RandomRangeError, Sources, SourcesError, check_name};
pub use text::{Template, Text, TextError, placeholder};
pub use traffic::Traffic;
pub use turn::{Entry, FlowShare, Keep, Rejection, Reply, ScenarioRequest, Sending, Turn};
pub use url::{HttpUrl, Scheme, UrlError};
pub use user::User;

/// The most entries of a file: each has a histogram per thread.
pub const MOST_ENTRIES: usize = 500;
