//! The request that options of curl describe.

use percent_encoding::percent_decode_str;
use prony_hurl::ast::FlagOption;

use super::data::{self, Data};
use super::files::{Files, text};
use crate::import::scenario::{Content, Entry, Options, Part, Text, has_header, is_named, method};
use crate::import::url::Url;
use crate::import::write::FORM;
use crate::import::{ImportError, refuse};

/// The content codings that `--compressed` of curl accepts.
const CODINGS: &str = "deflate, gzip, br, zstd";

/// Options without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flag {
    Get,
    Head,
    GlobOff,
    /// Hurl has it, too.
    Hurl(FlagOption),
}

#[derive(Default)]
pub(super) struct Command {
    pub(super) urls: Vec<String>,
    pub(super) method: Option<String>,
    pub(super) headers: Vec<(Text, Text)>,
    /// Headers that curl is not to send, in small letters.
    removed: Vec<String>,
    pub(super) data: Data,
    parts: Vec<Part>,
    is_json: bool,
    /// `user:password`
    user: Option<String>,
    bearer: Option<String>,
    cookies: Vec<String>,
    user_agent: Option<String>,
    referer: Option<String>,
    pub(super) flags: Vec<Flag>,
    /// Whether curl is to send the body in chunks.
    is_chunked: bool,
}

/// What an option does with its value.
pub(super) type Take = fn(&mut Command, Vec<u8>, &mut Files<'_>) -> Result<(), ImportError>;

/// The options with a value that change the request.
pub(super) const VALUES: &[(&str, Take)] = &[
    ("--cookie -b", |command, value, _| {
        command.cookie(text(&value)?)
    }),
    ("--data -d --data-ascii", |command, value, files| {
        command.data.ascii(value, files)
    }),
    ("--data-binary", |command, value, _| {
        command.data.binary(value, true)
    }),
    ("--data-raw", |command, value, _| {
        command.data.raw(value);
        Ok(())
    }),
    ("--data-urlencode", |command, value, files| {
        command.data.encoded(&value, files)
    }),
    ("--form -F", |command, value, files| {
        command.parts.push(data::part(&text(&value)?, files)?);
        Ok(())
    }),
    ("--form-string", |command, value, _| {
        let value = text(&value)?;
        let pair = value.split_once('=');
        let (name, value) = pair.ok_or_else(|| data::wrong_part(&value, "write NAME=VALUE"))?;
        command.parts.push(Part::Value(name.into(), value.into()));
        Ok(())
    }),
    ("--header -H", |command, value, _| {
        command.header(&text(&value)?)
    }),
    ("--json", |command, value, _| {
        command.is_json = true;
        command.data.binary(value, false)
    }),
    ("--oauth2-bearer", |command, value, _| {
        set(&mut command.bearer, &value)
    }),
    ("--referer -e", |command, value, _| {
        let value = text(&value)?;
        let url = value.strip_suffix(";auto").unwrap_or(&value);
        command.referer = Some(url.to_owned());
        Ok(())
    }),
    ("--request -X", |command, value, _| {
        command.method = Some(method(&text(&value)?)?);
        Ok(())
    }),
    ("--url", |command, value, _| {
        command.urls.push(text(&value)?);
        Ok(())
    }),
    ("--user -u", |command, value, _| {
        set(&mut command.user, &value)
    }),
    ("--user-agent -A", |command, value, _| {
        set(&mut command.user_agent, &value)
    }),
];

fn set(field: &mut Option<String>, value: &[u8]) -> Result<(), ImportError> {
    *field = Some(text(value)?);
    Ok(())
}

impl Command {
    fn header(&mut self, line: &str) -> Result<(), ImportError> {
        if line.starts_with('@') {
            return refuse(format!(
                "-H {line}: Prony does not read headers from files; write each with -H 'Name: value'"
            ));
        }
        // Pseudo-headers of HTTP/2 say again what the URL and the method say.
        if line.starts_with(':') {
            return Ok(());
        }
        let (name, value) = match line.split_once(':') {
            Some((name, value)) => (name.trim(), value.trim()),
            None => match line.strip_suffix(';') {
                Some(name) => {
                    self.headers.push((name.trim().into(), "".into()));
                    return Ok(());
                }
                None => {
                    return refuse(format!(
                        "the header `{line}` has no colon; write `Name: value`"
                    ));
                }
            },
        };
        let lower = name.to_ascii_lowercase();
        match value {
            "" => self.removed.push(lower),
            // The client frames bodies and keeps connections itself.
            _ if lower == "content-length" => {}
            _ if lower == "transfer-encoding" => self.is_chunked = true,
            _ if lower == "connection" && value.eq_ignore_ascii_case("keep-alive") => {}
            value => self.headers.push((name.into(), value.into())),
        }
        Ok(())
    }

    fn cookie(&mut self, value: String) -> Result<(), ImportError> {
        if !value.contains('=') {
            return refuse(format!(
                "-b {value}: Prony does not read cookies from files; write them with -b 'NAME=VALUE; NAME=VALUE'"
            ));
        }
        self.cookies.push(value);
        Ok(())
    }

    fn has(&self, flag: Flag) -> bool {
        self.flags.contains(&flag)
    }

    /// The entry of a command, with an expected status of any kind.
    pub(super) fn entry(mut self, files: &mut Files<'_>) -> Result<Entry, ImportError> {
        let mut url = self.url()?;
        self.check_content()?;
        let method = match self.method.take() {
            Some(method) => method,
            None if self.has(Flag::Head) => "HEAD".into(),
            None if self.sends_data() => "POST".into(),
            None => "GET".into(),
        };
        let is_json = self.is_json;
        let is_form = !self.data.is_empty() && !self.has(Flag::Get);
        let content = self.content(&mut url, files)?;
        let user = self.user.take().or_else(|| user_of(&url));
        let basic_auth = self.password(user)?;
        if is_json {
            self.add("Content-Type", Some("application/json"));
            self.add("Accept", Some("application/json"));
        } else if is_form {
            self.add("Content-Type", Some(FORM));
        }
        self.add_others();
        Ok(Entry {
            method,
            url: url.to_string().into(),
            options: Options {
                delay: None,
                flags: self.options(),
                chunked: self.is_chunked,
            },
            headers: self.headers,
            basic_auth,
            content,
            ..Entry::default()
        })
    }

    fn url(&mut self) -> Result<Url, ImportError> {
        let [text] = self.urls.as_slice() else {
            return refuse(match self.urls.len() {
                0 => "the command has no URL".to_owned(),
                _ => format!(
                    "the command has several URLs ({}), but Prony reads one request; leave one",
                    self.urls.join(", ")
                ),
            });
        };
        let guessed = if text.contains("://") {
            text.clone()
        } else {
            format!("http://{text}")
        };
        let mut url = Url::parse(&guessed)?;
        let (_, behind_host) = guessed.split_once("://").unwrap_or_default();
        // An address of IPv6 has brackets, too.
        let behind_host = match behind_host.split_once(']') {
            Some((_, rest)) if behind_host.starts_with('[') => rest,
            _ => behind_host,
        };
        if !self.has(Flag::GlobOff) && behind_host.contains(['{', '}', '[', ']']) {
            return refuse(format!(
                "curl expands the brackets in `{text}`; write --globoff if they are part of the URL, or write one URL \
                 without them"
            ));
        }
        if !self.has(Flag::Hurl(FlagOption::PathAsIs)) {
            url.remove_dots();
        }
        Ok(url)
    }

    fn sends_data(&self) -> bool {
        !self.parts.is_empty() || !self.data.is_empty() && !self.has(Flag::Get)
    }

    /// What curl refuses, too.
    fn check_content(&self) -> Result<(), ImportError> {
        let two = |one, other| {
            refuse(format!(
                "{one} and {other} exclude each other, as in curl; remove one"
            ))
        };
        if !self.data.is_empty() && !self.parts.is_empty() {
            two("--data", "--form")
        } else if !self.parts.is_empty() && self.has(Flag::Get) {
            two("--get", "--form")
        } else if self.has(Flag::Head) && self.sends_data() {
            two("--head", "a body")
        } else {
            Ok(())
        }
    }

    fn content(&mut self, url: &mut Url, files: &mut Files<'_>) -> Result<Content, ImportError> {
        let data = std::mem::take(&mut self.data);
        if !self.parts.is_empty() {
            // The boundary is missing in it.
            self.headers.retain(|(name, value)| {
                !(is_named(name, "content-type") && value.literal() == Some("multipart/form-data"))
            });
            return Ok(Content::Multipart(std::mem::take(&mut self.parts)));
        }
        if data.is_empty() {
            return Ok(Content::None);
        }
        if !self.has(Flag::Get) {
            return data.content(files);
        }
        let query = text(&data.bytes(files)?)?;
        if !query.is_empty() {
            url.add_query(&query);
        }
        Ok(Content::None)
    }

    /// The user and password, unless a header has them.
    fn password(&mut self, user: Option<String>) -> Result<Option<(Text, Text)>, ImportError> {
        if has_header(&self.headers, "authorization") {
            return Ok(None);
        }
        if let Some(token) = &self.bearer {
            let value = format!("Bearer {token}");
            self.headers.push(("Authorization".into(), value.into()));
            return Ok(None);
        }
        let Some(user) = user else { return Ok(None) };
        let (name, password) = user.split_once(':').ok_or_else(|| {
            format!("curl would ask for the password of `{user}`; write -u '{user}:PASSWORD'")
        })?;
        Ok(Some((name.into(), password.into())))
    }

    fn add_others(&mut self) {
        let compressed = self
            .has(Flag::Hurl(FlagOption::Compressed))
            .then_some(CODINGS);
        self.add("Accept-Encoding", compressed);
        let user_agent = self.user_agent.take();
        self.add("User-Agent", user_agent.as_deref());
        let referer = self.referer.take();
        self.add("Referer", referer.as_deref());
        let cookies = (!self.cookies.is_empty()).then(|| self.cookies.join(";"));
        self.add("Cookie", cookies.as_deref());
    }

    /// Adds a header that no `-H` sets or removes.
    fn add(&mut self, name: &str, value: Option<&str>) {
        let is_set = has_header(&self.headers, name)
            || self.removed.iter().any(|it| it.eq_ignore_ascii_case(name));
        if let Some(value) = value.filter(|value| !is_set && !value.is_empty()) {
            self.headers.push((name.into(), value.into()));
        }
    }

    /// The last version counts.
    fn options(&self) -> Vec<FlagOption> {
        use FlagOption::{
            FollowLocation, FollowLocationTrusted, Http2, Http2PriorKnowledge, Http11, Insecure,
        };
        let has = |flag: &FlagOption| self.has(Flag::Hurl(*flag));
        let redirects = [FollowLocationTrusted, FollowLocation]
            .into_iter()
            .find(has);
        let version = self.flags.iter().rev().find_map(|flag| match flag {
            Flag::Hurl(flag @ (Http11 | Http2 | Http2PriorKnowledge)) => Some(*flag),
            _ => None,
        });
        let insecure = [Insecure].into_iter().filter(has);
        insecure.chain(redirects).chain(version).collect()
    }
}

fn user_of(url: &Url) -> Option<String> {
    let userinfo = url.userinfo.as_deref()?;
    let decoded = |text| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
    Some(format!("{}:{}", decoded(user), decoded(password)))
}
