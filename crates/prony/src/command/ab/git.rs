//! Git: the commits that two revisions name, and folders with their files.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::slice;

/// Variables by which a hook tells Git which repository it is in, which may be another one than ours.
const OF_A_HOOK: [&str; 4] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"];

/// A repository, and a folder in it.
pub(super) struct Repository {
    /// Its working tree.
    top: PathBuf,
    /// The folder, relative to it.
    pub(crate) inside: PathBuf,
}

pub(super) struct Commit {
    pub(crate) hash: String,
    /// A unique prefix of it.
    pub(crate) short: String,
}

impl Repository {
    /// The repository around a folder.
    pub(super) fn of(folder: &Path) -> Result<Self, String> {
        let ask = |what| line(&git(folder, ["rev-parse", what])?);
        let top = ask("--show-toplevel")
            .map_err(|error| format!("{} is not in a git repository: {error}", folder.display()))?;
        Ok(Self {
            top: top.into(),
            inside: ask("--show-prefix")?.into(),
        })
    }

    /// The commit that a revision names: a branch, a tag, `HEAD~1`.
    pub(super) fn commit(&self, revision: &str) -> Result<Commit, String> {
        let ask = |more: &str, revision: &str| {
            let named = ["rev-parse", "--verify", "--quiet", more, "--end-of-options"];
            let words = named.into_iter().filter(|word| !word.is_empty());
            let output = git(&self.top, words.chain([revision]))?;
            // Some versions repeat the marker.
            line(&output).map(|text| text.replace("--end-of-options", "").trim().to_owned())
        };
        let hash = ask("", &format!("{revision}^{{commit}}")).map_err(|_| {
            format!(
                "there is no commit `{revision}` in {}; `git log --oneline` lists the commits \
                 (in a shallow clone, run `git fetch --unshallow` first)",
                self.top.display()
            )
        })?;
        Ok(Commit {
            short: ask("--short", &hash)?,
            hash,
        })
    }

    /// Checks out a commit into a folder of its own.
    fn check_out(&self, commit: &Commit, folder: &Path) -> Result<(), String> {
        // Forced, because an earlier checkout may still be registered there.
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

    /// Whether such a folder holds this commit, unchanged.
    fn holds(&self, commit: &Commit, folder: &Path) -> bool {
        let ask = |words: &[&str]| git(folder, words).and_then(|output| line(&output)).ok();
        // In a folder that is not a checkout, Git would report on the repository around it.
        let top = ask(&["rev-parse", "--show-toplevel"]).map(PathBuf::from);
        if top.is_none() || top != folder.canonicalize().ok() {
            return false;
        }
        let head = ask(&["rev-parse", "HEAD"]);
        let changes = ask(&["status", "--porcelain", "--untracked-files=no"]);
        head.is_some_and(|head| head == commit.hash)
            && changes.is_some_and(|changes| changes.is_empty())
    }
}

/// The folder in which the revisions of a project's servers are checked out. Only one process at a time has it.
pub(super) struct Checkouts {
    folder: PathBuf,
    keep: bool,
    _alone: File,
}

/// The files of a commit, removed when this is dropped unless the user wants to keep them.
pub(super) struct Checkout<'a> {
    repository: &'a Repository,
    folder: PathBuf,
    keep: bool,
}

impl Checkouts {
    /// Opens the folder `ab` below `state`, and removes what killed processes left there.
    pub(super) fn open(state: &Path, keep: bool) -> Result<Self, String> {
        let folder = state.join("ab");
        let file = folder.join("lock");
        let cannot = |error| format!("cannot use {}: {error}", file.display());
        fs::create_dir_all(&folder).map_err(cannot)?;
        let alone = File::create(&file).map_err(cannot)?;
        match alone.try_lock() {
            Ok(()) => {
                clear_leftovers(&folder);
                Ok(Self {
                    folder,
                    keep,
                    _alone: alone,
                })
            }
            Err(TryLockError::Error(error)) => Err(cannot(error)),
            Err(TryLockError::WouldBlock) => Err(
                "another `prony ab` of this project is running; two at once would disturb each other"
                    .into(),
            ),
        }
    }

    /// The files of a commit, in the folder of this name. Files kept there earlier are used again if they are
    /// unchanged, and replaced if not.
    pub(super) fn check_out<'a>(
        &self,
        repository: &'a Repository,
        commit: &Commit,
        name: &str,
    ) -> Result<Checkout<'a>, String> {
        let folder = self.folder.join(name);
        let mark = mark(&folder);
        if self.keep {
            File::create(&mark)
                .map_err(|error| format!("cannot use {}: {error}", mark.display()))?;
        }
        let checkout = Checkout {
            folder,
            keep: mark.is_file(),
            repository,
        };
        if !repository.holds(commit, &checkout.folder) {
            checkout.clear();
            repository.check_out(commit, &checkout.folder)?;
        }
        check_out_submodules(
            slice::from_ref(&repository.top),
            &checkout.folder,
            &commit.short,
        )?;
        Ok(checkout)
    }
}

impl Checkout<'_> {
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn clear(&self) {
        remove(&self.repository.top, &self.folder);
    }
}

/// A submodule of a checkout.
struct Submodule {
    path: String,
    name: String,
    /// The commit that the checkout has of it.
    commit: String,
}

/// Checks the submodules of a checkout out, and theirs, from the first of these repositories of the user that has the commit:
/// nothing is fetched. `revision` names the checkout in messages.
fn check_out_submodules(
    origins: &[PathBuf],
    checkout: &Path,
    revision: &str,
) -> Result<(), String> {
    for submodule in submodules(checkout)? {
        let Submodule { path, name, commit } = &submodule;
        let folder = checkout.join(path);
        let places = origins.iter().flat_map(|origin| {
            let stored = git(
                origin,
                ["rev-parse", "--path-format=absolute", "--git-common-dir"],
            );
            let stored = stored.and_then(|output| line(&output)).ok();
            let stored = stored.map(|common| PathBuf::from(common).join("modules").join(name));
            [
                Some(origin.join(path)).filter(|path| path.join(".git").exists()),
                stored,
            ]
        });
        let places: Vec<PathBuf> = places.flatten().filter(|place| place.is_dir()).collect();
        let has_commit = |place: &&PathBuf| {
            git(place, ["cat-file", "-e", &format!("{commit}^{{commit}}")]).is_ok()
        };
        if !folder.join(".git").exists() {
            let Some(place) = places.iter().find(has_commit) else {
                errln!(
                    "note: {revision} has the submodule {path} at {commit}, which is not in this repository, so it is not checked \
                     out; run `git submodule update --init --recursive` at that revision first"
                );
                continue;
            };
            let cannot =
                |error| format!("cannot check out the submodule {path} of {revision}: {error}");
            copy(place, commit, &folder).map_err(cannot)?;
        }
        check_out_submodules(&places, &folder, revision)?;
    }
    Ok(())
}

/// Checks a commit of a repository out into a folder, which shares the objects of that repository.
fn copy(place: &Path, commit: &str, folder: &Path) -> Result<(), String> {
    let words = ["clone", "--quiet", "--shared", "--no-checkout", "--"].map(OsString::from);
    let words = words.into_iter().chain([place.into(), folder.into()]);
    git(place, words)?;
    git(folder, ["checkout", "--quiet", "--detach", commit]).map(drop)
}

/// The submodules of a checkout that its commit has.
fn submodules(checkout: &Path) -> Result<Vec<Submodule>, String> {
    if !checkout.join(".gitmodules").is_file() {
        return Ok(Vec::new());
    }
    // With -z, because a name may have blanks.
    let asked = [
        "config",
        "-z",
        "--file",
        ".gitmodules",
        "--get-regexp",
        "[.]path$",
    ];
    // A file without any is none of Git's errors, and of no interest here.
    let listed = git(checkout, asked)
        .and_then(|output| line(&output))
        .unwrap_or_default();
    let named = listed.split('\0').filter_map(|entry| {
        let (key, path) = entry.split_once('\n')?;
        let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
        let commit = git(
            checkout,
            ["rev-parse", "--verify", "--quiet", &format!("HEAD:{path}")],
        );
        let commit = commit.and_then(|output| line(&output)).ok()?;
        Some(Submodule {
            path: path.to_owned(),
            name: name.to_owned(),
            commit,
        })
    });
    Ok(named.collect())
}

const MARK: &str = "kept";

/// The file beside a folder that marks it as kept. Inside the folder it would be one of the server's files.
fn mark(folder: &Path) -> PathBuf {
    folder.with_extension(MARK)
}

/// Removes the checkouts that are not marked as kept, and the marks of folders that are gone. Only the process with
/// the lock may do this.
fn clear_leftovers(checkouts: &Path) {
    let entries = fs::read_dir(checkouts).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() && !path.is_symlink() && !mark(&path).is_file() {
            remove_leftover(&path);
        } else if path.extension() == Some(OsStr::new(MARK)) && !path.with_extension("").is_dir() {
            let _ = fs::remove_file(&path);
        }
    }
}

impl Drop for Checkout<'_> {
    fn drop(&mut self) {
        if self.keep {
            errln!("kept     {}", self.folder.display());
        } else {
            self.clear();
        }
    }
}

/// Removes a folder that may be a checkout of any repository.
fn remove_leftover(folder: &Path) {
    let common = git(folder, ["rev-parse", "--git-common-dir"]).and_then(|output| line(&output));
    match common {
        Ok(common) => remove(&folder.join(common), folder),
        Err(_) => drop(fs::remove_dir_all(folder)),
    }
}

/// Removes a folder, and its registration, if any, in the repository around `place`.
fn remove(place: &Path, folder: &Path) {
    let _ = fs::remove_dir_all(folder);
    // Forced twice, which removes even a locked one.
    let words = ["worktree", "remove", "--force", "--force"].map(OsStr::new);
    let _ = git(place, words.into_iter().chain([folder.as_os_str()]));
}

/// Runs Git in a folder, in a process group of its own, so that Ctrl-C does not end it half-way.
fn git<S: AsRef<OsStr>>(
    folder: &Path,
    words: impl IntoIterator<Item = S>,
) -> Result<Output, String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder);
    // Hooks of the repository must not run.
    command.args(["-c", "core.hooksPath=/dev/null"]).args(words);
    command.env("GIT_TERMINAL_PROMPT", "0").process_group(0);
    for name in OF_A_HOOK {
        command.env_remove(name);
    }
    let output = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "Git is not installed (https://git-scm.com)".to_owned(),
        _ => format!("cannot run git: {error}"),
    })?;
    if output.status.success() {
        Ok(output)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}

fn line(output: &Output) -> Result<String, String> {
    let text = String::from_utf8(output.stdout.clone())
        .map_err(|_| "git printed a path that is not UTF-8".to_owned())?;
    Ok(text.trim_end_matches('\n').to_owned())
}
