//! What valgrind writes about a program that it cannot run.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The files with valgrind's own messages, one for each process: `PATH.PID.valgrind`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Messages {
    folder: PathBuf,
    name: String,
}

impl Messages {
    /// Files in `folder` whose names begin with `name`.
    pub fn new(folder: &Path, name: &str) -> Self {
        Self {
            folder: std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()),
            name: name.to_owned(),
        }
    }

    pub(crate) fn option(&self) -> String {
        // Valgrind replaces `%p` by the process id, and `%%` by a percent sign.
        let path = self.folder.join(&self.name);
        let path = path.display().to_string().replace('%', "%%");
        format!("--log-file={path}.%p.valgrind")
    }

    /// The line in which valgrind says that it cannot run the program; `None` if there is none in any file.
    pub fn complaint(&self) -> Option<String> {
        self.files().into_iter().find_map(|file| {
            let text = fs::read(file).ok()?;
            complaint_in(&String::from_utf8_lossy(&text))
        })
    }

    pub fn discard(&self) {
        for file in self.files() {
            // They are in a folder of logs and do not disturb there.
            let _ = fs::remove_file(file);
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let is_one = |path: &PathBuf| {
            let name = path.file_name().and_then(OsStr::to_str);
            name.is_some_and(|name| {
                name.starts_with(&format!("{}.", self.name)) && name.ends_with(".valgrind")
            })
        };
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_one).collect();
        files.sort();
        files
    }
}

/// What valgrind writes if it cannot go on, and how much of what follows is shown.
const COMPLAINTS: [&str; 6] = [
    "unrecognised instruction",
    "Unrecognised instruction",
    "unhandled instruction",
    "Process terminating with default action of signal",
    "the 'impossible' happened",
    "valgrind: ",
];

/// The line in which valgrind says what it could not do, without the process id before it.
fn complaint_in(messages: &str) -> Option<String> {
    let lines = messages.lines().map(|line| match line.split_once("== ") {
        Some((before, rest)) if before.starts_with("==") => rest.trim(),
        _ => line.trim(),
    });
    let complaints = COMPLAINTS.iter();
    let mut complaints =
        complaints.filter_map(|complaint| lines.clone().find(|line| line.contains(complaint)));
    complaints.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use prony_testkit::table::rows;

    use super::*;

    #[test]
    fn valgrinds_complaint_is_found() {
        let messages = "==12== Callgrind, a call-graph generating cache profiler\n\
                        ==12== Process terminating with default action of signal 4 (SIGILL): dumping core\n\
                        vex amd64->IR: unhandled instruction bytes: 0x62 0xF1 0x7C\n\
                        ==12== valgrind: Unrecognised instruction at address 0x4a3f.\n";
        let complaint = "valgrind: Unrecognised instruction at address 0x4a3f.";
        assert_eq!(complaint_in(messages).as_deref(), Some(complaint));
        let complaint = "Process terminating with default action of signal 11 (SIGSEGV)";
        let found = complaint_in(&format!("==1== {complaint}\n"));
        assert_eq!(found.as_deref(), Some(complaint));
        assert_eq!(complaint_in("==12== Events    : Ir\n"), None);
    }

    #[test]
    fn only_its_own_files_are_read_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        for [name, text] in rows(
            r"
            one.12.valgrind | ==12== fine\n
            one.13.valgrind | ==13== valgrind: Unrecognised instruction at address 0x1.\n
            other.14.valgrind | ==14== Process terminating with default action of signal 4 (SIGILL)\n
            one.log | Unrecognised instruction
        ",
        ) {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let messages = Messages::new(folder.path(), "one");
        assert!(messages.complaint().unwrap().contains("0x1"));
        messages.discard();
        assert_eq!(messages.complaint(), None);
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 2);
    }

    #[test]
    fn a_percent_sign_in_a_path_is_kept() {
        let messages = Messages::new(Path::new("/a%p"), "one");
        assert_eq!(messages.option(), "--log-file=/a%%p/one.%p.valgrind");
    }
}
