//! The files that the command line names for results. Prony tries each before it measures anything, and replaces it
//! only with a complete result: an interrupted command leaves the earlier file as it was.

use std::error::Error;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tempfile::{Builder, NamedTempFile};

use crate::exit::usage;
use crate::output::{self, Stdout};

/// The mode of a new file, before the user's mask.
const NEW_FILE: u32 = 0o666;

/// Where a result goes: a file, or standard output for `-`.
#[derive(Debug)]
pub(crate) struct ResultFile {
    name: PathBuf,
    place: ResultPlace,
}

#[derive(Debug)]
enum ResultPlace {
    Stdout,
    /// The result is written beside it and renamed, so that the file is always complete.
    Replaced(PathBuf),
    /// A pipe or a device, or a file in a folder in which no other file can be created.
    Opened(File),
}

/// Tries the files that some flags name; a flag may be missing. No two may be the same.
pub(crate) fn open<const N: usize>(
    named: [(&str, Option<&Path>); N],
) -> Result<[Option<ResultFile>; N], Box<dyn Error>> {
    let mut files = [const { None }; N];
    for (index, (flag, path)) in named.iter().enumerate() {
        let Some(path) = path else { continue };
        let file = ResultFile::open(path)?;
        let before = files.iter().zip(&named);
        let mut same = before.filter(|(other, _)| file.is_same(other.as_ref()));
        if let Some((_, (other, _))) = same.next() {
            return Err(usage(format!(
                "{other} and {flag} name the same place, `{}`: give each its own",
                path.display()
            )));
        }
        files[index] = Some(file);
    }
    Ok(files)
}

/// Whether one of the files is standard output, so that nothing else may be written there.
pub(crate) fn takes_stdout(files: &[Option<ResultFile>]) -> bool {
    files.iter().flatten().any(ResultFile::is_stdout)
}

/// Shows a text for people: on standard output, or on standard error if a result is written to standard output.
pub(crate) fn show(text: &str, files: &[Option<ResultFile>]) {
    if takes_stdout(files) {
        err!("{text}");
    } else {
        out!("{text}");
    }
}

/// Writes a text to a file.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Box<dyn Error>> {
    ResultFile::open(path)?.write(text)
}

/// Creates a folder with those above it, unless it is there.
pub(crate) fn create_folder(path: &Path) -> Result<(), String> {
    let cannot = |error| format!("cannot create {}: {error}", path.display());
    fs::create_dir_all(path).map_err(cannot)
}

impl ResultFile {
    /// Tries a file without changing it; `-` is standard output.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let place = if path.as_os_str() == "-" {
            Ok(ResultPlace::Stdout)
        } else {
            ResultPlace::of(path)
        };
        Ok(Self {
            place: place.map_err(|why| format!("cannot write `{}`: {why}", path.display()))?,
            name: path.to_owned(),
        })
    }

    fn is_stdout(&self) -> bool {
        matches!(self.place, ResultPlace::Stdout)
    }

    fn is_same(&self, other: Option<&Self>) -> bool {
        match (&self.place, other.map(|other| &other.place)) {
            (ResultPlace::Stdout, Some(ResultPlace::Stdout)) => true,
            (ResultPlace::Replaced(one), Some(ResultPlace::Replaced(other))) => one == other,
            _ => false,
        }
    }

    pub(crate) fn write(self, text: &str) -> Result<(), Box<dyn Error>> {
        self.write_with(|out| out.write_all(text.as_bytes()))
    }

    pub(crate) fn write_json(self, value: &impl Serialize) -> Result<(), Box<dyn Error>> {
        self.write_with(|out| {
            serde_json::to_writer_pretty(&mut *out, value)?;
            writeln!(out)
        })
    }

    /// Writes the result. A reader that goes away is not an error.
    pub(crate) fn write_with(
        self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Box<dyn Error>> {
        let written = match self.place {
            ResultPlace::Stdout => {
                output::note(buffered(Stdout, write));
                return Ok(output::check()?);
            }
            ResultPlace::Replaced(path) => replace(&path, write),
            ResultPlace::Opened(file) => rewrite(file, write),
        };
        let cannot = |error| format!("cannot write `{}`: {error}", self.name.display()).into();
        output::unless_unwanted(written).map_err(cannot)
    }
}

impl ResultPlace {
    fn of(path: &Path) -> Result<Self, String> {
        let why = |error: io::Error| error.to_string();
        let found = match fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Self::new_file(path),
            found => found.map_err(why)?,
        };
        if found.is_dir() {
            return Err("it is a folder".into());
        }
        // Opened without changing it; the result does that.
        let file = OpenOptions::new().write(true).open(path).map_err(why)?;
        if !found.is_file() {
            return Ok(Self::Opened(file));
        }
        // A link stays a link: its target is replaced.
        let target = path.canonicalize().map_err(why)?;
        Ok(match beside(&target, Some(&found)) {
            Ok(_) => Self::Replaced(target),
            Err(_) => Self::Opened(file),
        })
    }

    fn new_file(path: &Path) -> Result<Self, String> {
        let folder = folder_of(path);
        let (Ok(whole), Some(name)) = (folder.canonicalize(), path.file_name()) else {
            return Err(no_folder(folder));
        };
        let target = whole.join(name);
        beside(&target, None).map_err(|error| error.to_string())?;
        Ok(Self::Replaced(target))
    }
}

/// A folder for several files, created if it is missing. Its parent must exist, so that a misspelt path is an error.
pub(crate) fn folder(path: &Path) -> Result<PathBuf, String> {
    let cannot = |why: String| format!("cannot write to `{}`: {why}", path.display());
    let parent = folder_of(path);
    if !parent.is_dir() {
        return Err(cannot(no_folder(parent)));
    }
    match fs::create_dir(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && !path.is_dir() => {
            Err(cannot("it is not a folder".into()))
        }
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(cannot(error.to_string())),
        _ => Ok(path.to_owned()),
    }
}

fn no_folder(folder: &Path) -> String {
    let folder = folder.display();
    format!("there is no folder `{folder}`; create it, or name another place")
}

/// The folder that a path names a file in.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A new file beside `target`, which is deleted unless it is renamed.
fn beside(target: &Path, replaced: Option<&Metadata>) -> io::Result<NamedTempFile> {
    let mode = replaced.map_or(NEW_FILE, |found| found.permissions().mode());
    Builder::new()
        .prefix(".prony-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder_of(target))
        // The error's own text names the temporary file.
        .map_err(|error| error.kind().into())
}

fn replace(target: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let found = fs::metadata(target).ok();
    let file = beside(target, found.as_ref())?;
    if let Some(found) = found {
        // The mask does not apply to an existing file.
        file.as_file().set_permissions(found.permissions())?;
    }
    buffered(file.as_file(), write)?;
    file.persist(target).map(drop).map_err(|error| error.error)
}

fn rewrite(file: File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    buffered(file, write)
}

fn buffered(
    to: impl Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::new(to);
    write(&mut out)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_replaces_an_earlier_one_only_when_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result");
        fs::write(&path, "earlier").unwrap();
        let failed = ResultFile::open(&path).unwrap().write_with(|out| {
            out.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        assert!(failed.unwrap_err().to_string().ends_with("no more"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "earlier");
        ResultFile::open(&path).unwrap().write("new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn trying_a_new_file_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result");
        drop(ResultFile::open(&path).unwrap());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        let none = folder.path().join("none/result");
        let message = ResultFile::open(&none).unwrap_err();
        assert!(message.contains("there is no folder"), "{message}");
    }

    #[test]
    fn two_flags_need_two_files() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        assert!(open([("--a", Some(a.as_path())), ("--b", None)]).is_ok());
        assert!(open([("--a", Some(a.as_path())), ("--b", Some(&b))]).is_ok());
        let message = open([("--a", Some(a.as_path())), ("--b", Some(&a))]).unwrap_err();
        prony_testkit::starts_with(&message.to_string(), "--a and --b name the same place");
    }
}
