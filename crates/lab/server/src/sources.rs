//! The source files of a folder, and their hash.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};
use prony_manifest::FileError;
use sha2::{Digest, Sha256};

use crate::layout::PROJECT_FILE;

/// Folders that builds create; they are not sources.
const MADE: [&str; 4] = ["target", "node_modules", "__pycache__", "zig-out"];
/// How deeply folders of sources may be nested.
const DEEPEST: usize = 32;
/// The most files and folders that are visited.
const MOST_ENTRIES: usize = 100_000;
/// The most bytes that are read in all.
const MOST_BYTES: u64 = 1 << 30;

/// The source files of `folder`, sorted, without folders that builds create or whose names begin with a dot.
pub(crate) fn source_files(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let mut walk = WalkBuilder::new(folder);
    files(folder, walk.standard_filters(false).follow_links(true))
}

/// The same without what the `.gitignore` files in it name, for a folder that is not Prony's alone.
pub(crate) fn unignored_files(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let mut walk = WalkBuilder::new(folder);
    walk.require_git(false)
        // The hash must not depend on the user's own files.
        .git_global(false)
        .git_exclude(false)
        .ignore(false)
        // Git ignores all of `.prony`, where revisions are checked out.
        .parents(false);
    let mut files = files(folder, &mut walk)?;
    // What it says about builds is in the commands; the rest must not cause another build.
    files.retain(|file| !file.ends_with(PROJECT_FILE));
    Ok(files)
}

fn files(folder: &Path, walk: &mut WalkBuilder) -> Result<Vec<PathBuf>, FileError> {
    let refused = |why: String| FileError::unreadable(folder, io::Error::other(why));
    let walk = walk.max_depth(Some(DEEPEST + 1)).filter_entry(is_source);
    let mut files = Vec::new();
    for (entries, entry) in walk.build().enumerate() {
        if entries > MOST_ENTRIES {
            return Err(refused(format!(
                "there are more than {MOST_ENTRIES} files and folders, the limit for sources; in a project with a prony.toml, add a .gitignore for what is not source"
            )));
        }
        let entry = entry.map_err(|error| {
            let kind = error
                .io_error()
                .map_or(io::ErrorKind::Other, io::Error::kind);
            FileError::unreadable(folder, io::Error::new(kind, error.to_string()))
        })?;
        if entry.depth() > DEEPEST {
            return Err(refused("folders are nested too deeply".to_owned()));
        }
        if entry.path().is_file() {
            files.push(entry.into_path());
        }
    }
    files.sort();
    Ok(files)
}

/// Whether it is none of the folders that have no sources.
fn is_source(entry: &DirEntry) -> bool {
    let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
    let name = entry.file_name().to_string_lossy();
    entry.depth() == 0 || !is_folder || !(name.starts_with('.') || MADE.contains(&&*name))
}

/// SHA-256 over each file's path below `folder` and content, in the order of `files`.
pub(crate) fn hash_files(folder: &Path, files: &[PathBuf]) -> Result<String, FileError> {
    let mut hash = Sha256::new();
    let mut left = MOST_BYTES;
    for file in files {
        let content = read_at_most(file, left)?;
        left -= content.len() as u64;
        let relative = file.strip_prefix(folder).unwrap_or(file).to_string_lossy();
        // The lengths keep "ab" + "c" apart from "a" + "bc".
        for part in [relative.as_bytes(), &content] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    Ok(hexadecimal(hash))
}

pub(crate) fn hash_file(file: &Path) -> Result<String, FileError> {
    let content = read_at_most(file, MOST_BYTES)?;
    Ok(hexadecimal(Sha256::new_with_prefix(content)))
}

fn read_at_most(path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    let unreadable = |source| FileError::unreadable(path, source);
    let file = File::open(path).map_err(unreadable)?;
    let mut content = Vec::new();
    let read = file.take(most + 1).read_to_end(&mut content);
    if read.map_err(unreadable)? as u64 > most {
        let too_much = format!("sources may have at most {} MiB in all", MOST_BYTES >> 20);
        return Err(unreadable(io::Error::other(too_much)));
    }
    Ok(content)
}

fn hexadecimal(hash: Sha256) -> String {
    let digest = hash.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
