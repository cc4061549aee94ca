//! A folder that may have a program.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

const MOST_BYTES: u64 = 1 << 20;

/// How many folders above may be the root of a workspace.
const MOST_UP: usize = 16;

/// Folders whose programs are not the project's servers.
const OTHER_FOLDERS: [&str; 12] = [
    "build",
    "dist",
    "examples",
    "fixtures",
    "migrations",
    "node_modules",
    "out",
    "target",
    "test",
    "tests",
    "vendor",
    "venv",
];

/// A program that may be a server, and how to build and run it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) id: String,
    /// What it was found by: `apps/api/package.json`.
    pub(crate) found_by: String,
    pub(crate) language: &'static str,
    /// The folder of its sources, relative to the project; empty for the project's own.
    pub(crate) folder: String,
    /// What its build needs, as values of TOML.
    pub(crate) needs: Vec<&'static str>,
    pub(crate) inputs: Vec<String>,
    pub(crate) build: Vec<String>,
    pub(crate) run: String,
    /// Variables beside `HOST` and `PORT`.
    pub(crate) env: Vec<(&'static str, &'static str)>,
}

pub(super) struct SourceFile {
    /// Its path, relative to the folder of the program.
    pub(super) path: String,
    pub(super) text: String,
}

pub(super) struct ProgramFolder<'a> {
    pub(super) folder: &'a Path,
    /// Whether it is a folder below the project's own, which also has libraries.
    pub(super) is_below: bool,
}

impl ProgramFolder<'_> {
    pub(super) fn text(&self, file: &str) -> Option<String> {
        text(&self.folder.join(file))
    }

    pub(super) fn has(&self, file: &str) -> bool {
        self.folder.join(file).is_file()
    }

    /// A program of this folder, named after it, that this file describes.
    pub(super) fn candidate(&self, found_by: &str, language: &'static str) -> Candidate {
        Candidate {
            id: id_of_folder(self.folder),
            found_by: found_by.to_owned(),
            language,
            ..Candidate::default()
        }
    }

    /// The nearest folder from here upwards that `is_it`, and the path to it: `../..`.
    pub(super) fn upwards(&self, is_it: impl Fn(&Path) -> bool) -> Option<(&Path, PathBuf)> {
        let above = self.folder.ancestors().take(MOST_UP).enumerate();
        let mut found = above.filter(|(_, folder)| is_it(folder));
        let (ups, folder) = found.next()?;
        Some((folder, std::iter::repeat_n("..", ups).collect()))
    }
}

/// The files in a folder and in the folders up to `levels` below that are its own.
pub(crate) fn sources(
    folder: &Path,
    levels: usize,
    is_own: fn(&Path) -> bool,
) -> Box<dyn Iterator<Item = PathBuf>> {
    let Entries { mut folders, files } = entries_in(folder);
    folders.retain(|folder| levels > 0 && is_own(folder));
    let below = folders.into_iter();
    let below = below.flat_map(move |folder| sources(&folder, levels - 1, is_own));
    Box::new(files.into_iter().chain(below))
}

pub(super) struct Entries {
    /// Those that may be of the project, without links.
    pub(super) folders: Vec<PathBuf>,
    pub(super) files: Vec<PathBuf>,
}

pub(super) fn entries_in(folder: &Path) -> Entries {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let (mut folders, files): (Vec<PathBuf>, Vec<PathBuf>) =
        paths.into_iter().partition(|path| path.is_dir());
    folders.retain(|folder| !folder.is_symlink() && !is_other(&name_of(folder)));
    Entries { folders, files }
}

pub(crate) fn name_of(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}

/// Whether a file or folder of this name is none of a server's sources.
pub(crate) fn is_other(name: &str) -> bool {
    name.starts_with(['.', '_']) || OTHER_FOLDERS.contains(&name)
}

/// A name as an id: lower-case letters, digits and hyphens.
pub(super) fn id_of(name: &str) -> String {
    let letters = name.chars().map(|c| match c.to_ascii_lowercase() {
        c if c.is_ascii_lowercase() || c.is_ascii_digit() => c,
        _ => '-',
    });
    let id: String = letters.collect();
    match id.trim_matches('-') {
        "" => "server".to_owned(),
        id => id.to_owned(),
    }
}

pub(crate) fn id_of_folder(folder: &Path) -> String {
    id_of(&name_of(folder))
}

pub(crate) fn text(file: &Path) -> Option<String> {
    let is_small = fs::metadata(file).is_ok_and(|data| data.is_file() && data.len() <= MOST_BYTES);
    let text = is_small.then(|| fs::read_to_string(file).ok()).flatten()?;
    Some(text.trim_start_matches('\u{feff}').to_owned())
}
