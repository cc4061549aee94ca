//! The files that a workload names.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use prony_load::LONGEST_BODY;

/// Why a file that a workload names is unusable.
#[derive(Debug, thiserror::Error)]
pub enum AssetError {
    /// A file that the workload names cannot be read.
    #[error("cannot read {}, which workload `{workload}` needs: {source}", path.display())]
    Read {
        /// The workload's id.
        workload: String,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file of lines is empty.
    #[error("{} has no line that workload `{workload}` could ask for", path.display())]
    NoLines {
        /// The workload's id.
        workload: String,
        /// The file.
        path: PathBuf,
    },
    /// A file to send is empty.
    #[error("{} is empty, and workload `{workload}` sends it; name another file, or leave the body out", path.display())]
    Empty {
        /// The workload's id.
        workload: String,
        /// The file.
        path: PathBuf,
    },
    /// A file is no JSON Schema.
    #[error("{} is not a JSON Schema, and workload `{workload}` needs one: {reason}", path.display())]
    Schema {
        /// The workload's id.
        workload: String,
        /// The file, or the field with the schema.
        path: PathBuf,
        /// Why.
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
            Err(source) => Err(AssetError::Read {
                workload: workload.to_owned(),
                path,
                source,
            }),
        }
    }

    fn find(&self, name: &str) -> PathBuf {
        let (own, asset) = (self.own.join(name), self.assets.join(name));
        match !own.exists() && asset.exists() {
            true => asset,
            false => own,
        }
    }

    /// Reads a text of at most `longest` bytes, and says where it is.
    pub(crate) fn text(
        &self,
        workload: &str,
        name: &str,
        longest: u64,
    ) -> Result<(PathBuf, String), AssetError> {
        let Asset { path, content } = self.file(workload, name)?;
        let text = match content.len() as u64 > longest {
            true => Err(io::Error::other(format!(
                "it is longer than {longest} bytes"
            ))),
            false => {
                String::from_utf8(content).map_err(|_| io::Error::other("it is not text in UTF-8"))
            }
        };
        match text {
            Ok(text) => Ok((path, text)),
            Err(source) => Err(AssetError::Read {
                workload: workload.to_owned(),
                path,
                source,
            }),
        }
    }
}

fn read(workload: &str, path: PathBuf) -> Result<Asset, AssetError> {
    match content(&path) {
        Ok(content) => Ok(Asset { path, content }),
        Err(source) => Err(AssetError::Read {
            workload: workload.to_owned(),
            path,
            source,
        }),
    }
}

/// Reading a device or a pipe may never end.
fn must_be_file(path: &Path) -> io::Result<()> {
    match path.metadata()?.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("it is not a file")),
    }
}

fn content(path: &Path) -> io::Result<Vec<u8>> {
    must_be_file(path)?;
    let mut content = Vec::new();
    let mut file = File::open(path)?.take(LONGEST_BODY + 1);
    file.read_to_end(&mut content)?;
    match content.len() as u64 > LONGEST_BODY {
        true => Err(io::Error::other(format!(
            "it is longer than {LONGEST_BODY} bytes"
        ))),
        false => Ok(content),
    }
}
