//! The source files of a folder, and their hash.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::layout::PROJECT_FILE;
use ignore::{DirEntry, WalkBuilder};
use sha2::{Digest, Sha256};

/// Folders that builds create; they are not sources.
const MADE: [&str; 4] = ["target", "node_modules", "__pycache__", "zig-out"];
/// How deeply folders of sources may be nested; more is treated as a loop of links.
const DEEPEST: usize = 32;
/// The most files and folders that are visited.
const MOST_ENTRIES: usize = 100_000;
/// The most bytes that are read in all.
const MOST_BYTES: u64 = 1 << 30;

/// Something that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {source}", path.display())]
pub struct Unreadable {
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

impl Unreadable {
    pub fn new(path: &Path, source: io::Error) -> Self {
        Self {
            path: path.to_owned(),
            source,
        }
    }
}

/// The source files of `folder`, sorted, without folders that builds create or whose names begin with a dot.
///
/// # Errors
/// If a folder cannot be read, or there are too many files.
pub(crate) fn source_files(folder: &Path) -> Result<Vec<PathBuf>, Unreadable> {
    let mut walk = Walk {
        files: Vec::new(),
        entries: 0,
    };
    walk.look_through(folder, 0)?;
    walk.files.sort();
    Ok(walk.files)
}

/// The same without what the `.gitignore` files in it name, for a folder that is not Prony's alone.
///
/// # Errors
/// If a folder cannot be read, or there are too many files.
pub(crate) fn unignored_files(folder: &Path) -> Result<Vec<PathBuf>, Unreadable> {
    let refused = |why: String| Unreadable::new(folder, io::Error::other(why));
    let is_source = |entry: &DirEntry| {
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let name = entry.file_name().to_string_lossy();
        entry.depth() == 0 || !is_folder || is_source_folder(&name)
    };
    let walk = WalkBuilder::new(folder)
        .require_git(false)
        // The hash must not depend on the user's own files.
        .git_global(false)
        .git_exclude(false)
        .ignore(false)
        // Git ignores all of `.prony`, where revisions are checked out.
        .parents(false)
        .max_depth(Some(DEEPEST + 1))
        .filter_entry(is_source)
        .build();
    let mut files = Vec::new();
    for (entries, entry) in walk.enumerate() {
        if entries > MOST_ENTRIES {
            return Err(refused(format!(
                "there are more than {MOST_ENTRIES} files and folders, the limit for sources; add a .gitignore for what is not source"
            )));
        }
        let entry = entry.map_err(|error| refused(error.to_string()))?;
        if entry.depth() > DEEPEST {
            return Err(refused("folders are nested too deeply".to_owned()));
        }
        // What it says about builds is in the commands; the rest must not cause another build.
        let is_project_file = entry.file_name() == PROJECT_FILE;
        if !is_project_file && entry.path().is_file() {
            files.push(entry.into_path());
        }
    }
    files.sort();
    Ok(files)
}

struct Walk {
    files: Vec<PathBuf>,
    entries: usize,
}

impl Walk {
    fn look_through(&mut self, folder: &Path, depth: usize) -> Result<(), Unreadable> {
        let refused = |why: String| Err(Unreadable::new(folder, io::Error::other(why)));
        if depth > DEEPEST {
            return refused("folders are nested too deeply".to_owned());
        }
        let unreadable = |source| Unreadable::new(folder, source);
        for entry in fs::read_dir(folder).map_err(unreadable)? {
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                return refused(format!(
                    "there are more than {MOST_ENTRIES} files and folders, the limit for sources"
                ));
            }
            let entry = entry.map_err(unreadable)?;
            let path = entry.path();
            let kind = fs::metadata(&path).map_err(|source| Unreadable::new(&path, source))?;
            if kind.is_file() {
                self.files.push(path);
            } else if kind.is_dir() && is_source_folder(&entry.file_name().to_string_lossy()) {
                self.look_through(&path, depth + 1)?;
            }
        }
        Ok(())
    }
}

fn is_source_folder(name: &str) -> bool {
    !name.starts_with('.') && !MADE.contains(&name)
}

/// SHA-256 over each file's path below `folder` and content, in the order of `files`.
///
/// # Errors
/// If a file cannot be read, or the files are too large.
pub(crate) fn hash_files(folder: &Path, files: &[PathBuf]) -> Result<String, Unreadable> {
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

/// SHA-256 of one file.
///
/// # Errors
/// If it is not a file, cannot be read, or is too large.
pub(crate) fn hash_file(file: &Path) -> Result<String, Unreadable> {
    let content = read_at_most(file, MOST_BYTES)?;
    Ok(hexadecimal(Sha256::new_with_prefix(content)))
}

fn read_at_most(path: &Path, most: u64) -> Result<Vec<u8>, Unreadable> {
    let unreadable = |source| Unreadable::new(path, source);
    let file = File::open(path).map_err(unreadable)?;
    let mut content = Vec::new();
    let read = file.take(most + 1).read_to_end(&mut content);
    if read.map_err(unreadable)? as u64 > most {
        let too_much = format!("sources may have at most {} MiB in all", MOST_BYTES >> 20);
        return Err(unreadable(io::Error::other(too_much)));
    }
    Ok(content)
}

/// The digest of `hash`, hexadecimal.
fn hexadecimal(hash: Sha256) -> String {
    let digest = hash.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
