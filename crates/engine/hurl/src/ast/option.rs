//! Options of an entry.

use std::time::Duration;

use super::{Placeholder, Template};
use crate::number::Number;
use crate::position::Position;

#[derive(Clone, Debug)]
pub struct EntryOption {
    pub value: OptionValue,
    pub position: Position,
}

#[derive(Clone, Debug)]
pub enum OptionValue {
    Flag(FlagOption, Setting<bool>),
    Text(TextOption, Template),
    Duration(DurationOption, Setting<Duration>),
    Count(CountOption, Setting<Count>),
    Variable(VariableDefinition),
    /// What changes no load: what Hurl prints, and what is off by default and off here.
    Ignored,
    Unsupported(&'static str),
}

/// A value that the file gives, or a variable.
#[derive(Clone, Debug)]
pub enum Setting<T> {
    Literal(T),
    Placeholder(Placeholder),
}

keywords! {
    /// Options that are on or off.
    FlagOption {
        Compressed = "compressed",
        FollowLocation = "location",
        FollowLocationTrusted = "location-trusted",
        Http11 = "http1.1",
        Http2 = "http2",
        Http2PriorKnowledge = "http2-prior-knowledge",
        Insecure = "insecure",
        NoJsonPathCoercion = "no-jsonpath-coercion",
        PathAsIs = "path-as-is",
        Skip = "skip",
        Verbose = "verbose",
        VeryVerbose = "very-verbose",
    }
}

keywords! {
    TextOption {
        Header = "header",
        NoHeader = "no-header",
        User = "user",
    }
}

keywords! {
    DurationOption {
        Delay = "delay",
        MaxTime = "max-time",
        RetryInterval = "retry-interval",
    }
}

keywords! {
    CountOption {
        MaxRedirects = "max-redirs",
        Repeat = "repeat",
        Retry = "retry",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    Finite(u64),
    /// `-1`
    Infinite,
}

/// `name=value`
#[derive(Clone, Debug)]
pub struct VariableDefinition {
    pub name: String,
    pub value: VariableValue,
}

#[derive(Clone, Debug)]
pub enum VariableValue {
    Null,
    Bool(bool),
    Number(Number),
    Text(Template),
}
