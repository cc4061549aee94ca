//! Parses every file of a folder and compares what the parser says with what Hurl says.
//!
//! `cargo run -p prony-hurl --example conformance -- FOLDER`, with a folder such as `integration/hurl/tests_ok` or
//! `integration/hurl/tests_error_parser` of Hurl's repository. If `name.err` is a parser's error, `name.hurl` must give
//! the same text; any other `name.hurl` must be accepted.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

fn main() -> ExitCode {
    let Some(folder) = env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: conformance FOLDER");
        return ExitCode::from(2);
    };
    match compare_all(&folder) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cannot read {}: {error}", folder.display());
            ExitCode::from(2)
        }
    }
}

/// Prints a line for each file, and returns how many differ.
fn compare_all(folder: &Path) -> io::Result<usize> {
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut files = paths.collect::<io::Result<Vec<PathBuf>>>()?;
    files.retain(|file| file.extension().is_some_and(|it| it == "hurl"));
    files.sort();
    let mut differences = 0;
    for file in &files {
        let (expected, actual) = (expected(file), actual(file)?);
        let is_same = expected == actual;
        differences += usize::from(!is_same);
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let verdict = if is_same { "same" } else { "DIFFERENT" };
        let kind = actual.as_ref().map_or("accepted", |_| "refused");
        println!("{verdict:<9}  {kind:<8}  {name}");
        if !is_same {
            let (hurl, prony) = (shown(&expected), shown(&actual));
            println!("--- Hurl\n{hurl}\n--- Prony\n{prony}\n---");
        }
    }
    println!("{} files, {differences} different", files.len());
    Ok(differences)
}

/// The error, if the file is refused.
type Verdict = Option<String>;

fn shown(verdict: &Verdict) -> &str {
    verdict.as_deref().unwrap_or("accepted")
}

/// What Hurl says: the error in the `.err` file, if it is the parser's.
fn expected(file: &Path) -> Verdict {
    let text = fs::read_to_string(file.with_extension("err")).ok()?;
    let start = text.find("error: Parsing")? + "error: ".len();
    let error = &text[start..];
    let end = error.find("\n\n").unwrap_or(error.len());
    Some(error[..end].trim_end().to_owned())
}

/// What the parser says. Hurl's files name theirs with the folder.
fn actual(file: &Path) -> io::Result<Verdict> {
    let text = match String::from_utf8(fs::read(file)?) {
        Ok(text) => text,
        Err(_) => return Ok(Some("not UTF-8".into())),
    };
    let folder = file
        .parent()
        .and_then(Path::parent)
        .unwrap_or(Path::new(""));
    let name = file.strip_prefix(folder).unwrap_or(file).to_string_lossy();
    let error = prony_hurl::parse(&text).err();
    Ok(error.map(|error| error.render(&name, &text).trim_end().to_owned()))
}
