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
    File(FileOption, Template),
    Duration(DurationOption, Setting<Duration>),
    Count(CountOption, Setting<Count>),
    /// `limit-rate`, in bytes a second.
    LimitRate(Setting<u64>),
    Variable(VariableDefinition),
    /// `verbosity`, which says what Hurl prints.
    Verbosity,
}

impl OptionValue {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Flag(option, _) => option.name(),
            Self::Text(option, _) => option.name(),
            Self::File(option, _) => option.name(),
            Self::Duration(option, _) => option.name(),
            Self::Count(option, _) => option.name(),
            Self::LimitRate(_) => "limit-rate",
            Self::Variable(_) => "variable",
            Self::Verbosity => "verbosity",
        }
    }

    /// The names of all options, in alphabetical order.
    pub(crate) fn names() -> Vec<&'static str> {
        let mut names = vec!["limit-rate", "variable", "verbosity"];
        names.extend(FlagOption::ALL.iter().map(|(name, _)| name));
        names.extend(TextOption::ALL.iter().map(|(name, _)| name));
        names.extend(FileOption::ALL.iter().map(|(name, _)| name));
        names.extend(DurationOption::ALL.iter().map(|(name, _)| name));
        names.extend(CountOption::ALL.iter().map(|(name, _)| name));
        names.sort_unstable();
        names
    }
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

keywords! {
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

keywords! {
    /// Options that name a file.
    FileOption {
        CaCertificate = "cacert",
        ClientCertificate = "cert",
        ClientKey = "key",
        Output = "output",
    }
}

keywords! {
    /// Options that are times.
    DurationOption {
        ConnectTimeout = "connect-timeout",
        Delay = "delay",
        MaxTime = "max-time",
        RetryInterval = "retry-interval",
    }
}

keywords! {
    /// Options that are counts.
    CountOption {
        MaxRedirects = "max-redirs",
        Repeat = "repeat",
        Retry = "retry",
    }
}

/// How often.
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
