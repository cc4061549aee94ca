//! A curl command, as browsers copy it, as a request.

mod data;
mod files;
mod options;
mod request;
#[cfg(test)]
mod tests;

use self::files::text;
use super::scenario::{Content, Part};
use super::{ImportError, Imported, MAX_INPUT_BYTES, refuse, shell};

pub use self::files::Files;

/// Reads the request of a curl command with the quotes of bash.
pub fn curl(command: &str, files: &mut Files<'_>) -> Result<Imported, ImportError> {
    if command.len() > MAX_INPUT_BYTES {
        return refuse(format!(
            "the command is longer than {} MiB",
            MAX_INPUT_BYTES >> 20
        ));
    }
    let command = command.trim_start_matches('\u{feff}');
    if is_for_powershell(command) {
        return refuse(
            "this is a command for PowerShell; copy it from the browser as cURL (bash) or cURL (POSIX)",
        );
    }
    let words = shell::words(command)?;
    let Some((program, words)) = words.split_first() else {
        return refuse("the command is empty; copy a request from the browser as cURL");
    };
    let program = text(program)?;
    if !matches!(program.rsplit('/').next(), Some("curl" | "curl.exe")) {
        return refuse(format!(
            "the command must begin with `curl`, not with `{program}`"
        ));
    }
    let entry = options::read(words, files)?.entry(files)?;
    let files = files_of(&entry.content).into_iter();
    let files = files
        .map(|name| format!("the request reads the file {name} from the folder of the Hurl file"));
    let chunked = entry.options.note_on_chunks().map(str::to_owned);
    let notes = chunked.into_iter().chain(files).collect();
    Ok(Imported {
        entries: vec![entry],
        variables: Vec::new(),
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

fn files_of(content: &Content) -> Vec<&str> {
    match content {
        Content::File(name) => name.literal().into_iter().collect(),
        Content::Multipart(parts) => {
            let files = parts.iter().filter_map(|part| match part {
                Part::File(_, name, _) => name.literal(),
                Part::Value(..) => None,
            });
            files.collect()
        }
        _ => Vec::new(),
    }
}
