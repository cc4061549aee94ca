//! A scenario as the text of a Hurl file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::import::scenario::{
    Content, Entry, Options, Part, Piece, Redirects, Scenario, Status, Text, Version, has_header,
};

const FORM: &str = "application/x-www-form-urlencoded";

/// What stays as it is in the values of a form that a Hurl file describes.
const FORM_VALUE: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Writes a scenario as a Hurl file. `comments` are its first lines.
///
/// # Errors
///
/// A header field or a field of a form has no name, or the file would be longer than Prony reads.
pub fn write(scenario: &Scenario, comments: &[String]) -> Result<String, WriteError> {
    let mut out = String::new();
    for line in comments {
        comment(line, &mut out);
    }
    for entry in &scenario.entries {
        if !out.is_empty() {
            out.push('\n');
        }
        write_entry(entry, &mut out)?;
    }
    if out.len() > prony_hurl::MAX_FILE_BYTES {
        Err(WriteError::TooLong(out.len()))
    } else {
        Ok(out)
    }
}

/// Why a scenario is not a Hurl file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// A Hurl file cannot express a name of no characters.
    #[error("{method} {url}: {what} has no name")]
    NoName {
        /// The method of the request.
        method: String,
        /// The URL of the request, as the file would have it.
        url: String,
        /// What has no name.
        what: &'static str,
    },
    /// It would be longer than what Prony reads.
    #[error(
        "the Hurl file would have {} KiB, but Prony reads at most {} KiB; import fewer or shorter requests",
        .0.div_ceil(1024),
        prony_hurl::MAX_FILE_BYTES / 1024
    )]
    TooLong(usize),
}

fn write_entry(entry: &Entry, out: &mut String) -> Result<(), WriteError> {
    for line in &entry.comments {
        comment(line, out);
    }
    let method = entry.method.as_str();
    let url = unquoted(&entry.url);
    line(&[method, " ", &url], out);
    let (content, implied_type) = Written::of(entry);
    let no_name = |what| WriteError::NoName {
        method: method.to_owned(),
        url: url.clone(),
        what,
    };
    for (name, value) in &entry.headers {
        let is_implied = name
            .literal()
            .is_some_and(|name| name.eq_ignore_ascii_case("content-type"))
            && implied_type.is_some()
            && value.literal() == implied_type;
        if !is_implied {
            key_value(name, value, out).map_err(|NoName| no_name("a header"))?;
        }
    }
    write_options(&entry.options, out);
    if let Some((user, password)) = &entry.basic_auth {
        out.push_str("[BasicAuth]\n");
        key_value(user, password, out).map_err(|NoName| no_name("the user of a password"))?;
    }
    content
        .write(out)
        .map_err(|NoName| no_name("a field of the form"))?;
    match entry.status {
        Some(Status::Exactly(status)) => line(&["HTTP ", &status.to_string()], out),
        Some(Status::Hundred(hundred)) => {
            let (from, to) = (hundred * 100, hundred * 100 + 100);
            out.push_str("HTTP *\n[Asserts]\n");
            line(&["status >= ", &from.to_string()], out);
            line(&["status < ", &to.to_string()], out);
        }
        None => {}
    }
    Ok(())
}

/// A key without a character, which a Hurl file cannot have.
struct NoName;

fn line(pieces: &[&str], out: &mut String) {
    for piece in pieces {
        out.push_str(piece);
    }
    out.push('\n');
}

fn comment(text: &str, out: &mut String) {
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    line(&[format!("# {text}").trim_end()], out);
}

fn write_options(options: &Options, out: &mut String) {
    let redirects = options.redirects.map(|redirects| match redirects {
        Redirects::Followed => "location",
        Redirects::Trusted => "location-trusted",
    });
    let version = options.version.map(|version| match version {
        Version::Http11 => "http1.1",
        Version::Http2 => "http2",
        Version::Http2PriorKnowledge => "http2-prior-knowledge",
    });
    let flags = [options.insecure.then_some("insecure"), redirects, version];
    let flags = flags.into_iter().flatten();
    let flags = flags.map(|name| format!("{name}: true\n"));
    let delay = options.delay.iter();
    let delay = delay.map(|delay| format!("delay: {}ms\n", delay.as_millis()));
    let lines: String = delay.chain(flags).collect();
    if !lines.is_empty() {
        line(&["[Options]\n", lines.trim_end()], out);
    }
}

/// How the content is written.
enum Written<'a> {
    Nothing,
    Form(Vec<(Text, Text)>),
    Multipart(&'a [Part]),
    File(&'a Text),
    /// A body as it is in the file.
    Body(String),
}

impl<'a> Written<'a> {
    /// How the content of an entry is written, and the content type that it implies.
    fn of(entry: &'a Entry) -> (Self, Option<&'static str>) {
        match &entry.content {
            Content::None => (Self::Nothing, None),
            Content::Bytes(bytes) if bytes.is_empty() => (Self::Nothing, None),
            Content::File(name) => (Self::File(name), None),
            Content::Form(fields) if fields.is_empty() => (Self::Nothing, None),
            Content::Form(fields) => (Self::Form(fields.clone()), Some(FORM)),
            Content::Multipart(parts) => (Self::Multipart(parts), None),
            Content::Bytes(bytes) => {
                let is_form = entry.headers.iter().any(|(name, value)| {
                    name.literal()
                        .is_some_and(|name| name.eq_ignore_ascii_case("content-type"))
                        && value.literal() == Some(FORM)
                });
                let has_type = has_header(&entry.headers, "content-type");
                match form_fields(bytes).filter(|_| is_form) {
                    Some(fields) => (Self::Form(fields), Some(FORM)),
                    None => (Self::Body(body(bytes, has_type)), None),
                }
            }
        }
    }

    fn write(&self, out: &mut String) -> Result<(), NoName> {
        match self {
            Self::Nothing => {}
            Self::Body(body) => line(&[body], out),
            Self::File(name) => line(&["file,", &file_name(name), ";"], out),
            Self::Form(fields) => {
                out.push_str("[Form]\n");
                for (name, value) in fields {
                    key_value(name, value, out)?;
                }
            }
            Self::Multipart(parts) => {
                out.push_str("[Multipart]\n");
                for part in *parts {
                    write_part(part, out)?;
                }
            }
        }
        Ok(())
    }
}

/// The fields of a form, if a Hurl file that has them sends the same bytes, and reads well.
fn form_fields(bytes: &[u8]) -> Option<Vec<(Text, Text)>> {
    let text = std::str::from_utf8(bytes).ok()?;
    text.split('&')
        .map(|pair| {
            let (name, encoded) = pair.split_once('=')?;
            let value = percent_decode_str(encoded).decode_utf8().ok()?;
            let is_same = utf8_percent_encode(&value, FORM_VALUE).to_string() == encoded;
            let is_name = !name.is_empty() && name.chars().all(is_plain_in_key);
            (is_name && is_same).then(|| (name.into(), value.as_ref().into()))
        })
        .collect()
}

fn write_part(part: &Part, out: &mut String) -> Result<(), NoName> {
    match part {
        Part::Value(name, value) => {
            let name = key(name)?;
            let value = unquoted(value);
            // What begins so would be the name of a file.
            let value = match value.strip_prefix("file,") {
                Some(rest) => format!("\\u{{66}}ile,{rest}"),
                None => value,
            };
            line(&[&name, ": ", &value], out);
        }
        Part::File(name, file, content_type) => {
            let (name, file) = (key(name)?, file_name(file));
            let content_type = content_type.as_ref().map(unquoted);
            let content_type = content_type.map_or(String::new(), |it| format!(" {it}"));
            line(&[&name, ": file,", &file, ";", &content_type], out);
        }
    }
    Ok(())
}

fn key_value(name: &Text, value: &Text, out: &mut String) -> Result<(), NoName> {
    let (name, value) = (key(name)?, unquoted(value));
    let space = if value.is_empty() { "" } else { " " };
    line(&[&name, ":", space, &value], out);
    Ok(())
}

/// A body, as the file has it: JSON, a line of text, lines of text, or base64.
fn body(bytes: &[u8], has_type: bool) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return format!("base64,{};", STANDARD.encode(bytes));
    };
    // JSON without a content type would imply one.
    if has_type && is_json(text) {
        return text.to_owned();
    }
    let is_plain = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    if text.contains('\n')
        && text.chars().all(is_plain)
        && !text.contains("```")
        && !text.ends_with('`')
    {
        return format!("```raw\n{text}```");
    }
    let mut writer = Escaped::default();
    writer.literal(text, &['`'], false);
    format!("`{}`", writer.out)
}

/// Whether a Hurl file can have the text as JSON, and sends the same bytes.
fn is_json(text: &str) -> bool {
    // `[1]` would be the name of a section, and spaces at the end would be lost.
    let may_begin = match text.as_bytes() {
        [b'{', ..] => true,
        [b'[', next, ..] => matches!(next, b'{' | b'[' | b'"'),
        _ => false,
    };
    may_begin
        && text.trim_end() == text
        && !text.contains("{{")
        && text.chars().all(|c| !c.is_control() || c == '\n')
        && serde_json::from_str::<serde_json::Value>(text).is_ok()
}

/// A text up to the end of the line.
fn unquoted(text: &Text) -> String {
    let mut writer = Escaped::default();
    writer.text(text, &['#']);
    let Escaped { mut out, .. } = writer;
    // Spaces at the ends would be lost.
    if out.ends_with(' ') {
        out.pop();
        out.push_str("\\u{20}");
    }
    match out.strip_prefix(' ') {
        Some(rest) => format!("\\u{{20}}{rest}"),
        None => out,
    }
}

/// Writes texts with escapes, so that brackets of a literal never are a placeholder.
#[derive(Default)]
struct Escaped {
    out: String,
}

impl Escaped {
    fn text(&mut self, text: &Text, special: &[char]) {
        let mut pieces = text.pieces.iter().peekable();
        while let Some(piece) = pieces.next() {
            match piece {
                Piece::Variable(name) => self.out.push_str(&format!("{{{{{name}}}}}")),
                Piece::Literal(literal) => {
                    let is_before_variable = matches!(pieces.peek(), Some(Piece::Variable(_)));
                    self.literal(literal, special, is_before_variable);
                }
            }
        }
    }

    fn literal(&mut self, text: &str, special: &[char], is_before_variable: bool) {
        let mut characters = text.chars().peekable();
        while let Some(c) = characters.next() {
            match c {
                '{' if self.out.ends_with('{')
                    || is_before_variable && characters.peek().is_none() =>
                {
                    self.unicode(c);
                }
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                c if special.contains(&c) => self.out.extend(['\\', c]),
                c if c.is_control() => self.unicode(c),
                c => self.out.push(c),
            }
        }
    }

    fn unicode(&mut self, c: char) {
        self.out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
    }
}

/// What is before a colon.
fn key(text: &Text) -> Result<String, NoName> {
    let written = restricted(text, is_plain_in_key);
    if written.is_empty() {
        Err(NoName)
    } else {
        Ok(written)
    }
}

fn is_plain_in_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.[]@$".contains(c)
}

/// The name of a file behind `file,`.
fn file_name(text: &Text) -> String {
    restricted(text, |c| !c.is_control() && !"#;{} \\".contains(c))
}

/// A text in which only some characters need no escape, and no bracket is the first.
fn restricted(text: &Text, is_plain: impl Fn(char) -> bool) -> String {
    let mut writer = Escaped::default();
    for piece in &text.pieces {
        match piece {
            Piece::Variable(name) => writer.out.push_str(&format!("{{{{{name}}}}}")),
            Piece::Literal(literal) => {
                for c in literal.chars() {
                    if is_plain(c) && !(c == '[' && writer.out.is_empty()) {
                        writer.out.push(c);
                    } else {
                        writer.unicode(c);
                    }
                }
            }
        }
    }
    writer.out
}

#[cfg(test)]
mod tests;
