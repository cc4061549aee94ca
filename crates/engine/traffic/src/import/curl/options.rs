//! The options of curl: which change the request, which mean nothing for it, and which Prony refuses.

use prony_hurl::ast::FlagOption;

use super::files::{Files, text};
use super::request::{Command, Flag, Take, VALUES};
use crate::import::{ImportError, refuse};

#[derive(Clone, Copy)]
enum Kind {
    Flag(Flag),
    Value(Take),
    /// It does not change the request.
    IgnoredFlag,
    /// It has a value, and does not change the request.
    IgnoredValue,
    /// It is refused, with what to do instead.
    Refused(&'static str),
}

const FLAGS: &[(&str, Flag)] = &[
    ("--compressed", Flag::Hurl(FlagOption::Compressed)),
    ("--get -G", Flag::Get),
    ("--globoff -g", Flag::GlobOff),
    ("--head -I", Flag::Head),
    ("--http1.1", Flag::Hurl(FlagOption::Http11)),
    ("--http2", Flag::Hurl(FlagOption::Http2)),
    (
        "--http2-prior-knowledge",
        Flag::Hurl(FlagOption::Http2PriorKnowledge),
    ),
    ("--insecure -k", Flag::Hurl(FlagOption::Insecure)),
    ("--location -L", Flag::Hurl(FlagOption::FollowLocation)),
    (
        "--location-trusted",
        Flag::Hurl(FlagOption::FollowLocationTrusted),
    ),
    ("--path-as-is", Flag::Hurl(FlagOption::PathAsIs)),
];

const IGNORED_FLAGS: &str = "\
    --basic --create-dirs --disable -q --fail -f --fail-early --fail-with-body --include -i --ipv4 -4 \
    --ipv6 -6 --no-buffer -N --no-keepalive --no-progress-meter --progress-bar -# --remote-header-name \
    -J --remote-name -O --retry-all-errors --retry-connrefused --show-error -S --show-headers --silent \
    -s --styled-output --tcp-nodelay --trace-time --verbose -v";

const IGNORED_VALUES: &str = "\
    --connect-timeout --cookie-jar -c --dump-header -D --keepalive-time --max-redirs --max-time -m \
    --output -o --output-dir --retry --retry-delay --retry-max-time --stderr --trace --trace-ascii \
    --write-out -w";

const REFUSED: &[(&str, &str)] = &[
    ("--anyauth", "write --basic if the server wants a password"),
    (
        "--cacert --cert -E --key --unix-socket",
        "remove it from the command; `prony load` has a flag of its own for that",
    ),
    (
        "--digest --negotiate --ntlm",
        "of the ways to send a password, Prony has --basic",
    ),
    (
        "--http1.0 -0 --http3 --http3-only",
        "Prony has --http1.1 and --http2",
    ),
    ("--netrc -n", "write the password with --user"),
    (
        "--next -:",
        "Prony reads one request from a command; import each command",
    ),
    ("--range -r", "write the header: -H 'Range: bytes=0-99'"),
    (
        "--upload-file -T",
        "write -X PUT and --data-binary @FILE instead",
    ),
];

impl Kind {
    fn of(name: &str) -> Self {
        let is_in = |options: &str| {
            let mut names = options.split_whitespace();
            names.any(|it| it == name)
        };
        if let Some((_, flag)) = FLAGS.iter().find(|(options, _)| is_in(options)) {
            Self::Flag(*flag)
        } else if let Some((_, value)) = VALUES.iter().find(|(options, _)| is_in(options)) {
            Self::Value(*value)
        } else if is_in(IGNORED_FLAGS) {
            Self::IgnoredFlag
        } else if is_in(IGNORED_VALUES) {
            Self::IgnoredValue
        } else {
            let refused = REFUSED.iter().find(|(options, _)| is_in(options));
            let unknown = "Prony cannot do what it asks for; remove it from the command";
            Self::Refused(refused.map_or(unknown, |(_, advice)| advice))
        }
    }
}

/// Reads the words behind `curl`.
pub(super) fn read(words: &[Vec<u8>], files: &mut Files<'_>) -> Result<Command, ImportError> {
    let mut command = Command::default();
    let mut words = words.iter().map(Vec::as_slice);
    let mut are_options_over = false;
    while let Some(word) = words.next() {
        match word {
            _ if are_options_over => command.urls.push(text(word)?),
            b"--" => are_options_over = true,
            [b'-', b'-', name @ ..] => {
                let name = format!("--{}", String::from_utf8_lossy(name));
                option(&name, || words.next(), &mut command, files)?;
            }
            [b'-', letters @ ..] if !letters.is_empty() => {
                short(letters, &mut words, &mut command, files)?;
            }
            url => command.urls.push(text(url)?),
        }
    }
    Ok(command)
}

/// `-sSXPOST`: letters of which the last may have a value, here or in the next word.
fn short<'a>(
    letters: &'a [u8],
    words: &mut impl Iterator<Item = &'a [u8]>,
    command: &mut Command,
    files: &mut Files<'_>,
) -> Result<(), ImportError> {
    let mut rest = letters;
    while let [letter, more @ ..] = rest {
        rest = more;
        let value = || match std::mem::take(&mut rest) {
            [] => words.next(),
            value => Some(value),
        };
        option(&format!("-{}", char::from(*letter)), value, command, files)?;
    }
    Ok(())
}

/// Heeds an option. One with a value takes it.
fn option<'a>(
    name: &str,
    value: impl FnOnce() -> Option<&'a [u8]>,
    command: &mut Command,
    files: &mut Files<'_>,
) -> Result<(), ImportError> {
    let required = || {
        let value = value().map(<[u8]>::to_vec);
        value.ok_or_else(|| format!("{name} of curl needs a value behind it"))
    };
    match Kind::of(name) {
        Kind::Flag(flag) => command.flags.push(flag),
        Kind::Value(take) => take(command, required()?, files)?,
        Kind::IgnoredFlag => {}
        Kind::IgnoredValue => drop(required()?),
        Kind::Refused(advice) => return refuse(format!("{name} of curl: {advice}")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_file(_name: &str) -> Result<Vec<u8>, String> {
        Err("files cannot be read here".into())
    }

    fn given(words: &[&str]) -> Result<Command, String> {
        let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        read(&words, &mut no_file).map_err(|error| error.to_string())
    }

    #[test]
    fn short_options_may_be_joined() {
        let command = given(&["-sSkXPOST", "-H", "a: b", "-da=b", "--", "-u"]).expect("options");
        assert_eq!(command.flags, [Flag::Hurl(FlagOption::Insecure)]);
        assert_eq!(command.method.as_deref(), Some("POST"));
        assert_eq!(command.headers, [("a".into(), "b".into())]);
        assert_eq!(command.data.bytes(&mut no_file), Ok(b"a=b".to_vec()));
        assert_eq!(command.urls, ["-u"]);
        let ignored = ["-so", "file", "-w", "%{http_code}", "--max-time=5"];
        assert!(given(&ignored).is_err());
        let command = given(&ignored[..4]).expect("options");
        assert!(command.flags.is_empty() && command.urls.is_empty());
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
            let error = given(words).err().expect("refused");
            assert!(error.contains(message), "{error}");
        }
    }
}
