//! What a command sends: data, fields and parts.

use percent_encoding::percent_encode;

use super::files::{Files, text};
use crate::import::ImportError;
use crate::import::scenario::{Content, Part};
use crate::target::UNRESERVED;

/// The data of several options, which are joined.
#[derive(Default)]
pub(super) struct Data {
    pieces: Vec<Piece>,
}

struct Piece {
    bytes: Source,
    /// Whether `&` separates it from the one before.
    is_separate: bool,
}

enum Source {
    Bytes(Vec<u8>),
    File(String),
}

impl Data {
    /// `--data-raw`
    pub(super) fn raw(&mut self, bytes: Vec<u8>) {
        self.push(Source::Bytes(bytes), true);
    }

    /// `--data`: of a file, line ends are left out.
    pub(super) fn ascii(
        &mut self,
        value: Vec<u8>,
        files: &mut Files<'_>,
    ) -> Result<(), ImportError> {
        let bytes = match value.strip_prefix(b"@") {
            None => value,
            Some(name) => {
                let mut bytes = read(name, files)?;
                bytes.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
                bytes
            }
        };
        self.raw(bytes);
        Ok(())
    }

    /// `--data-binary`, and `--json`, which is joined without `&`.
    pub(super) fn binary(&mut self, value: Vec<u8>, is_separate: bool) -> Result<(), ImportError> {
        let source = match value.strip_prefix(b"@") {
            None => Source::Bytes(value),
            Some(name) => Source::File(file_name(name)?),
        };
        self.push(source, is_separate);
        Ok(())
    }

    /// `--data-urlencode`: `text`, `=text`, `name=text`, `@file` or `name@file`.
    pub(super) fn encoded(
        &mut self,
        value: &[u8],
        files: &mut Files<'_>,
    ) -> Result<(), ImportError> {
        let at = value.iter().position(|byte| matches!(byte, b'=' | b'@'));
        let (name, content) = match at {
            None => (&b""[..], value.to_vec()),
            Some(at) if value[at] == b'=' => (&value[..at], value[at + 1..].to_vec()),
            Some(at) => (&value[..at], read(&value[at + 1..], files)?),
        };
        let mut bytes = name.to_vec();
        if !name.is_empty() {
            bytes.push(b'=');
        }
        let encoded = percent_encode(&content, UNRESERVED).to_string();
        bytes.extend(encoded.replace("%20", "+").into_bytes());
        self.raw(bytes);
        Ok(())
    }

    fn push(&mut self, bytes: Source, is_separate: bool) {
        self.pieces.push(Piece { bytes, is_separate });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The joined data as a body. One file alone stays a file.
    pub(super) fn content(self, files: &mut Files<'_>) -> Result<Content, ImportError> {
        if let [
            Piece {
                bytes: Source::File(name),
                ..
            },
        ] = self.pieces.as_slice()
        {
            return Ok(Content::File(name.as_str().into()));
        }
        self.bytes(files).map(Content::Bytes)
    }

    pub(super) fn bytes(self, files: &mut Files<'_>) -> Result<Vec<u8>, ImportError> {
        let mut all = Vec::new();
        for (number, piece) in self.pieces.into_iter().enumerate() {
            if number > 0 && piece.is_separate {
                all.push(b'&');
            }
            match piece.bytes {
                Source::Bytes(bytes) => all.extend(bytes),
                Source::File(name) => all.extend(read(name.as_bytes(), files)?),
            }
        }
        Ok(all)
    }
}

/// `--form`: `name=value`, `name=@file;type=media/type` or `name=<file`.
pub(super) fn part(value: &str, files: &mut Files<'_>) -> Result<Part, ImportError> {
    let (name, content) = value
        .split_once('=')
        .ok_or_else(|| wrong_part(value, "write NAME=VALUE or NAME=@FILE"))?;
    if let Some(rest) = content.strip_prefix('@') {
        let (file, settings) = quoted_or_plain(rest, &[';', ','])?;
        let media_type = match settings.strip_prefix(";type=") {
            _ if settings.is_empty() => None,
            Some(media_type) if !media_type.contains(";filename=") => Some(media_type.into()),
            _ => {
                let why = "of a file, Prony sends the name, the content and a type";
                return Err(wrong_part(value, why));
            }
        };
        check_file_name(&file)?;
        return Ok(Part::File(name.into(), file.into(), media_type));
    }
    let (text, settings) = match content.strip_prefix('<') {
        Some(rest) => {
            let (file, settings) = quoted_or_plain(rest, &[';'])?;
            let bytes = read(file.as_bytes(), files)?;
            let text = String::from_utf8(bytes).map_err(|_| {
                wrong_part(value, "the file is not UTF-8; send it with @ instead of <")
            })?;
            (text, settings)
        }
        None => quoted_or_plain(content, &[';'])?,
    };
    match settings {
        "" => Ok(Part::Value(name.into(), text.into())),
        _ => {
            let why = "Prony sends values without a type; remove what is behind `;`, or use --form-string";
            Err(wrong_part(value, why))
        }
    }
}

/// A text between quotes or up to one of `ends`, and what is behind it.
fn quoted_or_plain<'a>(text: &'a str, ends: &[char]) -> Result<(String, &'a str), ImportError> {
    let Some(rest) = text.strip_prefix('"') else {
        let end = text.find(ends).unwrap_or(text.len());
        return Ok((text[..end].to_owned(), &text[end..]));
    };
    let mut out = String::new();
    let mut characters = rest.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return Ok((out, &rest[at + 1..])),
            '\\' => match characters.next() {
                Some((_, c @ ('"' | '\\'))) => out.push(c),
                Some((_, c)) => out.extend(['\\', c]),
                None => break,
            },
            c => out.push(c),
        }
    }
    Err(wrong_part(text, "its quote is not closed"))
}

fn read(name: &[u8], files: &mut Files<'_>) -> Result<Vec<u8>, ImportError> {
    let name = file_name(name)?;
    files(&name).map_err(|why| unreadable(&name, &why))
}

fn file_name(name: &[u8]) -> Result<String, ImportError> {
    let name = text(name)?;
    check_file_name(&name)?;
    Ok(name)
}

fn check_file_name(name: &str) -> Result<(), ImportError> {
    match name {
        "" => Err(unreadable(name, "its name is missing after `@`")),
        "-" => {
            let why = "standard input cannot be read for each request; name a file";
            Err(unreadable(name, why))
        }
        _ => Ok(()),
    }
}

fn unreadable(name: &str, why: &str) -> ImportError {
    format!("cannot read the file `{name}` of the command: {why}").into()
}

pub(super) fn wrong_part(part: &str, why: &str) -> ImportError {
    format!("the part `{part}` of the form: {why}").into()
}
