//! What a Hurl file says: entries with requests and expected responses, without its white space and comments.

/// Defines an enum of keywords.
macro_rules! keywords {
    ($(#[$doc:meta])* $type:ident { $($variant:ident = $keyword:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type { $($variant,)* }

        impl $type {
            /// All, with their keywords.
            pub(crate) const ALL: &'static [(&'static str, Self)] =
                &[$(($keyword, Self::$variant),)*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $keyword,)* }
            }
        }
    };
}

pub(crate) fn named<T: Copy>(keyword: &str, all: &[(&str, T)]) -> Option<T> {
    let mut all = all.iter();
    all.find_map(|(known, value)| (*known == keyword).then_some(*value))
}

mod body;
mod entry;
mod filter;
mod option;
mod predicate;
mod query;
mod template;

pub use body::{Body, BodyValue, Json, JsonPiece, Multiline};
pub use entry::{
    Assert, Capture, Entry, FilenameParam, HttpVersion, HurlFile, KeyValue, MultipartParam,
    Request, Response, Status, StatusValue,
};
pub use filter::{Filter, FilterValue, PlainFilter, TextFilter};
pub use option::{
    Count, CountOption, DurationOption, EntryOption, FlagOption, OptionValue, Setting, TextOption,
    VariableDefinition, VariableValue,
};
pub use predicate::{Comparison, Predicate, PredicateValue, Property, Test};
pub use query::{
    Compiled, CookieAttribute, CookiePath, JsonPath, PlainQuery, Query, QueryValue, RegexTemplate,
    RegexValue,
};
pub use template::{Expression, Placeholder, Template, TemplateElement};
