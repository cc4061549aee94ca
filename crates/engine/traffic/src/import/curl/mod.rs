//! A curl command, as browsers copy it, as a request.

mod data;
mod options;
mod request;
#[cfg(test)]
mod tests;

use crate::import::scenario::{Content, MethodError, Part, Scenario};
use crate::import::shell::{self, ShellError};
use crate::import::url::UrlError;
use crate::import::{Imported, MAX_INPUT_BYTES};

/// Reads the files that a command names with `@`.
pub trait Files {
    /// What is in a file.
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    fn read(&mut self, name: &str) -> Result<Vec<u8>, String>;
}

/// No file can be read.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&mut self, _name: &str) -> Result<Vec<u8>, String> {
        Err("files cannot be read here".into())
    }
}

/// Why a text is not a curl command that Prony can send.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "documented by the messages")]
pub enum CurlError {
    #[error("the command is empty; copy a request from the browser as cURL")]
    Empty,
    #[error("the command is longer than {} MiB", MAX_INPUT_BYTES >> 20)]
    TooLong,
    #[error("the command must begin with `curl`, not with `{0}`")]
    NotCurl(String),
    #[error(
        "this is a command for PowerShell; copy it from the browser as cURL (bash) or cURL (POSIX)"
    )]
    PowerShell,
    #[error(transparent)]
    Shell(#[from] ShellError),
    #[error("{option} of curl: {advice}")]
    Option {
        option: String,
        advice: &'static str,
    },
    #[error("{0} of curl needs a value behind it")]
    NoValue(String),
    #[error("the command has no URL")]
    NoUrl,
    #[error("the command has several URLs ({0}), but Prony reads one request; leave one")]
    Urls(String),
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error(
        "curl expands the brackets in `{0}`; write --globoff if they are part of the URL, or write one URL without them"
    )]
    Glob(String),
    #[error(transparent)]
    Method(#[from] MethodError),
    #[error("the header `{0}` has no colon; write `Name: value`")]
    Header(String),
    #[error("-H {0}: Prony does not read headers from files; write each with -H 'Name: value'")]
    HeaderFile(String),
    #[error(
        "-b {0}: Prony does not read cookies from files; write them with -b 'NAME=VALUE; NAME=VALUE'"
    )]
    CookieFile(String),
    #[error("curl would ask for the password of `{0}`; write -u '{0}:PASSWORD'")]
    NoPassword(String),
    #[error("the part `{0}` of the form: {1}")]
    Part(String, &'static str),
    #[error("{0} and {1} exclude each other, as in curl; remove one")]
    Conflict(&'static str, &'static str),
    #[error("cannot read the file `{name}` of the command: {reason}")]
    File { name: String, reason: String },
    #[error("`{0}` is not UTF-8; only bodies may be other bytes")]
    NotUtf8(String),
}

/// Reads the request of a curl command with the quotes of bash.
///
/// # Errors
///
/// The command is not one that curl or bash understands, or has something that Prony does not send.
pub fn curl(command: &str, files: &mut dyn Files) -> Result<Imported, CurlError> {
    if command.len() > MAX_INPUT_BYTES {
        return Err(CurlError::TooLong);
    }
    let command = command.trim_start_matches('\u{feff}');
    if is_for_powershell(command) {
        return Err(CurlError::PowerShell);
    }
    let words = shell::words(command)?;
    let (program, words) = words.split_first().ok_or(CurlError::Empty)?;
    let program = text(program)?;
    if !matches!(program.rsplit('/').next(), Some("curl" | "curl.exe")) {
        return Err(CurlError::NotCurl(program));
    }
    let entry = request::entry(options::read(words)?, files)?;
    let files = files_of(&entry.content)
        .map(|name| format!("the request reads the file {name} from the folder of the Hurl file"));
    let chunked = entry.options.note_on_chunks().map(str::to_owned);
    let notes = chunked.into_iter().chain(files).collect();
    Ok(Imported {
        scenario: Scenario {
            entries: vec![entry],
            variables: Vec::new(),
        },
        notes,
    })
}

/// Whether a command begins as browsers copy it for PowerShell, or has lines that a backquote continues.
fn is_for_powershell(command: &str) -> bool {
    let begin = command.trim_start().to_ascii_lowercase();
    let begins = ["$session", "invoke-", "iwr ", "irm "];
    let is_continued = |line: &str| line.trim_end().ends_with(" `");
    let but_last = command.trim_end().rsplit_once('\n');
    begins.iter().any(|name| begin.starts_with(name))
        || but_last.is_some_and(|(lines, _)| lines.lines().all(is_continued))
}

/// The files that stay files.
fn files_of(content: &Content) -> impl Iterator<Item = &str> {
    let body = match content {
        Content::File(name) => name.literal(),
        _ => None,
    };
    let parts = match content {
        Content::Multipart(parts) => parts.as_slice(),
        _ => &[],
    };
    let of_parts = parts.iter().filter_map(|part| match part {
        Part::File(_, name, _) => name.literal(),
        Part::Value(..) => None,
    });
    body.into_iter().chain(of_parts)
}

fn text(bytes: &[u8]) -> Result<String, CurlError> {
    let lossy = || String::from_utf8_lossy(bytes).into_owned();
    String::from_utf8(bytes.to_vec()).map_err(|_| CurlError::NotUtf8(lossy()))
}
