//! The files that a workload names.

use std::io;
use std::path::PathBuf;

use prony_traffic::{LONGEST_BODY, must_be_file, read_file, read_hurl_file};

/// Why a file that a workload names is unusable.
#[derive(Debug, thiserror::Error)]
pub enum AssetError {
    #[error("cannot read {}, which workload `{workload}` needs: {source}", path.display())]
    Read {
        workload: String,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{} has no line that workload `{workload}` could ask for", path.display())]
    NoLines { workload: String, path: PathBuf },
    #[error("{} is empty, and workload `{workload}` sends it; name another file, or leave the body out", path.display())]
    Empty { workload: String, path: PathBuf },
    #[error("{} is not a JSON Schema, and workload `{workload}` needs one: {reason}", path.display())]
    Schema {
        workload: String,
        /// The file, or the field with the schema.
        path: PathBuf,
        reason: String,
    },
}

/// Where the files that workloads name are: beside the file that names them, or else in a folder of assets.
#[derive(Clone, Debug)]
pub struct Files {
    own: PathBuf,
    assets: PathBuf,
}

/// A file that was read.
pub(crate) struct Asset {
    pub(crate) path: PathBuf,
    pub(crate) content: Vec<u8>,
}

impl Files {
    /// `own` is the folder of the file that names them.
    pub fn new(own: impl Into<PathBuf>, assets: impl Into<PathBuf>) -> Self {
        Self {
            own: own.into(),
            assets: assets.into(),
        }
    }

    /// Reads a file of the assets.
    pub(crate) fn asset(&self, workload: &str, name: &str) -> Result<Asset, AssetError> {
        read(workload, self.assets.join(name))
    }

    /// Reads a file beside the one that names it, or else of the assets.
    pub(crate) fn file(&self, workload: &str, name: &str) -> Result<Asset, AssetError> {
        read(workload, self.find(name))
    }

    /// Where a file is that is read piece by piece.
    pub(crate) fn path(&self, workload: &str, name: &str) -> Result<PathBuf, AssetError> {
        let path = self.find(name);
        match must_be_file(&path) {
            Ok(()) => Ok(path),
            Err(source) => Err(unreadable(workload, path, source)),
        }
    }

    fn find(&self, name: &str) -> PathBuf {
        let (own, asset) = (self.own.join(name), self.assets.join(name));
        if !own.exists() && asset.exists() {
            asset
        } else {
            own
        }
    }

    /// Reads a Hurl file, and says where it is.
    pub(crate) fn hurl(&self, workload: &str, name: &str) -> Result<(PathBuf, String), AssetError> {
        let path = self.find(name);
        match read_hurl_file(&path) {
            Ok(text) => Ok((path, text)),
            Err(source) => Err(unreadable(workload, path, source)),
        }
    }
}

fn read(workload: &str, path: PathBuf) -> Result<Asset, AssetError> {
    match read_file(&path, LONGEST_BODY) {
        Ok(content) => Ok(Asset { path, content }),
        Err(source) => Err(unreadable(workload, path, source)),
    }
}

fn unreadable(workload: &str, path: PathBuf, source: io::Error) -> AssetError {
    AssetError::Read {
        workload: workload.to_owned(),
        path,
        source,
    }
}
