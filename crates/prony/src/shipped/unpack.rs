//! Unpacks the archive so that its folder is there whole or not at all, and removes the folders of other versions that
//! nobody uses any more.

use std::fs::{self, File, FileTimes, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

/// The folders that are unpacked.
pub(super) const FOLDERS: [&str; 4] = ["servers", "suites", "workloads", "drivers"];

/// How the names of temporary folders begin.
const TEMPORARY: &str = ".unpacking-";

/// Unpacking takes less than a second, so the process that created an older temporary folder has ended.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

#[derive(Debug, thiserror::Error)]
pub(crate) enum UnpackError {
    #[error("cannot create the folder {path} for the servers that Prony ships: {source}")]
    Folder { path: PathBuf, source: io::Error },
    #[error(
        "cannot write the servers that Prony ships to {path}: {source}; check that the disk has space"
    )]
    Write { path: PathBuf, source: io::Error },
    #[error(
        "cannot name the folder with the servers that Prony ships {path}: {source}; remove what is there"
    )]
    Rename { path: PathBuf, source: io::Error },
}

/// The folder with the shipped files. No other process removes it as long as this exists.
#[derive(Debug)]
pub(crate) struct Unpacked {
    path: PathBuf,
    _in_use: Option<File>,
}

impl Unpacked {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// `None` if there is no such folder.
    fn find(path: &Path) -> Option<Self> {
        let in_use = path.is_dir().then(|| mark_as_used(path)).flatten();
        // Only now can no other process remove it.
        path.is_dir().then(|| Self {
            path: path.to_owned(),
            _in_use: in_use,
        })
    }
}

/// Unpacks an archive to `parent/name`, unless that folder exists, and removes what other versions have left there.
pub(super) fn unpack(archive: &[u8], name: &str, parent: &Path) -> Result<Unpacked, UnpackError> {
    let folder = parent.join(name);
    let found = Unpacked::find(&folder);
    remove_unused(parent, name);
    match found {
        Some(found) => Ok(found),
        None => write_whole(archive, folder, parent),
    }
}

fn write_whole(archive: &[u8], folder: PathBuf, parent: &Path) -> Result<Unpacked, UnpackError> {
    let temporary = temporary_folder(parent).map_err(|source| UnpackError::Folder {
        path: parent.to_owned(),
        source,
    })?;
    write(archive, temporary.path()).map_err(|source| UnpackError::Write {
        path: temporary.path().to_owned(),
        source,
    })?;
    match fs::rename(temporary.path(), &folder) {
        Ok(()) => drop(temporary.keep()),
        // Another process was faster; its folder has the same files.
        Err(_) if folder.is_dir() => {}
        Err(source) => {
            let path = folder;
            return Err(UnpackError::Rename { path, source });
        }
    }
    let in_use = mark_as_used(&folder);
    Ok(Unpacked {
        path: folder,
        _in_use: in_use,
    })
}

/// A new folder in `parent`, removed on drop.
fn temporary_folder(parent: &Path) -> io::Result<TempDir> {
    fs::create_dir_all(parent)?;
    remove_abandoned(parent);
    tempfile::Builder::new()
        .prefix(TEMPORARY)
        // Servers may run as another user.
        .permissions(Permissions::from_mode(0o755))
        .tempdir_in(parent)
}

/// Removes the temporary folders of processes that were killed, as far as possible: another process may remove one too,
/// or it may belong to another user.
fn remove_abandoned(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().unwrap_or_default();
        if name.to_string_lossy().starts_with(TEMPORARY) && is_abandoned(&path) {
            let _ = fs::remove_dir_all(path);
        }
    }
}

fn is_abandoned(folder: &Path) -> bool {
    age(folder).is_some_and(|age| age > ABANDONED)
}

/// How long ago a folder was last changed.
fn age(folder: &Path) -> Option<Duration> {
    let modified = fs::symlink_metadata(folder).ok()?.modified();
    modified.ok()?.elapsed().ok()
}

fn write(archive: &[u8], folder: &Path) -> io::Result<()> {
    let mut archive = tar::Archive::new(archive);
    // Build tools compare times, so files are as old as the folder.
    archive.set_preserve_mtime(false);
    archive.unpack(folder)
}

/// How long nobody has used what is removed.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Removing takes time, because builds leave many files: the next command removes the next folder.
const MOST_REMOVED: usize = 1;

/// Marks a folder as used now, and as in use until the file is closed. As far as possible: the folder may belong to another
/// user, and not every file system has locks.
fn mark_as_used(folder: &Path) -> Option<File> {
    let file = File::open(folder).ok()?;
    let _ = file.set_times(FileTimes::new().set_modified(SystemTime::now()));
    file.lock_shared().ok()?;
    Some(file)
}

/// Removes folders in `parent` with the files of other versions than `name`, as far as possible.
fn remove_unused(parent: &Path, name: &str) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let others = names.filter(|other| other != name && is_of_a_version(other));
    let unused = others.filter(|other| is_unused(&parent.join(other)));
    for other in unused.take(MOST_REMOVED) {
        let _ = remove(parent, &other);
    }
}

/// Whether it is a name such as `0.1.0-ec582fa5a5b6`.
fn is_of_a_version(name: &str) -> bool {
    let Some((version, hash)) = name.rsplit_once('-') else {
        return false;
    };
    version.starts_with(|c: char| c.is_ascii_digit())
        && version.contains('.')
        && hash.len() == 12
        && hash.chars().all(|c| c.is_ascii_hexdigit())
}

fn is_unused(folder: &Path) -> bool {
    age(folder).is_some_and(|age| age > UNUSED)
        && !folder.is_symlink()
        && FOLDERS.iter().all(|one| folder.join(one).is_dir())
}

/// Removes the folder, unless a process uses it. It loses its name at once, so that nobody finds a part of it.
fn remove(parent: &Path, name: &str) -> io::Result<()> {
    let folder = parent.join(name);
    let file = File::open(&folder)?;
    file.try_lock()?;
    // A process may have used it since it was found.
    if is_unused(&folder) {
        let removed = tempfile::Builder::new()
            .prefix(TEMPORARY)
            .tempdir_in(parent)?;
        fs::rename(&folder, removed.path().join(name))?;
        drop(file);
        removed.close()?;
    }
    Ok(())
}
