//! The drivers of a project.

use std::io;
use std::path::{Path, PathBuf};

use prony_manifest::{FileError, UnknownName};

use crate::manifest::{MANIFEST_FILE, Manifest};

/// The drivers in a folder, by id.
#[derive(Clone, Debug)]
pub struct Catalogue {
    drivers: Vec<(String, Manifest)>,
}

/// Why there is no catalogue, or no driver in it.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// The folder cannot be read.
    #[error("cannot read the drivers in {folder}: {source}")]
    Read {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A manifest makes no sense.
    #[error(transparent)]
    Manifest(#[from] FileError),
    /// There is no such driver.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
}

impl Catalogue {
    /// Reads every driver in `folder`: the folders in it that hold a manifest.
    ///
    /// # Errors
    /// Where the folder cannot be read, or a manifest makes no sense.
    pub fn read(folder: &Path) -> Result<Catalogue, CatalogueError> {
        let failed = |source| CatalogueError::Read {
            folder: folder.to_owned(),
            source,
        };
        let mut drivers = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.path().join(MANIFEST_FILE).is_file() {
                let id = entry.file_name().to_string_lossy().into_owned();
                drivers.push((id, Manifest::open(&entry.path())?));
            }
        }
        drivers.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(Catalogue { drivers })
    }

    /// The ids, sorted.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.drivers.iter().map(|(id, _)| id.as_str())
    }

    /// The driver of that id.
    ///
    /// # Errors
    /// Where there is none.
    pub fn get(&self, id: &str) -> Result<&Manifest, CatalogueError> {
        match self.drivers.iter().find(|(known, _)| known == id) {
            Some((_, manifest)) => Ok(manifest),
            None => Err(UnknownName::new("driver", id, self.ids()).into()),
        }
    }
}
