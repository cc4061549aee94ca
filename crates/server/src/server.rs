//! A server: its folder, its manifest and the hash of its sources.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use prony_manifest::{FileError, UnknownName};

use crate::manifest::{MANIFEST_FILE, Manifest};
use crate::sources::{Unreadable, hash_files, source_files};

/// A server that can be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its id: the name of its folder.
    pub id: String,
    /// Its folder, absolute.
    pub folder: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// SHA-256 of its sources, hexadecimal.
    pub source_hash: String,
}

/// Why a folder is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Its manifest is faulty.
    #[error(transparent)]
    Manifest(#[from] FileError),
    /// Something of it cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// What cannot be read.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Its folder has a name that is no id.
    #[error("{0}: a server's folder is named in lower-case letters, digits and hyphens")]
    Name(PathBuf),
    /// A name given to it is no id.
    #[error(
        "`{0}` is not a valid server name: use lower-case letters, digits and hyphens, for instance new=../my-server"
    )]
    BadName(String),
    /// Its manifest has no variant of that name.
    #[error("server `{id}`: {unknown}")]
    NoVariant {
        /// The server's id.
        id: String,
        /// The name, and the variants that there are.
        unknown: UnknownName,
    },
}

impl Server {
    /// Reads the server in `folder`, wherever that is.
    ///
    /// # Errors
    /// Where its manifest is faulty or something of it cannot be read.
    pub fn open(folder: &Path) -> Result<Server, ServerError> {
        let folder = folder
            .canonicalize()
            .map_err(|source| read_error(folder, source))?;
        let id = folder
            .file_name()
            .and_then(|name| name.to_str())
            .filter(|name| is_id(name))
            .ok_or_else(|| ServerError::Name(folder.clone()))?
            .to_owned();
        let file = folder.join(MANIFEST_FILE);
        let text = fs::read_to_string(&file).map_err(|source| read_error(&file, source))?;
        let manifest = Manifest::parse(&file, &text)?;
        let source_hash = source_files(&folder).and_then(|files| hash_files(&folder, &files))?;
        Ok(Server {
            id,
            folder,
            manifest,
            source_hash,
        })
    }

    /// The variant of this name, whose id is `ID@NAME`.
    ///
    /// # Errors
    /// If the manifest has no such variant, with the nearest one.
    pub fn variant(&self, name: &str) -> Result<Server, ServerError> {
        let Some(manifest) = self.manifest.variant(name) else {
            let known = self.manifest.variants.iter();
            let known = known.map(|variant| variant.name.as_str());
            return Err(ServerError::NoVariant {
                id: self.id.clone(),
                unknown: UnknownName::new("variant", name, known),
            });
        };
        Ok(Server {
            id: format!("{}@{name}", self.id),
            manifest,
            ..self.clone()
        })
    }

    /// All its variants.
    pub fn variants(&self) -> impl Iterator<Item = Server> {
        let names = self.manifest.variants.iter();
        names.filter_map(|variant| self.variant(&variant.name).ok())
    }

    /// The same under another name, so that one folder can be measured twice.
    ///
    /// # Errors
    /// If the name is none that a server can have.
    pub fn named(self, name: &str) -> Result<Server, ServerError> {
        if !is_id(name) {
            return Err(ServerError::BadName(name.to_owned()));
        }
        let id = name.to_owned();
        Ok(Server { id, ..self })
    }

    /// The first 8 digits of the source hash.
    pub fn short_hash(&self) -> &str {
        &self.source_hash[..8]
    }
}

impl From<Unreadable> for ServerError {
    fn from(Unreadable { path, source }: Unreadable) -> Self {
        Self::Read { path, source }
    }
}

/// Whether it can be the name of a folder of a server, or of a variant.
pub(crate) fn is_id(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && name.chars().all(is_letter)
}

fn read_error(path: &Path, source: io::Error) -> ServerError {
    ServerError::Read {
        path: path.to_owned(),
        source,
    }
}
