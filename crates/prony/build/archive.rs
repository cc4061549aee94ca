//! The archive of the shipped folders. The build script and the tests share this file.

use std::fs;
use std::io::{self, Error};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use tar::{EntryType, Header};

/// The folders that Prony ships.
pub(crate) const FOLDERS: [&str; 4] = ["servers", "suites", "workloads", "drivers"];

/// The files in the shipped folders below `root`, relative to it and sorted, without what its `.gitignore` names and
/// without dot files.
pub(crate) fn files(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        if !root.join(folder).is_dir() {
            let missing = format!("there is no folder {}", root.join(folder).display());
            return Err(Error::other(missing));
        }
    }
    for entry in walk(root) {
        let entry = entry.map_err(Error::other)?;
        // The manifests of servers name files, so a link has no place among them.
        if entry.file_type().is_some_and(|kind| kind.is_file()) {
            let path = entry.path().strip_prefix(root).map_err(Error::other)?;
            files.push(path.to_owned());
        }
    }
    files.sort();
    Ok(files)
}

/// Walks the shipped folders. It starts at `root`, so that patterns in its `.gitignore` apply as Git applies them.
fn walk(root: &Path) -> ignore::Walk {
    WalkBuilder::new(root)
        .parents(false)
        .require_git(false)
        .git_global(false)
        .git_exclude(false)
        .ignore(false)
        .filter_entry(|entry| match entry.depth() {
            1 => FOLDERS.iter().any(|folder| entry.file_name() == *folder),
            _ => true,
        })
        .build()
}

/// An archive of these files below `root`. It depends on nothing but their paths, contents and whether they are
/// executable.
pub(crate) fn pack(root: &Path, files: &[PathBuf]) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for path in files {
        let file = root.join(path);
        let contents = fs::read(&file)?;
        let executable = fs::metadata(&file)?.permissions().mode() & 0o111 != 0;
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_size(contents.len() as u64);
        header.set_mode(if executable { 0o755 } else { 0o644 });
        archive.append_data(&mut header, path, contents.as_slice())?;
    }
    archive.into_inner()
}
