//! Hurl files as scenarios of a load: each user goes through the entries of a file, over and over.
//!
//! ```
//! use prony_traffic::{HurlScenario, Sources};
//!
//! let text = "GET http://{{host}}/items/{{item}}\nHTTP 200\n";
//! let mut sources = Sources::default();
//! sources.set("host", "localhost:8080")?;
//! sources.add_random("item", "1..100".parse()?)?;
//! let scenario = HurlScenario::new("items.hurl", text, sources)?;
//! assert_eq!(scenario.server().as_str(), "http://localhost:8080/");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod constants;
mod cookies;
mod encode;
mod environment;
mod error;
mod file;
pub mod import;
mod one_request;
mod option_values;
mod options;
mod placeholders;
mod portable;
mod prepare;
pub mod protobuf;
mod redirect;
mod request;
mod response;
mod secrets;
mod sources;
mod target;
mod text;
mod user;

pub use encode::Encode;
pub use error::ScenarioError;
pub use file::{must_be_file, read_file, read_hurl_file};
pub use one_request::{OneRequest, OneRequestError, RequestTemplate};
pub use prepare::{ConnectionOptions, HurlScenario};
pub use secrets::{HIDDEN, Secrets};
pub use sources::{RandomRange, RandomRangeError, Sources, SourcesError, check_name};
pub use text::{Template, Text, TextError, placeholder};

/// The most entries of a file: each has a histogram per thread.
pub const MOST_ENTRIES: usize = 500;
