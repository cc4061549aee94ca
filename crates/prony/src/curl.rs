//! A curl command as a request of a load, and the files that commands name.

use std::error::Error;
use std::path::Path;
use std::time::SystemTime;

use prony_hurl::evaluate::{Environment, FileError, Rendered, Scope, Variables};
use prony_traffic::import::{Content, Entry, Options};

use crate::arguments;
use crate::exit::usage;

/// The request of a command, and how it is sent.
pub(crate) struct CurlRequest {
    pub(crate) request: Rendered,
    pub(crate) options: Options,
}

impl CurlRequest {
    /// The request of `command`: of its text, of `@FILE`, or of standard input if it is `-`.
    pub(crate) fn read(command: &str) -> Result<Self, Box<dyn Error>> {
        let bytes = match command {
            "-" => arguments::file_or_stdin(Path::new("-"))
                .map_err(|error| format!("cannot read the command from standard input: {error}"))?,
            command => arguments::text_or_file("the command", command)?,
        };
        let text = String::from_utf8(bytes).map_err(|_| usage("--curl: it is not UTF-8"))?;
        Self::of(&text).map_err(|error| usage(format!("--curl: {error}")))
    }

    /// The request is what the Hurl file of the command sends, so `prony import curl` shows it.
    fn of(command: &str) -> Result<Self, Box<dyn Error>> {
        let mut entries = prony_traffic::import::curl(command, &mut read_file)?.entries;
        let (options, bytes) = take_bytes(&mut entries);
        let text = prony_traffic::import::write(&entries, &[])?;
        let file = prony_hurl::parse(&text)?;
        let entry = file.entries.first().ok_or("it has no request")?;
        let variables = Variables::default();
        let mut request = Scope::new(&variables, &mut CurrentFolder)
            .request(&entry.request)
            .map_err(|failure| failure.reason)?;
        if let Some(bytes) = bytes {
            request.body = bytes;
        }
        Ok(Self { request, options })
    }
}

/// The options of the only entry, and its body if it is at hand: it may be longer than a Hurl file.
fn take_bytes(entries: &mut [Entry]) -> (Options, Option<Vec<u8>>) {
    let Some(entry) = entries.first_mut() else {
        return (Options::default(), None);
    };
    let bytes = match &mut entry.content {
        Content::Bytes(bytes) => Some(std::mem::take(bytes)),
        _ => None,
    };
    (std::mem::take(&mut entry.options), bytes)
}

/// Reads a file from the current folder.
pub(crate) fn read_file(name: &str) -> Result<Vec<u8>, String> {
    arguments::file_or_stdin(Path::new(name))
}

struct CurrentFolder;

impl Environment for CurrentFolder {
    fn now(&mut self) -> SystemTime {
        SystemTime::now()
    }

    fn random(&mut self) -> u128 {
        fastrand::u128(..)
    }

    fn file(&mut self, name: &str) -> Result<Vec<u8>, FileError> {
        read_file(name).map_err(FileError::Unreadable)
    }
}
