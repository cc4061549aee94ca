//! The folder of a static site: it is marked as Prony's, pages replace their earlier versions whole, and files that Prony did not
//! write stay as they are.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use crate::error::SiteError;

/// Marks a folder as a site of Prony's, and lists its pages, so that a later `prony site` knows which files are its own.
const MARKER: &str = ".prony-site";
/// The first line of the marker.
const HEAD: &str = "A site written by `prony site`, which may replace and remove these files:";
/// The mode of a new file, before the user's mask.
const NEW_FILE: u32 = 0o666;

#[derive(Debug)]
pub struct SiteFolder {
    root: PathBuf,
    /// The pages that an earlier `prony site` wrote.
    before: BTreeSet<String>,
    pages: BTreeSet<String>,
    /// Whether the marker lists all pages that are written.
    changed: usize,
}

/// The pages of a site that was written.
#[derive(Debug, PartialEq)]
pub(crate) struct PageCounts {
    pub(crate) pages: usize,
    /// How many of them are new, or have changed.
    pub(crate) changed: usize,
    /// How many pages of an earlier site were removed.
    pub(crate) removed: usize,
}

impl SiteFolder {
    /// The folder at `path`, created if it is missing; its parent must exist. Nothing is written into it yet but the mark.
    ///
    /// # Errors
    /// If its parent is missing, it is no folder, or it holds files and is not a site of Prony's, unless `force`; or if it
    /// cannot be written.
    pub fn open(path: &Path, force: bool) -> Result<Self, SiteError> {
        let refuse = |why: String| SiteError::Folder {
            path: path.to_owned(),
            why,
        };
        match fs::create_dir(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(refuse(
                    "its parent folder does not exist; create it, or name another place".into(),
                ));
            }
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(refuse(error.to_string()));
            }
            _ => {}
        }
        if !path.is_dir() {
            return Err(refuse("it is not a folder".into()));
        }
        let before = match fs::read_to_string(path.join(MARKER)) {
            Ok(text) => listed(&text),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let mut files = fs::read_dir(path).map_err(|error| refuse(error.to_string()))?;
                if files.next().is_some() && !force {
                    return Err(refuse(
                        "it holds files that `prony site` did not write; name an empty folder, or use --force to write the pages beside them"
                            .into(),
                    ));
                }
                BTreeSet::new()
            }
            Err(error) => return Err(refuse(error.to_string())),
        };
        let folder = Self {
            root: path.to_owned(),
            pages: BTreeSet::new(),
            changed: 0,
            before,
        };
        // An interrupted first build must not lock its successor out.
        folder.mark(&folder.before)?;
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Writes a page, unless it is there with the same content.
    ///
    /// # Errors
    /// If it cannot be written; the earlier one is then unchanged.
    pub(crate) fn write(&mut self, path: &str, content: &str) -> Result<(), SiteError> {
        self.pages.insert(path.to_owned());
        let target = self.root.join(path);
        if fs::read(&target).is_ok_and(|found| found == content.as_bytes()) {
            return Ok(());
        }
        self.changed += 1;
        self.replace(&target, content)
    }

    /// Removes the pages of an earlier site that this one does not have, and lists those that it has.
    ///
    /// # Errors
    /// If the list cannot be written, or a page not be removed.
    pub(crate) fn finish(self) -> Result<PageCounts, SiteError> {
        let stale: Vec<&String> = self.before.difference(&self.pages).collect();
        let mut removed = 0;
        for page in stale {
            let path = self.root.join(page);
            match fs::remove_file(&path) {
                Ok(()) => removed += 1,
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(source) => return Err(SiteError::Write { path, source }),
            }
        }
        self.mark(&self.pages)?;
        Ok(PageCounts {
            pages: self.pages.len(),
            changed: self.changed,
            removed,
        })
    }

    fn mark(&self, pages: &BTreeSet<String>) -> Result<(), SiteError> {
        let lines: String = pages.iter().map(|page| format!("{page}\n")).collect();
        self.replace(&self.root.join(MARKER), &format!("{HEAD}\n{lines}"))
    }

    fn replace(&self, target: &Path, content: &str) -> Result<(), SiteError> {
        replace(target, content).map_err(|source| SiteError::Write {
            path: target.to_owned(),
            source,
        })
    }
}

/// Writes a file beside its place, and then moves it there.
fn replace(target: &Path, content: &str) -> io::Result<()> {
    let folder = target.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new()
        .prefix(".prony-")
        .permissions(Permissions::from_mode(NEW_FILE))
        .tempfile_in(folder)
        // The error's own text names the temporary file.
        .map_err(|error| io::Error::from(error.kind()))?;
    file.write_all(content.as_bytes())?;
    file.persist(target).map(drop).map_err(|error| error.error)
}

/// The pages that a marker lists; a line that leads out of the site is not one.
fn listed(marker: &str) -> BTreeSet<String> {
    let is_page = |line: &&str| {
        line.ends_with(".html")
            && Path::new(line)
                .components()
                .all(|part| matches!(part, Component::Normal(_)))
    };
    marker.lines().filter(is_page).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::contains;

    #[test]
    fn a_folder_with_other_files_is_refused_unless_forced_and_they_stay() {
        let place = tempfile::tempdir().unwrap();
        let own = place.path().join("thesis.txt");
        fs::write(&own, "years").unwrap();
        let refused = SiteFolder::open(place.path(), false).unwrap_err();
        contains(&refused.to_string(), "--force");
        let mut folder = SiteFolder::open(place.path(), true).unwrap();
        folder.write("runs/a.html", "a").unwrap();
        folder.finish().unwrap();
        // It is marked now.
        let mut folder = SiteFolder::open(place.path(), false).unwrap();
        folder.write("index.html", "b").unwrap();
        let replaced = PageCounts {
            pages: 1,
            changed: 1,
            removed: 1,
        };
        assert_eq!(folder.finish().unwrap(), replaced);
        assert!(!place.path().join("runs/a.html").exists());
        assert_eq!(fs::read_to_string(own).unwrap(), "years");
    }

    #[test]
    fn parents_are_not_created_and_files_are_not_folders() {
        let place = tempfile::tempdir().unwrap();
        let error = SiteFolder::open(&place.path().join("a/b"), false).unwrap_err();
        contains(&error.to_string(), "parent");
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        let error = SiteFolder::open(&file, true).unwrap_err();
        contains(&error.to_string(), "not a folder");
    }

    #[test]
    fn a_page_that_did_not_change_is_not_written_again() {
        let place = tempfile::tempdir().unwrap();
        for changed in [1, 0] {
            let mut folder = SiteFolder::open(place.path(), false).unwrap();
            folder.write("index.html", "same").unwrap();
            let unchanged = PageCounts {
                pages: 1,
                changed,
                removed: 0,
            };
            assert_eq!(folder.finish().unwrap(), unchanged);
        }
        let files = fs::read_dir(place.path()).unwrap().count();
        assert_eq!(files, 2, "the page and the marker");
    }

    #[test]
    fn a_marker_that_was_edited_removes_nothing_outside() {
        let lines = "../a.html\n/etc/b.html\nruns/c.html\nnotes.txt\nx/../../d.html\n";
        assert_eq!(listed(lines), BTreeSet::from(["runs/c.html".to_owned()]));
    }

    #[test]
    fn a_full_disk_is_named() {
        let full = SiteError::Write {
            path: "site/index.html".into(),
            source: io::Error::from(ErrorKind::StorageFull),
        };
        contains(&full.to_string(), "free some space");
    }
}
