//! Shared by the tests of the command: temporary projects, the command as a user runs it, and checks of what it leaves
//! behind.

pub(crate) mod project;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

pub(crate) use prony_testkit::running::{Ended, Running, run};
pub(crate) use prony_testkit::{processes, schema, until};

/// The repository that these tests belong to.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `prony` with arguments.
pub(crate) fn prony<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(arguments);
    command
}

/// The words of a command line: a text with blanks between them, of which some may be in single quotes, or the words
/// themselves.
pub(crate) trait Words {
    fn words(&self) -> Vec<&str>;
}

impl Words for str {
    fn words(&self) -> Vec<&str> {
        let parts = self.split('\'').enumerate();
        let words = parts.flat_map(|(number, part)| match number % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        });
        words.collect()
    }
}

impl Words for String {
    fn words(&self) -> Vec<&str> {
        self.as_str().words()
    }
}

impl<const N: usize> Words for [&str; N] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl Words for Vec<&str> {
    fn words(&self) -> Vec<&str> {
        self.clone()
    }
}

impl<W: Words + ?Sized> Words for &W {
    fn words(&self) -> Vec<&str> {
        (**self).words()
    }
}

/// Where a run whose record file is lost has its results, and its record there.
pub(crate) fn saved(ended: &Ended) -> (PathBuf, Value) {
    let place = ended.stderr.split("note: the results are in ").nth(1);
    let folder = PathBuf::from(place.unwrap().lines().next().unwrap());
    assert!(folder.join("report.html").is_file(), "{}", ended.report());
    let record = std::fs::read_to_string(folder.join("record.json"));
    (folder, schema::valid("run", &record.unwrap()))
}

/// The commands that a help page lists.
pub(crate) fn commands_in(page: &str) -> Vec<String> {
    let lines = page.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = lines.take_while(|line| line.starts_with("  "));
    // Deeper lines continue a description.
    let names = listed.filter(|line| !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    let names = names.filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

/// Whether every toolchain must be installed, as in the project's own checks.
pub(crate) fn toolchains_are_required() -> bool {
    std::env::var_os("PRONY_REQUIRE_TOOLCHAINS").is_some_and(|value| value == "1")
}

/// Says that something is left out, or fails if nothing may be.
pub(crate) fn leave_out(what: &str, why: &str) {
    assert!(!toolchains_are_required(), "{what}: {why}");
    eprintln!("LEFT OUT {what}: {why}");
}
