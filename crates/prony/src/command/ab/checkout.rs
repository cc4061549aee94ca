//! Folders with the files of a revision, which go when they are not needed any more.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use super::git::{Commit, Repository, remove_leftover};

/// Where the revisions of a project's servers are checked out. Only one program at a time has it.
pub struct Shelf {
    folder: PathBuf,
    keep: bool,
    _alone: File,
}

/// The files of a commit. They are taken away when this is dropped, unless they are to be kept.
pub struct Checkout<'a> {
    repository: &'a Repository,
    folder: PathBuf,
    keep: bool,
}

impl Shelf {
    /// Opens the folder `ab` below `state`, and clears what killed ones left there.
    pub fn open(state: &Path, keep: bool) -> Result<Self, String> {
        let folder = state.join("ab");
        let file = folder.join("lock");
        let cannot = |error| format!("cannot use {}: {error}", file.display());
        fs::create_dir_all(&folder).map_err(cannot)?;
        let alone = File::create(&file).map_err(cannot)?;
        match alone.try_lock() {
            Ok(()) => {
                clear_leftovers(&folder);
                Ok(Self {
                    folder,
                    keep,
                    _alone: alone,
                })
            }
            Err(TryLockError::Error(error)) => Err(cannot(error)),
            Err(TryLockError::WouldBlock) => Err(
                "another `prony ab` of this project is at work; two at once would measure each other"
                    .into(),
            ),
        }
    }

    /// The files of a commit, in the folder of this name. What an earlier one kept there is used again where it is
    /// what it should be, and taken away where it is not.
    pub fn check_out<'a>(
        &self,
        repository: &'a Repository,
        commit: &Commit,
        name: &str,
    ) -> Result<Checkout<'a>, String> {
        let folder = self.folder.join(name);
        let mark = mark(&folder);
        if self.keep {
            File::create(&mark)
                .map_err(|error| format!("cannot use {}: {error}", mark.display()))?;
        }
        let checkout = Checkout {
            folder,
            keep: mark.is_file(),
            repository,
        };
        if !repository.holds(commit, &checkout.folder) {
            checkout.clear();
            repository.check_out(commit, &checkout.folder)?;
        }
        Ok(checkout)
    }
}

impl Checkout<'_> {
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn clear(&self) {
        self.repository.remove(&self.folder);
    }
}

const MARK: &str = "kept";

/// The file beside a folder that says that it is to be kept. In the folder it would be one of the server's files.
fn mark(folder: &Path) -> PathBuf {
    folder.with_extension(MARK)
}

/// Takes away the checkouts that are not to be kept, and the marks of those that are gone: who has the lock is the only
/// one at work.
fn clear_leftovers(shelf: &Path) {
    let entries = fs::read_dir(shelf).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() && !path.is_symlink() && !mark(&path).is_file() {
            remove_leftover(&path);
        } else if path.extension() == Some(OsStr::new(MARK)) && !path.with_extension("").is_dir() {
            let _ = fs::remove_file(&path);
        }
    }
}

impl Drop for Checkout<'_> {
    fn drop(&mut self) {
        match self.keep {
            true => errln!("kept     {}", self.folder.display()),
            false => self.clear(),
        }
    }
}
