//! A subject: its folder, its manifest and the hash of its sources.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::manifest::{MANIFEST_FILE, Manifest, ManifestError};
use crate::sources::{Unreadable, hash_files, source_files};

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
        let source_hash = source_files(&folder).and_then(|files| hash_files(&folder, &files))?;
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

impl From<Unreadable> for SubjectError {
    fn from(Unreadable { path, source }: Unreadable) -> Self {
        Self::Read { path, source }
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
