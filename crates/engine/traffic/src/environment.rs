//! What evaluation needs from outside: the time, random numbers and files.

use std::collections::{BTreeMap, HashMap};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use prony_hurl::evaluate::{Environment, FileError};
use serde::{Deserialize, Serialize};

use crate::base64::Base64;
use crate::file::read_file;

/// The longest file that a request sends or a response is compared with.
const LONGEST_FILE: u64 = 64 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct UserEnvironment {
    pub(crate) random: fastrand::Rng,
    /// Not from the seed, which several loads of a server may share: a UUID must not come twice.
    unique: fastrand::Rng,
    named: Option<NamedFiles>,
    /// What was read, so that a load does not read a file twice.
    files: HashMap<String, Result<Vec<u8>, FileError>>,
}

impl UserEnvironment {
    /// With these files; without them, no file may be named.
    pub(crate) fn new(named: Option<&NamedFiles>, seed: u64) -> Self {
        Self {
            random: fastrand::Rng::with_seed(seed),
            unique: fastrand::Rng::new(),
            named: named.cloned(),
            files: HashMap::new(),
        }
    }
}

impl Environment for UserEnvironment {
    fn now(&mut self) -> SystemTime {
        SystemTime::now()
    }

    fn random(&mut self) -> u128 {
        self.unique.u128(..)
    }

    fn file(&mut self, name: &str) -> Result<Vec<u8>, FileError> {
        if let Some(known) = self.files.get(name) {
            return known.clone();
        }
        let read = match &self.named {
            Some(named) => named.read(name),
            None => Err(FileError::Forbidden),
        };
        self.files.insert(name.to_owned(), read.clone());
        read
    }
}

/// The files that a Hurl file may name.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NamedFiles {
    /// Those of this folder, and of those in it, which other hosts do not have.
    #[serde(skip)]
    In(PathBuf),
    /// Those that another host read there, by the names that the file has.
    Sent(Arc<BTreeMap<String, Base64>>),
}

impl NamedFiles {
    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>, FileError> {
        let is_inside = |component| matches!(component, Component::Normal(_) | Component::CurDir);
        if !Path::new(name).components().all(is_inside) {
            return Err(FileError::Forbidden);
        }
        match self {
            Self::In(folder) => read_file(&folder.join(name), LONGEST_FILE)
                .map_err(|error| FileError::Unreadable(error.to_string())),
            Self::Sent(files) => match files.get(name) {
                Some(content) => Ok(content.0.clone()),
                None => Err(FileError::Unreadable("it was not sent to this host".into())),
            },
        }
    }
}
