//! A server's logs: a file for its standard output, and one for its standard error.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// How many of a log's first and last lines are shown. Some programs print the reason before a long stack trace, others
/// after it.
const FIRST_LINES: usize = 10;
const LAST_LINES: usize = 20;

/// How much of a log's beginning, and of its end, is read to be shown.
const SHOWN_BYTES: u64 = 64 * 1024;

/// Longer lines are cut.
const LINE_CHARS: usize = 500;

/// What is before each line of a log in an error text.
const INDENT: &str = "  ";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logs {
    pub output: PathBuf,
    pub errors: PathBuf,
}

impl Logs {
    /// `NAME.log` for standard output, and `NAME.stderr.log` beside it.
    pub fn at(output: &Path) -> Logs {
        Logs {
            errors: output.with_extension("stderr.log"),
            output: output.to_owned(),
        }
    }

    pub(crate) fn create(&self) -> Result<(), (PathBuf, io::Error)> {
        [&self.output, &self.errors]
            .into_iter()
            .try_for_each(|path| new_log(path).map_err(|error| (path.clone(), error)))
    }

    pub fn discard(&self) {
        for path in [&self.output, &self.errors] {
            // Errors do not matter: a log that stays only takes space.
            let _ = fs::remove_file(path);
        }
    }

    /// The beginning and the end of both, for an error text. Its lines may be long: [`with_short_lines`] cuts them once
    /// secrets are hidden, because half a secret would not be found.
    pub fn shown(&self) -> String {
        let parts = [
            ("standard output", &self.output),
            ("standard error", &self.errors),
        ];
        let mut text = String::new();
        let mut empty = Vec::new();
        for (name, path) in parts {
            let lines = match excerpt(path) {
                Ok(lines) => lines,
                Err(error) => vec![format!("(cannot be read: {error})")],
            };
            if lines.is_empty() {
                empty.push(path.display().to_string());
                continue;
            }
            let separator = if text.is_empty() { "" } else { "\n" };
            // Writing to a string cannot fail.
            let _ = write!(text, "{separator}its {name} ({}):", path.display());
            for line in lines {
                let _ = write!(text, "\n{INDENT}{line}");
            }
        }
        if text.is_empty() {
            return format!(
                "it wrote nothing to standard output or standard error (output that it had not flushed is lost); its logs: {}",
                empty.join(", ")
            );
        }
        text
    }

    pub fn paths(&self) -> String {
        format!("{}, {}", self.output.display(), self.errors.display())
    }

    /// The whole lines in the last 64 KiB of standard output, and of standard error; empty if a log cannot be read. A
    /// last line without an end is left out: the server may be in the middle of it.
    pub fn ends(&self) -> [String; 2] {
        [&self.output, &self.errors].map(|path| whole_lines(path).unwrap_or_default())
    }

    /// The last lines of both, standard output first.
    pub(crate) fn last(&self, lines: usize) -> String {
        let tails = [&self.output, &self.errors].map(|path| tail(path, lines).unwrap_or_default());
        tails.join("\n")
    }
}

/// Creates an empty log file, with the folders above it.
pub(crate) fn new_log(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    File::create(path).map(drop)
}

/// The lines of a file, or its first and last lines with a mark between them.
fn excerpt(path: &Path) -> io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut first = lines_from(&mut file, 0)?;
    if length <= SHOWN_BYTES && first.len() <= FIRST_LINES + LAST_LINES {
        return Ok(first);
    }
    if length > SHOWN_BYTES && first.len() > 1 {
        // It may be incomplete.
        first.pop();
    }
    let last = if length <= SHOWN_BYTES {
        first[FIRST_LINES..].to_vec()
    } else {
        // The first line may be incomplete.
        lines_from(&mut file, length - SHOWN_BYTES)?
            .into_iter()
            .skip(1)
            .collect()
    };
    let mut shown: Vec<String> = first.into_iter().take(FIRST_LINES).collect();
    shown.push("…".to_owned());
    shown.extend_from_slice(&last[last.len().saturating_sub(LAST_LINES)..]);
    Ok(shown)
}

fn lines_from(file: &mut File, start: u64) -> io::Result<Vec<String>> {
    let text = text_from(file, start)?;
    Ok(text.trim_end().lines().map(str::to_owned).collect())
}

fn text_from(file: &mut File, start: u64) -> io::Result<String> {
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(SHOWN_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// An error text with [the lines of a log](Logs::shown), of which long ones are cut.
pub fn with_short_lines(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(cut).collect();
    lines.join("\n")
}

fn cut(line: &str) -> String {
    let logged = line.strip_prefix(INDENT);
    match logged.and_then(|logged| logged.char_indices().nth(LINE_CHARS)) {
        None => line.to_owned(),
        Some((end, _)) => format!("{}…", &line[..INDENT.len() + end]),
    }
}

/// The last 64 KiB of a file, and whether that is all of it.
fn end_of(path: &Path) -> io::Result<(String, bool)> {
    let mut file = File::open(path)?;
    let start = file.metadata()?.len().saturating_sub(SHOWN_BYTES);
    Ok((text_from(&mut file, start)?, start == 0))
}

/// The lines of a file that its last 64 KiB have from their beginning to their end.
fn whole_lines(path: &Path) -> io::Result<String> {
    let (text, is_whole) = end_of(path)?;
    let after_break = |found: Option<usize>| found.map(|at| at + 1);
    let begin = if is_whole {
        0
    } else {
        after_break(text.find('\n')).unwrap_or(text.len())
    };
    let end = after_break(text.rfind('\n')).unwrap_or(0);
    Ok(text.get(begin..end).unwrap_or_default().to_owned())
}

/// The last `lines` lines of a file, from its last 64 KiB.
pub fn tail(path: &Path, lines: usize) -> io::Result<String> {
    let (text, _) = end_of(path)?;
    let all: Vec<&str> = text.trim_end().lines().collect();
    Ok(all[all.len().saturating_sub(lines)..].join("\n"))
}

/// The same for error texts, or a note if the log cannot be read.
pub(crate) fn tail_or_note(path: &Path, lines: usize) -> String {
    match tail(path, lines) {
        Ok(text) if text.is_empty() => format!("(nothing in {})", path.display()),
        Ok(text) => text,
        Err(error) => format!("({} cannot be read: {error})", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs(folder: &Path, output: &str, errors: &str) -> Logs {
        let logs = Logs::at(&folder.join("a.log"));
        logs.create().unwrap();
        fs::write(&logs.output, output).unwrap();
        fs::write(&logs.errors, errors).unwrap();
        logs
    }

    #[test]
    fn both_logs_are_shown_with_their_paths() {
        let folder = tempfile::tempdir().unwrap();
        let shown = logs(folder.path(), "one\ntwo\n", "three\n").shown();
        let [out, err] = ["a.log", "a.stderr.log"].map(|name| folder.path().join(name));
        let out = format!("its standard output ({}):\n  one\n  two", out.display());
        let err = format!("its standard error ({}):\n  three", err.display());
        assert_eq!(shown, format!("{out}\n{err}"));
        let shown = logs(folder.path(), "", "three\n").shown();
        assert!(shown.starts_with("its standard error ("), "{shown}");
        let shown = logs(folder.path(), "", "\n").shown();
        assert!(shown.starts_with("it wrote nothing"), "{shown}");
        assert!(shown.contains("a.log, ") && shown.ends_with("a.stderr.log"));
    }

    #[test]
    fn the_ends_of_logs_have_whole_lines() {
        let folder = tempfile::tempdir().unwrap();
        let ends = |output: &str| logs(folder.path(), output, "two\n").ends();
        assert_eq!(ends("one\n"), ["one\n", "two\n"]);
        let long = "x".repeat(100_000);
        assert_eq!(ends(&format!("{long}\nlast\n"))[0], "last\n");
        // Half a secret would not be found.
        assert_eq!(ends("one\nBearer s3c")[0], "one\n");
        assert_eq!(ends("Bearer s3c")[0], "");
        // Nobody knows what the beginning of this line was.
        assert_eq!(ends(&long)[0], "");
        let missing = Logs::at(&folder.path().join("missing.log"));
        assert_eq!(missing.ends(), ["", ""]);
    }

    #[test]
    fn the_beginning_and_the_end_of_a_long_log_are_shown() {
        let folder = tempfile::tempdir().unwrap();
        let numbered = |count: u32| -> String { (1..=count).map(|i| format!("{i}\n")).collect() };
        let lines = |text: String| excerpt(&logs(folder.path(), &text, "").output).unwrap();
        assert_eq!(lines(numbered(30)).len(), 30);
        let middling = lines(numbered(31));
        assert_eq!(middling[9..12], ["10", "…", "12"]);
        let huge = lines(numbered(100_000));
        assert_eq!((huge.len(), &*huge[0], &*huge[30]), (31, "1", "100000"));
        let huge = lines(format!("one\ntwo {}\nlast", "x".repeat(1_000_000)));
        assert_eq!(huge, ["one", "…", "last"]);
    }

    #[test]
    fn long_lines_of_a_log_are_cut_in_an_error_text() {
        let folder = tempfile::tempdir().unwrap();
        let long = |character: &str| character.repeat(1_000_000);
        let shown = logs(folder.path(), &long("ä"), &format!("one\n{}\n", long("x"))).shown();
        let text = with_short_lines(&format!("{}: {shown}", "y".repeat(1000)));
        let longest = text.lines().skip(1).map(|line| line.chars().count()).max();
        assert_eq!(longest, Some("  …".chars().count() + LINE_CHARS));
        assert!(text.starts_with(&"y".repeat(1000)), "it is not from a log");
    }

    #[test]
    fn the_last_lines_of_a_long_file() {
        let folder = tempfile::tempdir().unwrap();
        let last = |text: &str, count| tail(&logs(folder.path(), text, "").output, count).unwrap();
        let text: String = (0..20_000).map(|i| format!("line {i}\n")).collect();
        assert_eq!(last(&text, 2), "line 19998\nline 19999");
        assert_eq!(last("only", 5), "only");
    }
}
