//! Git, as far as two revisions of a server need it.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Variables by which a hook tells Git where it is: another repository's folder is meant here.
const OF_A_HOOK: [&str; 4] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"];

/// A repository, and a folder in it.
pub struct Repository {
    /// Its working tree.
    top: PathBuf,
    /// The folder, from there.
    pub inside: PathBuf,
}

/// A commit.
pub struct Commit {
    /// Its hash.
    pub hash: String,
    /// As much of it as tells it from others.
    pub short: String,
}

impl Repository {
    /// The repository that a folder is in.
    pub fn of(folder: &Path) -> Result<Self, String> {
        let ask = |what| line(&git(folder, ["rev-parse", what])?);
        let top = ask("--show-toplevel").map_err(|error| {
            format!(
                "{} is not in a git repository, so it has no revisions: {error}",
                folder.display()
            )
        })?;
        Ok(Self {
            top: top.into(),
            inside: ask("--show-prefix")?.into(),
        })
    }

    /// The commit that a revision names: a branch, a tag, `HEAD~1`.
    pub fn commit(&self, revision: &str) -> Result<Commit, String> {
        let ask = |more: &str, revision: &str| {
            let named = ["rev-parse", "--verify", "--quiet", more, "--end-of-options"];
            let words = named.into_iter().filter(|word| !word.is_empty());
            let output = git(&self.top, words.chain([revision]))?;
            // Some versions repeat the marker.
            line(&output).map(|text| text.replace("--end-of-options", "").trim().to_owned())
        };
        let hash = ask("", &format!("{revision}^{{commit}}")).map_err(|_| {
            format!(
                "there is no commit `{revision}` in {}; `git log --oneline` shows which there are \
                 (a shallow clone has few: `git fetch --unshallow`)",
                self.top.display()
            )
        })?;
        Ok(Commit {
            short: ask("--short", &hash)?,
            hash,
        })
    }

    /// Puts the files of a commit into a folder of their own.
    pub fn check_out(&self, commit: &Commit, folder: &Path) -> Result<(), String> {
        // Forced, as an earlier one may be registered there still.
        let words = ["worktree", "add", "--detach", "--force"].map(OsStr::new);
        let words = words
            .into_iter()
            .chain([folder.as_os_str(), OsStr::new(&commit.hash)]);
        git(&self.top, words).map(|_| ()).map_err(|error| {
            format!(
                "cannot check out {} into {}: {error}",
                commit.short,
                folder.display()
            )
        })
    }

    /// Takes such a folder away again.
    pub fn remove(&self, folder: &Path) {
        remove(&self.top, folder);
    }

    /// Whether such a folder holds this commit, as it was checked out.
    pub fn holds(&self, commit: &Commit, folder: &Path) -> bool {
        let ask = |words: &[&str]| git(folder, words).ok();
        let say = |words: &[&str]| ask(words).and_then(|output| line(&output).ok());
        // In a folder that is no checkout of its own, Git would respond of the repository around it.
        let top = say(&["rev-parse", "--show-toplevel"]).map(PathBuf::from);
        if top.is_none() || top != folder.canonicalize().ok() {
            return false;
        }
        let head = say(&["rev-parse", "HEAD"]);
        let changes = ask(&["status", "--porcelain", "--untracked-files=no"]);
        head.is_some_and(|head| head == commit.hash)
            && changes.is_some_and(|changes| changes.stdout.is_empty())
    }
}

/// Takes a folder away that may be a checkout of any repository.
pub fn remove_leftover(folder: &Path) {
    let common = git(folder, ["rev-parse", "--git-common-dir"]).and_then(|output| line(&output));
    match common {
        Ok(common) => remove(&folder.join(common), folder),
        Err(_) => drop(fs::remove_dir_all(folder)),
    }
}

/// Takes a folder away, and then what the repository that `place` is in knows of it, which may be nothing.
fn remove(place: &Path, folder: &Path) {
    let _ = fs::remove_dir_all(folder);
    // Twice forced: even where it was locked.
    let words = ["worktree", "remove", "--force", "--force"].map(OsStr::new);
    let _ = git(place, words.into_iter().chain([folder.as_os_str()]));
}

/// Runs Git in a folder. It has a process group of its own, so that Ctrl-C does not end it half way.
fn git<S: AsRef<OsStr>>(
    folder: &Path,
    words: impl IntoIterator<Item = S>,
) -> Result<Output, String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder);
    // A hook of the repository has no business here.
    command.args(["-c", "core.hooksPath=/dev/null"]).args(words);
    command.env("GIT_TERMINAL_PROMPT", "0").process_group(0);
    OF_A_HOOK.iter().for_each(|name| {
        command.env_remove(name);
    });
    let output = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "Git is not installed (https://git-scm.com)".to_owned(),
        _ => format!("cannot run git: {error}"),
    })?;
    match output.status.success() {
        true => Ok(output),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

fn line(output: &Output) -> Result<String, String> {
    let text = String::from_utf8(output.stdout.clone())
        .map_err(|_| "git responded with a path that is not UTF-8".to_owned())?;
    Ok(text.trim_end_matches('\n').to_owned())
}
