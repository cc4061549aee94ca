//! The layout of a project: its own servers, suites and workloads, those that Prony ships, and `.prony/`.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub const PROJECT_FILE: &str = "prony.toml";

/// Together, these folders mark the root of a project as well.
const MARKS: [&str; 3] = ["servers", "suites", "workloads"];

/// A folder with `servers/`, `suites/`, `workloads/` and `drivers/`, or some of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection {
    root: PathBuf,
}

impl Collection {
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub fn servers(&self) -> PathBuf {
        self.root.join("servers")
    }

    pub fn suites(&self) -> PathBuf {
        self.root.join("suites")
    }

    pub fn workloads(&self) -> PathBuf {
        self.root.join("workloads")
    }

    /// The files that servers respond with.
    pub fn assets(&self) -> PathBuf {
        self.workloads().join("assets")
    }

    /// The load generators, one folder each.
    pub fn drivers(&self) -> PathBuf {
        self.root.join("drivers")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    own: Collection,
    shipped: Option<Collection>,
}

#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    #[error("cannot look for a project in {start}: {source}")]
    Start { start: PathBuf, source: io::Error },
    #[error("cannot create the folder {state}, where Prony keeps its builds and results: {source}")]
    State { state: PathBuf, source: io::Error },
}

impl Layout {
    /// The layout whose root is `root`, as given, without anything that Prony ships.
    pub fn at(root: impl Into<PathBuf>) -> Layout {
        Layout {
            own: Collection::at(root),
            shipped: None,
        }
    }

    /// The same with what Prony ships, unpacked in the folder `shipped`.
    pub fn with_shipped(self, shipped: impl Into<PathBuf>) -> Layout {
        let shipped = Some(Collection::at(shipped));
        Layout { shipped, ..self }
    }

    /// The nearest folder from `start` upwards that holds `prony.toml`, or `servers/`, `suites/` and `workloads/`; or
    /// else `start` itself.
    pub fn find(start: &Path) -> Result<Layout, LayoutError> {
        let absolute = start.canonicalize().map_err(|source| LayoutError::Start {
            start: start.to_owned(),
            source,
        })?;
        let root = absolute.ancestors().find(|folder| is_root(folder));
        Ok(Layout::at(root.unwrap_or(&absolute)))
    }

    pub fn root(&self) -> &Path {
        &self.own.root
    }

    pub fn own(&self) -> &Collection {
        &self.own
    }

    /// The project's own collection, and then the shipped one.
    pub fn collections(&self) -> impl Iterator<Item = &Collection> {
        std::iter::once(&self.own).chain(&self.shipped)
    }

    pub fn is_shipped(&self, path: &Path) -> bool {
        let shipped = self.shipped.as_ref();
        shipped.is_some_and(|shipped| path.starts_with(&shipped.root))
    }

    /// The first of the folders that exists, the project's own or the shipped one; or else its own. What Prony ships
    /// uses only what Prony ships.
    fn folder_for(&self, path: &Path, folder: fn(&Collection) -> PathBuf) -> PathBuf {
        let skipped = usize::from(self.is_shipped(path));
        let mut folders = self.collections().skip(skipped).map(folder);
        let first = folders.find(|folder| folder.is_dir());
        first.unwrap_or_else(|| folder(&self.own))
    }

    /// The workloads folder that a server in `folder` uses.
    pub fn workloads_for(&self, folder: &Path) -> PathBuf {
        self.folder_for(folder, Collection::workloads)
    }

    /// The files with which a server in `folder` responds, and from which a workload in `folder` takes its expected
    /// response.
    pub fn assets_for(&self, folder: &Path) -> PathBuf {
        self.folder_for(folder, Collection::assets)
    }

    pub fn drivers(&self) -> PathBuf {
        self.folder_for(self.root(), Collection::drivers)
    }

    /// The folder for Prony's own files: `.prony/`.
    pub fn state(&self) -> PathBuf {
        self.own.root.join(".prony")
    }

    /// Creates [`Self::state`] and makes Git ignore it.
    pub fn make_state(&self) -> Result<(), LayoutError> {
        let state = self.state();
        ignored_folder(&state).map_err(|source| LayoutError::State { state, source })
    }

    pub fn unpacked(&self) -> PathBuf {
        self.state().join("shipped")
    }

    /// The builds, one folder for each server and source hash.
    pub fn builds(&self) -> PathBuf {
        self.state().join("build")
    }

    /// The toolchains that Prony installed for itself.
    pub fn tools(&self) -> PathBuf {
        self.state().join("tools")
    }

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
        let is_shared = |servers: PathBuf| {
            let own = servers.join(id).canonicalize();
            own.is_ok_and(|own| own == folder)
        };
        if self.collections().map(Collection::servers).any(is_shared) {
            self.cargo_target()
        } else {
            self.state().join("cargo-targets").join(id)
        }
    }
}

fn is_root(folder: &Path) -> bool {
    folder.join(PROJECT_FILE).is_file() || MARKS.iter().all(|mark| folder.join(mark).is_dir())
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
pub(crate) fn lock_unless(interrupt: &AtomicBool, file: &Path) -> io::Result<Option<File>> {
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
    fn the_root_is_above_a_folder_or_it_is_a_project_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let root_of = |below: &Path| Layout::find(below).unwrap().root().to_owned();
        let below = root.join("a/b");
        fs::create_dir_all(&below).unwrap();
        assert_eq!(root_of(&below), below);
        MARKS
            .iter()
            .for_each(|mark| fs::create_dir(root.join(mark)).unwrap());
        assert_eq!(root_of(&below), root);
        fs::write(root.join("a").join(PROJECT_FILE), "").unwrap();
        assert_eq!(root_of(&below), root.join("a"));
        let missing = Layout::find(&root.join("none"));
        assert!(matches!(missing, Err(LayoutError::Start { .. })));
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
    fn shipped_servers_use_shipped_files_and_others_their_own_if_there_are_any() {
        let folder = tempfile::tempdir().unwrap();
        let [own, shipped] = ["own", "shipped"].map(|name| folder.path().join(name));
        let layout = Layout::at(&own).with_shipped(&shipped);
        let of_shipped = shipped.join("servers/bun");
        fs::create_dir_all(shipped.join("workloads/assets")).unwrap();
        for server in [&own, &of_shipped] {
            assert_eq!(layout.workloads_for(server), shipped.join("workloads"));
        }
        fs::create_dir_all(own.join("workloads")).unwrap();
        assert_eq!(layout.workloads_for(&own), own.join("workloads"));
        assert_eq!(layout.workloads_for(&of_shipped), shipped.join("workloads"));
        assert_eq!(layout.assets_for(&own), shipped.join("workloads/assets"));
        assert!(layout.is_shipped(&of_shipped) && !layout.is_shipped(&own));
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
