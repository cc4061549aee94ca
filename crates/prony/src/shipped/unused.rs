//! Removes the unpacked files of other versions that nobody uses any more.

use std::fs::{self, File, FileTimes};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::shipped::names::{FOLDERS, TEMPORARY};

/// How long nobody has used what is removed.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Removing takes time, because builds leave many files: the next command removes the next folder.
const MOST_REMOVED: usize = 1;

/// Marks a folder as used now, and as in use until the file is closed. As far as possible: the folder may belong to another
/// user, and not every file system has locks.
pub(super) fn mark_as_used(folder: &Path) -> Option<File> {
    let file = File::open(folder).ok()?;
    let _ = file.set_times(FileTimes::new().set_modified(SystemTime::now()));
    file.lock_shared().ok()?;
    Some(file)
}

/// Removes folders in `parent` with the files of other versions than `name`, as far as possible.
pub(super) fn remove_unused(parent: &Path, name: &str) {
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
    let Ok(found) = fs::symlink_metadata(folder) else {
        return false;
    };
    let age = found.modified().map(|then| then.elapsed());
    let is_old = age.is_ok_and(|age| age.is_ok_and(|age| age > UNUSED));
    is_old && found.is_dir() && FOLDERS.iter().all(|one| folder.join(one).is_dir())
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
