//! Options of an entry.

use super::{Number, Placeholder, Template};
use crate::position::Position;

/// An option of an entry.
#[derive(Clone, Debug)]
pub struct EntryOption {
    /// Its name and value.
    pub value: OptionValue,
    /// Where its name is.
    pub position: Position,
}

/// The kinds of options.
#[derive(Clone, Debug)]
pub enum OptionValue {
    /// On or off.
    Flag(FlagOption, Setting<bool>),
    /// A text.
    Text(TextOption, Template),
    /// The name of a file.
    File(FileOption, Template),
    /// A time.
    Duration(DurationOption, Setting<Duration>),
    /// How often.
    Count(CountOption, Setting<Count>),
    /// `limit-rate`, in bytes a second.
    LimitRate(Setting<u64>),
    /// `variable`
    Variable(VariableDefinition),
    /// `verbosity`
    Verbosity(Verbosity),
}

impl OptionValue {
    /// The option's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Flag(option, _) => option.name(),
            Self::Text(option, _) => option.name(),
            Self::File(option, _) => option.name(),
            Self::Duration(option, _) => option.name(),
            Self::Count(option, _) => option.name(),
            Self::LimitRate(_) => "limit-rate",
            Self::Variable(_) => "variable",
            Self::Verbosity(_) => "verbosity",
        }
    }

    /// The names of all options, in alphabetical order.
    pub(crate) fn names() -> Vec<&'static str> {
        let mut names = [
            FlagOption::NAMES,
            TextOption::NAMES,
            FileOption::NAMES,
            DurationOption::NAMES,
            CountOption::NAMES,
            &["limit-rate", "variable", "verbosity"],
        ]
        .concat();
        names.sort_unstable();
        names
    }
}

/// A value that the file gives, or a variable.
#[derive(Clone, Debug)]
pub enum Setting<T> {
    /// The value.
    Literal(T),
    /// `{{name}}`
    Placeholder(Placeholder),
}

/// Defines an enum of options with their names.
macro_rules! options {
    ($(#[$doc:meta])* $type:ident { $($option:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "each has its name in a Hurl file")]
        pub enum $type { $($option,)* }

        impl $type {
            /// The option's name in a Hurl file.
            pub fn name(self) -> &'static str {
                match self { $(Self::$option => $name,)* }
            }

            /// The names of all.
            const NAMES: &'static [&'static str] = &[$($name,)*];

            /// The option of that name.
            pub(crate) fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$option),)*
                    _ => None,
                }
            }
        }
    };
}

options! {
    /// Options that are on or off.
    FlagOption {
        Compressed = "compressed",
        Digest = "digest",
        FailWithBody = "fail-with-body",
        FollowLocation = "location",
        FollowLocationTrusted = "location-trusted",
        Http10 = "http1.0",
        Http11 = "http1.1",
        Http2 = "http2",
        Http2PriorKnowledge = "http2-prior-knowledge",
        Http3 = "http3",
        Insecure = "insecure",
        Ipv4 = "ipv4",
        Ipv6 = "ipv6",
        Negotiate = "negotiate",
        Netrc = "netrc",
        NetrcOptional = "netrc-optional",
        NoJsonPathCoercion = "no-jsonpath-coercion",
        Ntlm = "ntlm",
        PathAsIs = "path-as-is",
        Skip = "skip",
        Verbose = "verbose",
        VeryVerbose = "very-verbose",
    }
}

options! {
    /// Options that are texts.
    TextOption {
        AwsSigV4 = "aws-sigv4",
        ConnectTo = "connect-to",
        Header = "header",
        NetrcFile = "netrc-file",
        NoHeader = "no-header",
        PinnedPublicKey = "pinnedpubkey",
        Proxy = "proxy",
        Resolve = "resolve",
        TlsMax = "tls-max",
        TlsMin = "tls-min",
        UnixSocket = "unix-socket",
        User = "user",
    }
}

options! {
    /// Options that name a file.
    FileOption {
        CaCertificate = "cacert",
        ClientCertificate = "cert",
        ClientKey = "key",
        Output = "output",
    }
}

options! {
    /// Options that are times.
    DurationOption {
        ConnectTimeout = "connect-timeout",
        Delay = "delay",
        MaxTime = "max-time",
        RetryInterval = "retry-interval",
    }
}

options! {
    /// Options that are counts.
    CountOption {
        MaxRedirects = "max-redirs",
        Repeat = "repeat",
        Retry = "retry",
    }
}

/// A time as the file gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duration {
    /// The number before the unit.
    pub value: u64,
    /// The unit: milliseconds without one.
    pub unit: Option<DurationUnit>,
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DurationUnit {
    /// `ms`
    Millisecond,
    /// `s`
    Second,
    /// `m`
    Minute,
    /// `h`
    Hour,
}

/// How often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// A number of times.
    Finite(u64),
    /// `-1`
    Infinite,
}

/// `name=value`
#[derive(Clone, Debug)]
pub struct VariableDefinition {
    /// The variable.
    pub name: String,
    /// Its value.
    pub value: VariableValue,
}

/// The value of a variable.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the types of JSON")]
pub enum VariableValue {
    Null,
    Bool(bool),
    Number(Number),
    Text(Template),
}

/// What Hurl prints of an entry. Prony ignores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the words of Hurl")]
pub enum Verbosity {
    Brief,
    Verbose,
    Debug,
}
