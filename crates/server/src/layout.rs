//! The layout of a project: `servers/`, `suites/` and `workloads/`, and `.prony/` beside them.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The folders that mark the root.
const MARKS: [&str; 3] = ["servers", "suites", "workloads"];

/// The folders of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
}

/// Why no layout was found.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// The folder to start from cannot be resolved.
    #[error("cannot look for Prony's folders from {start}: {source}")]
    Start {
        /// Where the search began.
        start: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The folder for Prony's own files cannot be created.
    #[error("cannot create the folder {state}, where Prony keeps all its files: {source}")]
    State {
        /// The folder.
        state: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// No folder from there to the root has them.
    #[error(
        "neither {start} nor a folder above it contains servers/, suites/ and workloads/; run prony inside of such a folder, or give it with --project"
    )]
    NotFound {
        /// Where the search began.
        start: PathBuf,
    },
}

impl Layout {
    /// The layout whose root is `root`, as given.
    pub fn at(root: impl Into<PathBuf>) -> Layout {
        Layout { root: root.into() }
    }

    /// The nearest folder from `start` upwards that holds `servers/`, `suites/` and `workloads/`.
    ///
    /// # Errors
    /// If `start` does not exist, or no such folder is found.
    pub fn find(start: &Path) -> Result<Layout, LayoutError> {
        let absolute = start.canonicalize().map_err(|source| LayoutError::Start {
            start: start.to_owned(),
            source,
        })?;
        absolute
            .ancestors()
            .find(|folder| MARKS.iter().all(|mark| folder.join(mark).is_dir()))
            .map(Layout::at)
            .ok_or(LayoutError::NotFound { start: absolute })
    }

    /// The root itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder for Prony's own files: `.prony/`.
    pub fn state(&self) -> PathBuf {
        self.root.join(".prony")
    }

    /// Creates [`Self::state`], the only folder that Prony creates unasked, and makes Git ignore it.
    pub fn make_state(&self) -> Result<(), LayoutError> {
        let state = self.state();
        ignored_folder(&state).map_err(|source| LayoutError::State { state, source })
    }

    /// The servers, one folder each.
    pub fn servers(&self) -> PathBuf {
        self.root.join("servers")
    }

    /// The suites, one file each.
    pub fn suites(&self) -> PathBuf {
        self.root.join("suites")
    }

    /// The workloads, one file each.
    pub fn workloads(&self) -> PathBuf {
        self.root.join("workloads")
    }

    /// The files that servers respond with.
    pub fn assets(&self) -> PathBuf {
        self.workloads().join("assets")
    }

    /// The builds, one folder for each server and source hash.
    pub fn builds(&self) -> PathBuf {
        self.state().join("build")
    }

    /// The toolchains that Prony installed for itself.
    pub fn tools(&self) -> PathBuf {
        self.state().join("tools")
    }

    /// The logs and reports of runs.
    pub fn runs(&self) -> PathBuf {
        self.state().join("runs")
    }

    /// The certificates that servers present over TLS, see [`crate::Certificate`].
    pub fn certificates(&self) -> PathBuf {
        self.state().join("tls")
    }

    /// The downloads of the servers' package managers, shared by all servers.
    pub fn packages(&self) -> PathBuf {
        self.state().join("packages")
    }

    /// Cargo's target folder, shared by the project's servers so that their dependencies are built once.
    pub fn cargo_target(&self) -> PathBuf {
        self.state().join("cargo-target")
    }

    /// The target folder of the server `id` in `folder`. A variant, or a server elsewhere, may build a program with the
    /// same name as another: in the shared folder the later build would overwrite the earlier one, and Prony would
    /// measure the same program twice.
    pub fn cargo_target_of(&self, id: &str, folder: &Path) -> PathBuf {
        let own = self.servers().join(id);
        match own.canonicalize().is_ok_and(|own| own == folder) {
            true => self.cargo_target(),
            false => self.state().join("cargo-targets").join(id),
        }
    }
}

/// Creates a folder with a `.gitignore` that names everything in it. An existing one stays as it is.
fn ignored_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    match File::create_new(folder.join(".gitignore")) {
        Ok(mut file) => file.write_all(b"*\n"),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Locks `file`, which is created if it does not exist, until the returned value is dropped; `None` if `interrupt` is
/// set first. Another thread or program may hold the lock for minutes.
pub fn lock_unless(interrupt: &AtomicBool, file: &Path) -> io::Result<Option<File>> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let lock = File::create(file)?;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(Some(lock)),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(50)),
        }
        if interrupt.load(Ordering::Relaxed) {
            return Ok(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_found_from_a_folder_below_it() {
        let folder = tempfile::tempdir().unwrap();
        for mark in MARKS {
            std::fs::create_dir(folder.path().join(mark)).unwrap();
        }
        let below = folder.path().join("servers/deep");
        std::fs::create_dir(&below).unwrap();
        let layout = Layout::find(&below).unwrap();
        assert_eq!(layout.root(), folder.path().canonicalize().unwrap());
    }

    #[test]
    fn the_state_is_created_once_and_ignored_by_git() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        let ignored = layout.state().join(".gitignore");
        layout.make_state().unwrap();
        assert_eq!(fs::read_to_string(&ignored).unwrap(), "*\n");
        fs::write(&ignored, "mine").unwrap();
        layout.make_state().unwrap();
        assert_eq!(fs::read_to_string(&ignored).unwrap(), "mine");
        fs::remove_dir_all(layout.state()).unwrap();
        fs::write(layout.state(), "a file").unwrap();
        let message = layout.make_state().unwrap_err().to_string();
        assert!(message.contains("cannot create the folder"), "{message}");
    }

    #[test]
    fn a_folder_without_the_marks_is_not_a_project() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(
            Layout::find(folder.path()),
            Err(LayoutError::NotFound { .. })
        ));
        assert!(matches!(
            Layout::find(&folder.path().join("none")),
            Err(LayoutError::Start { .. })
        ));
    }
}

#[cfg(test)]
mod lock_tests {
    use super::*;

    #[test]
    fn a_lock_is_waited_for_unless_interrupted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("below/lock");
        let [go_on, interrupted] = [false, true].map(AtomicBool::new);
        let held = lock_unless(&interrupted, &file).unwrap();
        assert!(held.is_some());
        assert!(lock_unless(&interrupted, &file).unwrap().is_none());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| lock_unless(&go_on, &file).unwrap().is_some());
            std::thread::sleep(Duration::from_millis(100));
            assert!(!waits.is_finished());
            drop(held);
            assert!(waits.join().unwrap());
        });
    }
}
