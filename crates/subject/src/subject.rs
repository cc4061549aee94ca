//! A subject: its folder, its manifest and the hash of its sources.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::digest::hexadecimal;
use crate::manifest::{MANIFEST_FILE, Manifest, ManifestError};

/// Folders that builds make; they are no sources.
const MADE: [&str; 4] = ["target", "node_modules", "__pycache__", "zig-out"];

/// How deep folders of sources may lie in each other: more is taken for a loop of links.
const DEEPEST: usize = 32;

/// A server that can be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Its id: the name of its folder.
    pub id: String,
    /// Its folder, absolute.
    pub folder: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// SHA-256 of its sources, hexadecimal.
    pub source_hash: String,
}

/// Why a folder is no subject.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// Its manifest is faulty.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// Something of it cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// What cannot be read.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Its folder has a name that is no id.
    #[error("{0}: a subject's folder is named in lower-case letters, digits and hyphens")]
    Name(PathBuf),
}

impl Subject {
    /// Reads the subject in `folder`, wherever that is.
    ///
    /// # Errors
    /// Where its manifest is faulty or something of it cannot be read.
    pub fn open(folder: &Path) -> Result<Subject, SubjectError> {
        let folder = folder
            .canonicalize()
            .map_err(|source| read_error(folder, source))?;
        let id = folder
            .file_name()
            .and_then(|name| name.to_str())
            .filter(|name| is_id(name))
            .ok_or_else(|| SubjectError::Name(folder.clone()))?
            .to_owned();
        let file = folder.join(MANIFEST_FILE);
        let text = fs::read_to_string(&file).map_err(|source| read_error(&file, source))?;
        let manifest = Manifest::parse(&file, &text)?;
        let source_hash = source_hash(&folder)?;
        Ok(Subject {
            id,
            folder,
            manifest,
            source_hash,
        })
    }

    /// The first 8 digits of the source hash.
    pub fn short_hash(&self) -> &str {
        &self.source_hash[..8]
    }
}

fn is_id(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && name.chars().all(is_letter)
}

fn read_error(path: &Path, source: io::Error) -> SubjectError {
    SubjectError::Read {
        path: path.to_owned(),
        source,
    }
}

/// SHA-256 over every source file's relative path and content, in the order of the paths.
fn source_hash(folder: &Path) -> Result<String, SubjectError> {
    let mut files = Vec::new();
    source_files(folder, 0, &mut files)?;
    files.sort();
    let mut hash = Sha256::new();
    for file in &files {
        let content = fs::read(file).map_err(|source| read_error(file, source))?;
        let relative = file.strip_prefix(folder).unwrap_or(file).to_string_lossy();
        // The lengths keep "ab" + "c" apart from "a" + "bc".
        for part in [relative.as_bytes(), &content] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    Ok(hexadecimal(hash))
}

fn source_files(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), SubjectError> {
    if depth > DEEPEST {
        let source = io::Error::other("folders lie too deep in each other");
        return Err(read_error(folder, source));
    }
    let entries = fs::read_dir(folder).map_err(|source| read_error(folder, source))?;
    for entry in entries {
        let entry = entry.map_err(|source| read_error(folder, source))?;
        let path = entry.path();
        let kind = fs::metadata(&path).map_err(|source| read_error(&path, source))?;
        if kind.is_file() {
            files.push(path);
        } else if kind.is_dir() && is_source_folder(&entry.file_name().to_string_lossy()) {
            source_files(&path, depth + 1, files)?;
        }
    }
    Ok(())
}

fn is_source_folder(name: &str) -> bool {
    !name.starts_with('.') && !MADE.contains(&name)
}
