//! Shared by the tests of the command: temporary projects, the command as a user runs it, and checks of what it leaves
//! behind.

pub mod project;
pub mod schema;

use std::path::{Path, PathBuf};
use std::process::Command;

pub use prony_testkit::running::{Ended, Running, run};
pub use prony_testkit::{processes, until};

/// The repository that these tests belong to.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `prony` with arguments.
pub fn prony<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(arguments);
    command
}

/// Runs `prony` in a folder.
pub fn here(folder: &(impl AsRef<Path> + ?Sized), arguments: &[&str]) -> Ended {
    let mut command = prony(arguments);
    command.current_dir(folder);
    run(command)
}

/// The words of a command line: a text with blanks between them, of which some may be in single quotes, or the words
/// themselves.
pub trait Words {
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

/// Whether every toolchain must be installed, as in the project's own checks.
pub fn toolchains_are_required() -> bool {
    std::env::var_os("PRONY_REQUIRE_TOOLCHAINS").is_some_and(|value| value == "1")
}

/// Says that something is left out, or fails if nothing may be.
pub fn leave_out(what: &str, why: &str) {
    assert!(!toolchains_are_required(), "{what}: {why}");
    eprintln!("LEFT OUT {what}: {why}");
}
