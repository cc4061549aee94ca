//! What evaluation needs from outside: the time, random numbers and files.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use prony_hurl::evaluate::{Environment, FileError};

use crate::file::read_file;

/// The longest file that a request sends or a response is compared with.
const LONGEST_FILE: u64 = 64 * 1024 * 1024;

/// The environment of one user.
#[derive(Debug)]
pub(crate) struct UserEnvironment {
    pub(crate) random: fastrand::Rng,
    /// Not from the seed, which several loads of a server may share: a UUID must not come twice.
    unique: fastrand::Rng,
    folder: Option<PathBuf>,
    /// What was read, so that a load does not read a file twice.
    files: HashMap<String, Result<Vec<u8>, FileError>>,
}

impl UserEnvironment {
    /// With files of `folder`; without one, no file may be named.
    pub(crate) fn new(folder: Option<&Path>, seed: u64) -> Self {
        Self {
            random: fastrand::Rng::with_seed(seed),
            unique: fastrand::Rng::new(),
            folder: folder.map(Path::to_path_buf),
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
        let read = read(self.folder.as_deref(), name);
        self.files.insert(name.to_owned(), read.clone());
        read
    }
}

fn read(folder: Option<&Path>, name: &str) -> Result<Vec<u8>, FileError> {
    let folder = folder.ok_or(FileError::Forbidden)?;
    let is_inside = |component| matches!(component, Component::Normal(_) | Component::CurDir);
    if !Path::new(name).components().all(is_inside) {
        return Err(FileError::Forbidden);
    }
    let unreadable = |reason: String| FileError::Unreadable(reason);
    let path = folder.join(name);
    read_file(&path, LONGEST_FILE).map_err(|error| unreadable(error.to_string()))
}
