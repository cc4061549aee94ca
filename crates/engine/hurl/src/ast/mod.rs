//! What a Hurl file says: entries with requests and expected responses, without its white space and comments.

mod body;
mod entry;
mod filter;
mod option;
mod predicate;
mod query;
mod template;

pub use body::{Body, BodyValue, Bytes, Json, JsonPiece, Multiline};
pub use entry::{
    Assert, Capture, Entry, FilenameParam, HurlFile, KeyValue, MultipartParam, Request, Response,
    Status, StatusValue, Version, VersionValue,
};
pub use filter::{Filter, FilterValue};
pub use option::{
    Count, CountOption, Duration, DurationOption, DurationUnit, EntryOption, FileOption,
    FlagOption, OptionValue, Setting, TextOption, VariableDefinition, VariableValue, Verbosity,
};
pub use predicate::{Number, Predicate, PredicateValue, Test};
pub use query::{
    CertificateField, CookieAttribute, CookiePath, JsonPath, Query, QueryValue, RegexLiteral,
    RegexTemplate, RegexValue,
};
pub use template::{Expression, Placeholder, Template, TemplateElement};
