//! Parses every file of a folder and compares what the parser says with what Hurl says.
//!
//! `cargo run -p prony-hurl --example conformance -- FOLDER`, with a folder such as `integration/hurl/tests_ok` or
//! `integration/hurl/tests_error_parser` of Hurl's repository. If `name.err` is a parser's error, `name.hurl` must be
//! refused at the same place; any other `name.hurl` must be accepted.

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
        let verdict = if expected == actual {
            "same"
        } else {
            differences += 1;
            "DIFFERENT"
        };
        let [hurl, prony] = [expected, actual].map(|place| place.unwrap_or("accepted".into()));
        println!("{verdict:<9}  {hurl:<8}  {prony:<8}  {}", file.display());
    }
    println!("{} files, {differences} different", files.len());
    Ok(differences)
}

/// Where Hurl refuses the file: `line:column` in the `.err` file, if the error is the parser's.
fn expected(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file.with_extension("err")).ok()?;
    let (_, error) = text.split_once("error: Parsing")?;
    let (_, place) = error.split_once(".hurl:")?;
    Some(place.lines().next()?.trim_end().to_owned())
}

/// Where the parser refuses it.
fn actual(file: &Path) -> io::Result<Option<String>> {
    let Ok(text) = String::from_utf8(fs::read(file)?) else {
        return Ok(Some("not UTF-8".into()));
    };
    let place = |position: prony_hurl::Position| format!("{}:{}", position.line, position.column);
    let error = prony_hurl::parse(&text).err();
    Ok(error.map(|error| place(error.position)))
}
