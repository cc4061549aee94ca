//! What a build reads outside of its folder, each with the hash of its content: what its manifest names, and the
//! packages beside it that its package manager takes from there.

mod packages;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::{BuildError, BuildPlaces, io_error};
use crate::Server;
use crate::manifest::{Input, Pattern};
use crate::sources::{Unreadable, hash_file, hash_files, source_files};

/// The hash of every input, by its path or pattern.
pub fn inputs(
    server: &Server,
    places: &BuildPlaces,
) -> Result<BTreeMap<PathBuf, String>, BuildError> {
    let named = server.manifest.inputs.iter();
    let mut inputs: BTreeMap<PathBuf, String> = named
        .map(|input| hash_input(input, server, places))
        .collect::<Result<_, _>>()?;
    for package in packages::beside(&server.folder).map_err(unreadable)? {
        let hash = hash_path(&package)?;
        inputs.insert(package, hash);
    }
    Ok(inputs)
}

fn hash_input(
    input: &Input,
    server: &Server,
    places: &BuildPlaces,
) -> Result<(PathBuf, String), BuildError> {
    let path = server.folder.join(places.text(&input.path));
    if !path.exists() {
        return Err(BuildError::NoInput { input: path });
    }
    match &input.pattern {
        None => {
            let hash = hash_path(&path)?;
            Ok((path, hash))
        }
        Some(pattern) => {
            let hash = hash_matches(&path, pattern)?;
            Ok((path.join(pattern.as_str()), hash))
        }
    }
}

/// Of a file, or of all source files of a folder.
fn hash_path(path: &Path) -> Result<String, BuildError> {
    if !path.is_dir() {
        return hash_file(path).map_err(unreadable);
    }
    let files = source_files(path).map_err(unreadable)?;
    hash_files(path, &files).map_err(unreadable)
}

fn hash_matches(folder: &Path, pattern: &Pattern) -> Result<String, BuildError> {
    let matcher = pattern.matcher();
    let mut files = source_files(folder).map_err(unreadable)?;
    files.retain(|file| matcher.is_match(file.strip_prefix(folder).unwrap_or(file)));
    if files.is_empty() {
        return Err(BuildError::NoInput {
            input: folder.join(pattern.as_str()),
        });
    }
    hash_files(folder, &files).map_err(unreadable)
}

fn unreadable(Unreadable { path, source }: Unreadable) -> BuildError {
    match source.kind() {
        io::ErrorKind::NotFound => BuildError::NoInput { input: path },
        _ => io_error(&path, source),
    }
}
