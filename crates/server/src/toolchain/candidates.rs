//! The programs of this system that may be a toolchain's.

use std::fs;
use std::path::{Path, PathBuf};

use super::path::{is_program, on_path};
use super::table::Toolchain;

/// Those on `PATH`, in its order, each once however many links lead to it.
pub fn first(tool: &Toolchain) -> Vec<PathBuf> {
    let mut paths = on_path(tool.program);
    drop_links_to_the_same(&mut paths);
    paths
}

/// Those in the usual folders that are not on `PATH`, each once.
pub fn usual(tool: &Toolchain) -> Vec<PathBuf> {
    let mut paths = first(tool);
    let on_path = paths.len();
    let folders = tool
        .usual_folders
        .iter()
        .filter_map(|folder| at_home(folder));
    let programs = folders
        .flat_map(|pattern| expand(&pattern))
        .map(|folder| folder.join(tool.program));
    paths.extend(programs.filter(|path| is_program(path)));
    drop_links_to_the_same(&mut paths);
    paths.split_off(on_path)
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

/// The folder with the user's home for `~`, where there is one.
fn at_home(folder: &str) -> Option<PathBuf> {
    match folder.strip_prefix("~/") {
        Some(below) => Some(PathBuf::from(std::env::var_os("HOME")?).join(below)),
        None => Some(PathBuf::from(folder)),
    }
}

/// The folders that a pattern stands for, those of one `*` in the order of their names.
fn expand(pattern: &Path) -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::new()];
    for part in pattern {
        let name = part.to_string_lossy();
        folders = folders
            .into_iter()
            .flat_map(|folder| match name.contains('*') {
                true => entries_like(&folder, &name),
                false => vec![folder.join(part)],
            })
            .collect();
    }
    folders
}

/// What lies in `folder` under a name like `pattern`; names that begin with a dot must be written out.
fn entries_like(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            !name.starts_with('.') && is_like(&name, pattern)
        })
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    entries
}

/// Whether `name` is `pattern` with something, or nothing, in place of each `*`.
fn is_like(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            let ends = name.char_indices().map(|(index, _)| index);
            ends.chain([name.len()])
                .any(|end| is_like(&name[end..], rest))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_star_stands_for_any_letters_of_a_name() {
        let like = |pattern| {
            let names = ["jdk", "openjdk-17", "jdk-25.0.3", "jre-21", ""];
            let like = names.into_iter().filter(|name| is_like(name, pattern));
            like.collect::<Vec<_>>()
        };
        assert_eq!(like("*jdk*"), ["jdk", "openjdk-17", "jdk-25.0.3"]);
        assert_eq!(like("jdk-*"), ["jdk-25.0.3"]);
        assert_eq!(like("*-*.*"), ["jdk-25.0.3"]);
        assert_eq!(like("*").len(), 5);
        assert_eq!(like("jdk"), ["jdk"]);
    }

    #[test]
    fn usual_folders_give_each_program_once() {
        let folder = tempfile::tempdir().unwrap();
        let jvm = folder.path().join("jvm");
        for name in ["b/bin", "a/bin", ".hidden/bin", "empty"] {
            fs::create_dir_all(jvm.join(name)).unwrap();
        }
        for name in ["b", "a", ".hidden"] {
            let program = jvm.join(name).join("bin/prony-no-such-tool");
            fs::write(&program, "").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        symlink(jvm.join("a"), jvm.join("c")).unwrap();
        let pattern = jvm.join("*/bin").to_str().unwrap().to_owned();
        let tool = Toolchain {
            program: "prony-no-such-tool",
            usual_folders: Box::leak(Box::new([&*pattern.leak(), "/none/*/bin"])),
            ..Toolchain::PLAIN
        };
        let found = ["a", "b"].map(|name| jvm.join(name).join("bin/prony-no-such-tool"));
        assert_eq!(usual(&tool), found);
        assert_eq!(first(&tool), [] as [PathBuf; 0]);
    }
}
