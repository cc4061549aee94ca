//! The programs of this system that may belong to a toolchain.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use globset::Glob;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use prony_kernel::{is_program, on_path};

use super::need::Version;
use super::table::{COMPLETE, PackageSource, Toolchain};

/// Those on `PATH`, in its order, each once even if several links lead to it.
pub(super) fn first(tool: &Toolchain) -> Vec<PathBuf> {
    let mut paths = on_path(&tool.program);
    drop_links_to_the_same(&mut paths);
    paths
}

/// Those in the usual folders that are not on `PATH`, each once.
pub(super) fn usual(tool: &Toolchain) -> Vec<PathBuf> {
    let mut paths = first(tool);
    let on_path = paths.len();
    let folders = tool
        .usual_folders
        .iter()
        .filter_map(|folder| at_home(folder));
    let programs = folders
        .flat_map(|pattern| expand(Path::new(""), &pattern))
        .map(|folder| folder.join(&tool.program));
    paths.extend(programs.filter(|path| is_program(path)));
    drop_links_to_the_same(&mut paths);
    paths.split_off(on_path)
}

/// Those that Prony installed in `folder` from `source`.
pub(super) fn installed(source: &PackageSource, folder: &Path) -> Vec<PathBuf> {
    if !folder.join(COMPLETE).is_file() {
        return Vec::new();
    }
    let mut programs = expand(folder, Path::new(&source.programs));
    programs.retain(|path| is_program(path));
    programs
}

fn drop_links_to_the_same(paths: &mut Vec<PathBuf>) {
    let mut seen = Vec::new();
    paths.retain(|path| {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        let new = !seen.contains(&real);
        seen.push(real);
        new
    });
}

/// The folder with `~` replaced by the user's home, if there is one.
fn at_home(folder: &str) -> Option<PathBuf> {
    match folder.strip_prefix("~/") {
        Some(below) => Some(PathBuf::from(std::env::var_os("HOME")?).join(below)),
        None => Some(PathBuf::from(folder)),
    }
}

/// The paths from `start` on that match a pattern, sorted by name.
fn expand(start: &Path, pattern: &Path) -> Vec<PathBuf> {
    let mut folders = vec![start.to_owned()];
    for part in pattern {
        let name = part.to_string_lossy();
        folders = folders
            .into_iter()
            .flat_map(|folder| {
                if name.contains('*') {
                    entries_like(&folder, &name)
                } else {
                    vec![folder.join(part)]
                }
            })
            .collect();
    }
    folders
}

/// The entries of `folder` whose names match `pattern`; a leading dot must be written out.
fn entries_like(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let Ok(pattern) = Glob::new(pattern) else {
        return Vec::new();
    };
    let matcher = pattern.compile_matcher();
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            !name.as_bytes().starts_with(b".") && matcher.is_match(name)
        })
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    entries
}

/// How long a program may take to print its version; more than a slow one needs on a busy machine.
const RESPONSE_TIME: Duration = Duration::from_secs(30);

/// How often Prony checks whether it has ended.
const PAUSE: Duration = Duration::from_millis(5);

/// The version that the program of a toolchain at `path` prints, with the variables `env`.
pub(super) fn version(
    path: &Path,
    tool: &Toolchain,
    env: &[(OsString, OsString)],
) -> Option<Version> {
    let output = match tool.version_command.split_first() {
        None => output(path, &["--version"], env),
        Some((first, arguments)) if *first == tool.program => output(path, arguments, env),
        Some((other, arguments)) => output(Path::new(other), arguments, env),
    }?;
    let is_version = output.status.success() || tool.fails_with_version;
    is_version.then(|| version_in(&output))?
}

fn version_in(output: &Output) -> Option<Version> {
    Version::find(&String::from_utf8_lossy(&output.stdout))
        .or_else(|| Version::find(&String::from_utf8_lossy(&output.stderr)))
}

/// The program behind a stand-in; the path itself if the program does not say.
pub(super) fn itself(program: &Path, tool: &Toolchain) -> PathBuf {
    let args = Some(&tool.itself_args).filter(|args| !args.is_empty());
    let printed = args.and_then(|args| output(program, args, &[]));
    let printed = printed.and_then(|output| String::from_utf8(output.stdout).ok());
    match printed.map(|text| PathBuf::from(text.trim())) {
        Some(real) if real.is_absolute() && is_program(&real) => real,
        _ => program.to_owned(),
    }
}

fn output<S: AsRef<OsStr>>(
    program: &Path,
    args: &[S],
    env: &[(OsString, OsString)],
) -> Option<Output> {
    let child = Command::new(program)
        .args(args)
        .envs(env.iter().cloned())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn();
    output_within(child.ok()?, RESPONSE_TIME)
}

/// The output of a program. It is killed if it takes longer than `time` or prints more than fits into a pipe.
fn output_within(mut child: Child, time: Duration) -> Option<Output> {
    let until = Instant::now() + time;
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() >= until {
            let group = i32::try_from(child.id()).map(Pid::from_raw);
            // It may have ended just now.
            let _ = group.map(|group| killpg(group, Signal::SIGKILL));
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(PAUSE);
    }
    child.wait_with_output().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::processes::write_script;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_star_matches_any_characters_of_a_name() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["jdk", "openjdk-17", "jdk-25.0.3", "jre-21", ".jdk"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let like = |pattern| {
            let entries = entries_like(folder.path(), pattern).into_iter();
            let names = entries.map(|entry| entry.file_name().unwrap().to_owned());
            names.collect::<Vec<_>>()
        };
        assert_eq!(like("*jdk*"), ["jdk", "jdk-25.0.3", "openjdk-17"]);
        assert_eq!([like("jdk-*"), like("*-*.*")], [["jdk-25.0.3"]; 2]);
        assert_eq!(like("*").len(), 4);
        assert_eq!(like("jdk"), ["jdk"]);
    }

    #[test]
    fn programs_in_usual_folders_are_found_once() {
        let folder = tempfile::tempdir().unwrap();
        let jvm = folder.path().join("jvm");
        let program = |name| jvm.join(name).join("bin/prony-no-such-tool");
        for name in ["b", "a", ".hidden"] {
            write_script(&program(name), "");
        }
        fs::create_dir(jvm.join("empty")).unwrap();
        symlink(jvm.join("a"), jvm.join("c")).unwrap();
        let pattern = jvm.join("*/bin").to_str().unwrap().to_owned();
        let tool = Toolchain {
            program: "prony-no-such-tool".to_owned(),
            usual_folders: vec![pattern, "/none/*/bin".to_owned()],
            ..Toolchain::default()
        };
        assert_eq!(usual(&tool), ["a", "b"].map(program));
        assert_eq!(first(&tool), [] as [PathBuf; 0]);
    }
}

#[cfg(test)]
mod ask_tests {
    use super::*;

    fn shell(script: &'static str) -> Toolchain {
        Toolchain {
            version_command: ["", "-c", script].map(str::to_owned).into(),
            ..Toolchain::default()
        }
    }

    fn version_of(tool: &Toolchain) -> Option<String> {
        let env = [("HOME_OF_IT".into(), "/jdk-1.5".into())];
        version(Path::new("/bin/sh"), tool, &env).map(|version| version.to_string())
    }

    #[test]
    fn a_version_is_read_from_either_output_of_a_program_that_has_the_given_variables() {
        for (script, expected) in [
            ("echo 'openjdk version \"17.0.15\"' >&2", "17.0.15"),
            ("echo 'WARNING in 9.9' >&2; echo mvn 3.8.7", "3.8.7"),
            ("echo $HOME_OF_IT", "1.5"),
        ] {
            assert_eq!(version_of(&shell(script)).as_deref(), Some(expected));
        }
    }

    #[test]
    fn the_output_of_a_failing_program_is_not_a_version() {
        let trace = "echo 'ruby 3.1.2: cannot load such file (LoadError)' >&2; exit 1";
        assert_eq!(version_of(&shell(trace)), None);
        let wrk = Toolchain {
            fails_with_version: true,
            ..shell("echo wrk 4.1.0; exit 1")
        };
        assert_eq!(version_of(&wrk).as_deref(), Some("4.1.0"));
    }

    #[test]
    fn a_silent_program_is_not_waited_for() {
        let sleeper = Command::new("sleep").arg("600").process_group(0).spawn();
        assert!(output_within(sleeper.unwrap(), Duration::from_millis(20)).is_none());
    }
}
