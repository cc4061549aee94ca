//! The options of curl: which change the request, which mean nothing for it, and which Prony refuses.

use super::CurlError;

/// An option that changes the request, or a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Given {
    Flag(Flag),
    Value(Value, Vec<u8>),
}

/// Options without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flag {
    Get,
    Head,
    Compressed,
    Insecure,
    Http11,
    Http2,
    Http2PriorKnowledge,
    GlobOff,
    PathAsIs,
    Location,
    LocationTrusted,
}

/// Options with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Url,
    Method,
    Header,
    Data,
    DataRaw,
    DataBinary,
    DataUrlEncode,
    Json,
    Form,
    FormString,
    User,
    Bearer,
    Cookie,
    UserAgent,
    Referer,
}

#[derive(Clone, Copy)]
enum Kind {
    Flag(Flag),
    Value(Value),
    /// It does not change the request.
    IgnoredFlag,
    /// It has a value, and does not change the request.
    IgnoredValue,
    /// It is refused, with what to do instead.
    Refused(&'static str),
}

use Kind::{IgnoredFlag, IgnoredValue, Refused};

const REMOVE: &str = "Prony cannot do what it asks for; remove it from the command";
const OF_LOAD: &str = "remove it from the command; `prony load` has a flag of its own for that";
const UPLOAD: &str = "write -X PUT and --data-binary @FILE instead";
const SEVERAL: &str = "Prony reads one request from a command; import each command";

/// Long name, short name and kind of each option that is known.
const OPTIONS: &[(&str, Option<u8>, Kind)] = &[
    (
        "anyauth",
        None,
        Refused("write --basic if the server wants a password"),
    ),
    ("basic", None, IgnoredFlag),
    ("cacert", None, Refused(OF_LOAD)),
    ("cert", Some(b'E'), Refused(OF_LOAD)),
    ("compressed", None, Kind::Flag(Flag::Compressed)),
    ("config", Some(b'K'), Refused(REMOVE)),
    ("connect-timeout", None, IgnoredValue),
    ("connect-to", None, Refused(REMOVE)),
    ("cookie", Some(b'b'), Kind::Value(Value::Cookie)),
    ("cookie-jar", Some(b'c'), IgnoredValue),
    ("create-dirs", None, IgnoredFlag),
    ("data", Some(b'd'), Kind::Value(Value::Data)),
    ("data-ascii", None, Kind::Value(Value::Data)),
    ("data-binary", None, Kind::Value(Value::DataBinary)),
    ("data-raw", None, Kind::Value(Value::DataRaw)),
    ("data-urlencode", None, Kind::Value(Value::DataUrlEncode)),
    (
        "digest",
        None,
        Refused("of the ways to send a password, Prony has --basic"),
    ),
    ("disable", Some(b'q'), IgnoredFlag),
    ("dump-header", Some(b'D'), IgnoredValue),
    ("fail", Some(b'f'), IgnoredFlag),
    ("fail-early", None, IgnoredFlag),
    ("fail-with-body", None, IgnoredFlag),
    ("form", Some(b'F'), Kind::Value(Value::Form)),
    ("form-string", None, Kind::Value(Value::FormString)),
    ("get", Some(b'G'), Kind::Flag(Flag::Get)),
    ("globoff", Some(b'g'), Kind::Flag(Flag::GlobOff)),
    ("head", Some(b'I'), Kind::Flag(Flag::Head)),
    ("header", Some(b'H'), Kind::Value(Value::Header)),
    (
        "http1.0",
        Some(b'0'),
        Refused("Prony has --http1.1 and --http2"),
    ),
    ("http1.1", None, Kind::Flag(Flag::Http11)),
    ("http2", None, Kind::Flag(Flag::Http2)),
    (
        "http2-prior-knowledge",
        None,
        Kind::Flag(Flag::Http2PriorKnowledge),
    ),
    ("http3", None, Refused("Prony has --http1.1 and --http2")),
    (
        "http3-only",
        None,
        Refused("Prony has --http1.1 and --http2"),
    ),
    ("include", Some(b'i'), IgnoredFlag),
    ("insecure", Some(b'k'), Kind::Flag(Flag::Insecure)),
    ("ipv4", Some(b'4'), IgnoredFlag),
    ("ipv6", Some(b'6'), IgnoredFlag),
    ("json", None, Kind::Value(Value::Json)),
    ("keepalive-time", None, IgnoredValue),
    ("key", None, Refused(OF_LOAD)),
    ("location", Some(b'L'), Kind::Flag(Flag::Location)),
    ("location-trusted", None, Kind::Flag(Flag::LocationTrusted)),
    ("max-redirs", None, IgnoredValue),
    ("max-time", Some(b'm'), IgnoredValue),
    (
        "negotiate",
        None,
        Refused("of the ways to send a password, Prony has --basic"),
    ),
    (
        "netrc",
        Some(b'n'),
        Refused("write the password with --user"),
    ),
    ("next", Some(b':'), Refused(SEVERAL)),
    ("no-buffer", Some(b'N'), IgnoredFlag),
    ("no-keepalive", None, IgnoredFlag),
    ("no-progress-meter", None, IgnoredFlag),
    (
        "ntlm",
        None,
        Refused("of the ways to send a password, Prony has --basic"),
    ),
    ("oauth2-bearer", None, Kind::Value(Value::Bearer)),
    ("output", Some(b'o'), IgnoredValue),
    ("output-dir", None, IgnoredValue),
    ("path-as-is", None, Kind::Flag(Flag::PathAsIs)),
    ("progress-bar", Some(b'#'), IgnoredFlag),
    ("proxy", Some(b'x'), Refused(REMOVE)),
    (
        "range",
        Some(b'r'),
        Refused("write the header: -H 'Range: bytes=0-99'"),
    ),
    ("referer", Some(b'e'), Kind::Value(Value::Referer)),
    ("remote-header-name", Some(b'J'), IgnoredFlag),
    ("remote-name", Some(b'O'), IgnoredFlag),
    ("request", Some(b'X'), Kind::Value(Value::Method)),
    ("resolve", None, Refused(REMOVE)),
    ("retry", None, IgnoredValue),
    ("retry-all-errors", None, IgnoredFlag),
    ("retry-connrefused", None, IgnoredFlag),
    ("retry-delay", None, IgnoredValue),
    ("retry-max-time", None, IgnoredValue),
    ("show-error", Some(b'S'), IgnoredFlag),
    ("show-headers", None, IgnoredFlag),
    ("silent", Some(b's'), IgnoredFlag),
    ("stderr", None, IgnoredValue),
    ("styled-output", None, IgnoredFlag),
    ("tcp-nodelay", None, IgnoredFlag),
    ("trace", None, IgnoredValue),
    ("trace-ascii", None, IgnoredValue),
    ("trace-time", None, IgnoredFlag),
    ("unix-socket", None, Refused(OF_LOAD)),
    ("upload-file", Some(b'T'), Refused(UPLOAD)),
    ("url", None, Kind::Value(Value::Url)),
    ("user", Some(b'u'), Kind::Value(Value::User)),
    ("user-agent", Some(b'A'), Kind::Value(Value::UserAgent)),
    ("verbose", Some(b'v'), IgnoredFlag),
    ("write-out", Some(b'w'), IgnoredValue),
];

/// Reads the words behind `curl`.
pub(super) fn read(words: &[Vec<u8>]) -> Result<Vec<Given>, CurlError> {
    let mut given = Vec::new();
    let mut words = words.iter().map(Vec::as_slice);
    let mut are_options_over = false;
    while let Some(word) = words.next() {
        match word {
            _ if are_options_over => given.push(Given::Value(Value::Url, word.to_vec())),
            b"--" => are_options_over = true,
            [b'-', b'-', name @ ..] => long(name, &mut words, &mut given)?,
            [b'-', letters @ ..] if !letters.is_empty() => short(letters, &mut words, &mut given)?,
            url => given.push(Given::Value(Value::Url, url.to_vec())),
        }
    }
    Ok(given)
}

fn long<'a>(
    name: &[u8],
    words: &mut impl Iterator<Item = &'a [u8]>,
    given: &mut Vec<Given>,
) -> Result<(), CurlError> {
    let shown = format!("--{}", String::from_utf8_lossy(name));
    let found = OPTIONS.iter().find(|(long, ..)| long.as_bytes() == name);
    let kind = found.map_or(Refused(REMOVE), |(_, _, kind)| *kind);
    match kind {
        Kind::Flag(flag) => given.push(Given::Flag(flag)),
        Kind::Value(value) => given.push(Given::Value(value, required(words.next(), &shown)?)),
        IgnoredFlag => {}
        IgnoredValue => drop(required(words.next(), &shown)?),
        Refused(advice) => return Err(refusal(shown, advice)),
    }
    Ok(())
}

/// `-sSXPOST`: letters of which the last may have a value, here or in the next word.
fn short<'a>(
    letters: &[u8],
    words: &mut impl Iterator<Item = &'a [u8]>,
    given: &mut Vec<Given>,
) -> Result<(), CurlError> {
    for (at, letter) in letters.iter().enumerate() {
        let shown = format!("-{}", char::from(*letter));
        let found = OPTIONS.iter().find(|(_, short, _)| *short == Some(*letter));
        let kind = found.map_or(Refused(REMOVE), |(_, _, kind)| *kind);
        let mut value = || match &letters[at + 1..] {
            [] => required(words.next(), &shown),
            rest => Ok(rest.to_vec()),
        };
        match kind {
            Kind::Flag(flag) => given.push(Given::Flag(flag)),
            IgnoredFlag => {}
            Kind::Value(option) => {
                given.push(Given::Value(option, value()?));
                return Ok(());
            }
            IgnoredValue => return value().map(drop),
            Refused(advice) => return Err(refusal(shown, advice)),
        }
    }
    Ok(())
}

fn required(value: Option<&[u8]>, option: &str) -> Result<Vec<u8>, CurlError> {
    let missing = || CurlError::NoValue(option.to_owned());
    value.map(<[u8]>::to_vec).ok_or_else(missing)
}

fn refusal(option: String, advice: &'static str) -> CurlError {
    CurlError::Option { option, advice }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(words: &[&str]) -> Result<Vec<Given>, String> {
        let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        read(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn short_options_may_be_joined() {
        let value = |value, text: &str| Given::Value(value, text.as_bytes().to_vec());
        assert_eq!(
            given(&["-sSkXPOST", "-H", "a: b", "-da=b", "--", "-u"]),
            Ok(vec![
                Given::Flag(Flag::Insecure),
                value(Value::Method, "POST"),
                value(Value::Header, "a: b"),
                value(Value::Data, "a=b"),
                value(Value::Url, "-u"),
            ])
        );
        let ignored = ["-so", "file", "-w", "%{http_code}", "--max-time=5"];
        assert!(given(&ignored).is_err());
        assert_eq!(given(&ignored[..4]), Ok(vec![]));
    }

    #[test]
    fn other_options_are_refused_by_name() {
        for (words, message) in [
            (&["--proxy", "a"][..], "--proxy of curl: Prony cannot do"),
            (&["--no-such"], "--no-such of curl"),
            (&["-Z"], "-Z of curl"),
            (&["-T", "a"], "-T of curl: write -X PUT"),
            (&["-d"], "-d of curl needs a value"),
            (&["--header"], "--header of curl needs a value"),
        ] {
            let error = given(words).expect_err("refused");
            assert!(error.contains(message), "{error}");
        }
    }
}
