//! Entries as the text of a Hurl file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{percent_decode_str, utf8_percent_encode};

use super::scenario::{Content, Entry, Options, Part, Piece, Status, Text, has_header, is_named};
use super::{ImportError, refuse};
use crate::target::UNRESERVED;

/// The media type of forms.
pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// Writes a Hurl file. `comments` are its first lines.
pub fn write(entries: &[Entry], comments: &[String]) -> Result<String, ImportError> {
    let mut out: String = comments.iter().map(|line| comment(line)).collect();
    for entry in entries {
        if let Some(what) = nameless(entry) {
            let (method, url) = (&entry.method, unquoted(&entry.url));
            return refuse(format!("{method} {url}: {what} has no name"));
        }
        if !out.is_empty() {
            out.push('\n');
        }
        write_entry(entry, &mut out);
    }
    let most = prony_hurl::MAX_FILE_BYTES;
    if out.len() > most {
        return refuse(format!(
            "the Hurl file would have {} KiB, but Prony reads at most {} KiB; import fewer or shorter requests",
            out.len().div_ceil(1024),
            most / 1024
        ));
    }
    Ok(out)
}

/// What has no name in an entry, which a Hurl file cannot express.
fn nameless(entry: &Entry) -> Option<&'static str> {
    let is_nameless = |(name, _): &(Text, Text)| name.is_empty();
    let is_part_nameless = |part: &Part| match part {
        Part::Value(name, _) | Part::File(name, ..) => name.is_empty(),
    };
    let is_content_nameless = match &entry.content {
        Content::Form(fields) => fields.iter().any(is_nameless),
        Content::Multipart(parts) => parts.iter().any(is_part_nameless),
        Content::None | Content::Bytes(_) | Content::File(_) => false,
    };
    if entry.headers.iter().any(is_nameless) {
        Some("a header")
    } else if entry.basic_auth.iter().any(is_nameless) {
        Some("the user of a password")
    } else {
        is_content_nameless.then_some("a field of the form")
    }
}

fn write_entry(entry: &Entry, out: &mut String) {
    out.extend(entry.comments.iter().map(|line| comment(line)));
    *out += &format!("{} {}\n", entry.method, unquoted(&entry.url));
    let (content, implied_type) = content(entry);
    let is_implied = |name: &Text, value: &Text| {
        implied_type.is_some() && is_named(name, "content-type") && value.literal() == implied_type
    };
    for (name, value) in &entry.headers {
        if !is_implied(name, value) {
            *out += &key_value(name, value);
        }
    }
    *out += &options(&entry.options);
    if let Some((user, password)) = &entry.basic_auth {
        *out += "[BasicAuth]\n";
        *out += &key_value(user, password);
    }
    *out += &content;
    match entry.status {
        Some(Status::Exactly(status)) => *out += &format!("HTTP {status}\n"),
        Some(Status::Hundred(hundred)) => {
            let (from, to) = (hundred * 100, hundred * 100 + 100);
            *out += &format!("HTTP *\n[Asserts]\nstatus >= {from}\nstatus < {to}\n");
        }
        None => {}
    }
}

fn comment(text: &str) -> String {
    let text = format!("# {}", text.replace(char::is_control, " "));
    format!("{}\n", text.trim_end())
}

fn options(options: &Options) -> String {
    let flags = options.flags.iter();
    let flags = flags.map(|flag| format!("{}: true\n", flag.name()));
    let delay = options.delay.iter();
    let delay = delay.map(|delay| format!("delay: {}ms\n", delay.as_millis()));
    let lines: String = delay.chain(flags).collect();
    if lines.is_empty() {
        lines
    } else {
        format!("[Options]\n{lines}")
    }
}

/// The content of an entry, and the content type that it implies.
fn content(entry: &Entry) -> (String, Option<&'static str>) {
    let is_form = |(name, value): &(Text, Text)| {
        is_named(name, "content-type") && value.literal() == Some(FORM)
    };
    match &entry.content {
        Content::Form(fields) if !fields.is_empty() => (form(fields), Some(FORM)),
        Content::Bytes(bytes) if !bytes.is_empty() => {
            let fields = form_fields(bytes).filter(|_| entry.headers.iter().any(is_form));
            match fields {
                Some(fields) => (form(&fields), Some(FORM)),
                None => (
                    body(bytes, has_header(&entry.headers, "content-type")),
                    None,
                ),
            }
        }
        Content::File(name) => (format!("file,{};\n", file_name(name)), None),
        Content::Multipart(parts) => {
            let parts: String = parts.iter().map(part).collect();
            (format!("[Multipart]\n{parts}"), None)
        }
        Content::None | Content::Bytes(_) | Content::Form(_) => (String::new(), None),
    }
}

fn form(fields: &[(Text, Text)]) -> String {
    let fields = fields.iter().map(|(name, value)| key_value(name, value));
    format!("[Form]\n{}", fields.collect::<String>())
}

/// The fields of a form, if a Hurl file that has them sends the same bytes, and reads well.
fn form_fields(bytes: &[u8]) -> Option<Vec<(Text, Text)>> {
    let text = std::str::from_utf8(bytes).ok()?;
    text.split('&')
        .map(|pair| {
            let (name, encoded) = pair.split_once('=')?;
            let value = percent_decode_str(encoded).decode_utf8().ok()?;
            let is_same = utf8_percent_encode(&value, UNRESERVED).to_string() == encoded;
            let is_name = !name.is_empty() && name.chars().all(is_plain_in_key);
            (is_name && is_same).then(|| (name.into(), value.as_ref().into()))
        })
        .collect()
}

fn part(part: &Part) -> String {
    match part {
        Part::Value(name, value) => {
            let (name, value) = (key(name), unquoted(value));
            // What begins so would be the name of a file.
            match value.strip_prefix("file,") {
                Some(rest) => format!("{name}: \\u{{66}}ile,{rest}\n"),
                None => format!("{name}: {value}\n"),
            }
        }
        Part::File(name, file, content_type) => {
            let (name, file) = (key(name), file_name(file));
            let content_type = content_type.as_ref().map(unquoted);
            let content_type = content_type.map_or(String::new(), |it| format!(" {it}"));
            format!("{name}: file,{file};{content_type}\n")
        }
    }
}

fn key_value(name: &Text, value: &Text) -> String {
    let (name, value) = (key(name), unquoted(value));
    let space = if value.is_empty() { "" } else { " " };
    format!("{name}:{space}{value}\n")
}

/// A body, as the file has it: JSON, a line of text, lines of text, or base64.
fn body(bytes: &[u8], has_type: bool) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return format!("base64,{};\n", STANDARD.encode(bytes));
    };
    // JSON without a content type would imply one.
    if has_type && is_json(text) {
        return format!("{text}\n");
    }
    let is_plain = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    if text.contains('\n')
        && text.chars().all(is_plain)
        && !text.contains("```")
        && !text.ends_with('`')
    {
        return format!("```raw\n{text}```\n");
    }
    let mut out = String::from("`");
    push_literal(text, &['`'], false, &mut out);
    out + "`\n"
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
    let mut out = String::new();
    let mut pieces = text.pieces.iter().peekable();
    while let Some(piece) = pieces.next() {
        match piece {
            Piece::Variable(name) => out += &format!("{{{{{name}}}}}"),
            Piece::Literal(literal) => {
                let is_before_variable = matches!(pieces.peek(), Some(Piece::Variable(_)));
                push_literal(literal, &['#'], is_before_variable, &mut out);
            }
        }
    }
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

/// Writes a text with escapes, so that brackets of a literal never are a placeholder.
fn push_literal(text: &str, special: &[char], is_before_variable: bool, out: &mut String) {
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let is_last = characters.peek().is_none();
        match c {
            '{' if out.ends_with('{') || is_before_variable && is_last => *out += &code(c),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if special.contains(&c) => out.extend(['\\', c]),
            c if c.is_control() => *out += &code(c),
            c => out.push(c),
        }
    }
}

/// The escape of a character.
fn code(c: char) -> String {
    format!("\\u{{{:x}}}", u32::from(c))
}

/// What is before a colon.
fn key(text: &Text) -> String {
    restricted(text, is_plain_in_key)
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
    let mut out = String::new();
    for piece in &text.pieces {
        match piece {
            Piece::Variable(name) => out += &format!("{{{{{name}}}}}"),
            Piece::Literal(literal) => {
                for c in literal.chars() {
                    if is_plain(c) && !(c == '[' && out.is_empty()) {
                        out.push(c);
                    } else {
                        out += &code(c);
                    }
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests;
