//! What a build reads outside its folder, each with the hash of its content: what its manifest names, and local
//! packages of its `package.json`: `file:` and `link:` dependencies, and members of its workspace, which are links
//! in `node_modules` and so not among the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use globset::GlobMatcher;
use prony_manifest::FileError;
use serde::Deserialize;

use crate::manifest::Pattern;
use crate::sources::{hash_file, hash_files, source_files};

/// The hash of every input of the server in `folder`, by its path or pattern; `named` are those of its manifest, each
/// with the part of its path before a pattern.
pub(super) fn inputs(
    folder: &Path,
    named: Vec<(PathBuf, Option<&Pattern>)>,
) -> Result<BTreeMap<PathBuf, String>, FileError> {
    let mut inputs = BTreeMap::new();
    for (path, pattern) in named {
        let (input, hash) = match pattern {
            None => (path.clone(), hash_path(&path)?),
            Some(pattern) => (path.join(pattern.as_str()), hash_matches(&path, pattern)?),
        };
        inputs.insert(input, hash);
    }
    for package in beside(folder)? {
        let hash = hash_path(&package)?;
        inputs.insert(package, hash);
    }
    Ok(inputs)
}

fn hash_path(path: &Path) -> Result<String, FileError> {
    if path.is_dir() {
        hash_files(path, &source_files(path)?)
    } else {
        hash_file(path)
    }
}

fn hash_matches(folder: &Path, pattern: &Pattern) -> Result<String, FileError> {
    let matcher = pattern.matcher();
    let mut files = source_files(folder)?;
    files.retain(|file| matcher.is_match(file.strip_prefix(folder).unwrap_or(file)));
    if files.is_empty() {
        let pattern = folder.join(pattern.as_str());
        return Err(FileError::unreadable(
            &pattern,
            io::ErrorKind::NotFound.into(),
        ));
    }
    hash_files(folder, &files)
}

const FILE: &str = "package.json";
const PNPM_FILE: &str = "pnpm-workspace.yaml";
/// Nobody writes a larger package.json by hand.
const MOST_BYTES: u64 = 1 << 20;
/// How many folders above to look for the root of a workspace.
const MOST_UP: usize = 16;

/// The fields of a package.json that matter here.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Package {
    name: Option<String>,
    dependencies: BTreeMap<String, String>,
    dev_dependencies: BTreeMap<String, String>,
    optional_dependencies: BTreeMap<String, String>,
    workspaces: Option<Workspaces>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Workspaces {
    List(Vec<String>),
    /// Yarn's form.
    Table(Packages),
}

/// That form, which is also that of a pnpm-workspace.yaml.
#[derive(Deserialize)]
struct Packages {
    #[serde(default)]
    packages: Vec<String>,
}

/// The folders, or archive files, outside `folder` that its package depends on, directly or not.
pub(super) fn beside(folder: &Path) -> Result<BTreeSet<PathBuf>, FileError> {
    let mut found = BTreeSet::new();
    if read(folder).is_none() {
        return Ok(found);
    }
    let members = workspace_members(folder)?;
    let mut open = vec![folder.to_owned()];
    while let Some(package) = open.pop() {
        for path in dependencies(&package, &members) {
            if !path.starts_with(folder) && found.insert(path.clone()) {
                open.push(path);
            }
        }
    }
    Ok(found)
}

/// `None` if it is missing or invalid: the build reports that better.
fn read(folder: &Path) -> Option<Package> {
    let file = folder.join(FILE);
    let is_small = file.metadata().ok()?.len() <= MOST_BYTES;
    serde_json::from_slice(&fs::read(&file).ok().filter(|_| is_small)?).ok()
}

fn dependencies(folder: &Path, members: &BTreeMap<String, PathBuf>) -> Vec<PathBuf> {
    let package = read(folder).unwrap_or_default();
    let all = package
        .dependencies
        .iter()
        .chain(&package.dev_dependencies)
        .chain(&package.optional_dependencies);
    let paths = all.filter_map(|(name, version)| match local_path(version) {
        Some(path) => folder.join(path).canonicalize().ok(),
        None => members.get(name).cloned(),
    });
    paths.collect()
}

/// `file:../x`, `link:../x` or a bare path.
fn local_path(version: &str) -> Option<&str> {
    let prefixed = ["file:", "link:", "portal:"];
    let path = prefixed
        .iter()
        .find_map(|prefix| version.strip_prefix(prefix));
    let is_path = |version: &&str| {
        ["./", "../", "/"]
            .iter()
            .any(|begin| version.starts_with(begin))
    };
    path.or_else(|| Some(version).filter(is_path))
}

/// The members of the workspace that `folder` belongs to, by name.
fn workspace_members(folder: &Path) -> Result<BTreeMap<String, PathBuf>, FileError> {
    for root in folder.ancestors().take(MOST_UP) {
        let of_pnpm = || {
            let text = fs::read_to_string(root.join(PNPM_FILE)).ok()?;
            serde_saphyr::from_str(&text).ok().map(Workspaces::Table)
        };
        let workspaces = read(root).and_then(|package| package.workspaces);
        let packages = match workspaces.or_else(of_pnpm) {
            Some(Workspaces::List(packages) | Workspaces::Table(Packages { packages })) => packages,
            None => continue,
        };
        let members = members(root, &packages)?;
        if root == folder || members.iter().any(|member| member == folder) {
            let named = members.into_iter().filter_map(|member| {
                let name = read(&member)?.name?;
                Some((name, member))
            });
            return Ok(named.collect());
        }
    }
    Ok(BTreeMap::new())
}

/// The folders below `root` with a package.json that match a pattern, and none of those that begin with `!`.
fn members(root: &Path, patterns: &[String]) -> Result<Vec<PathBuf>, FileError> {
    let matcher = |pattern: &str| {
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        Some(Pattern::new(pattern).ok()?.matcher())
    };
    let rules = patterns.iter().filter_map(|pattern| {
        let out = pattern.strip_prefix('!');
        Some((out.is_some(), matcher(out.unwrap_or(pattern))?))
    });
    let rules: Vec<(bool, GlobMatcher)> = rules.collect();
    let packages = source_files(root)?
        .into_iter()
        .filter(|file| file.ends_with(FILE));
    let folders = packages.filter_map(|file| Some(file.parent()?.to_owned()));
    let is_member = |folder: &PathBuf| {
        let path = folder.strip_prefix(root).unwrap_or(folder);
        let mut matching = rules
            .iter()
            .filter(|(_, one)| one.is_match(path))
            .peekable();
        matching.peek().is_some() && matching.all(|(is_out, _)| !is_out)
    };
    Ok(folders.filter(is_member).collect())
}

/// Whether these commands are incremental: correct and quick when run again. Cargo and Go track path dependencies,
/// `replace` and included files by themselves, and do nothing if none has changed. The build's other commands run again
/// too, because they may use the results.
pub(super) fn is_incremental(commands: &[Vec<String>]) -> bool {
    commands.iter().any(|words| is_incremental_tool(words))
}

fn is_incremental_tool(words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str);
    let program = words.next().map(Path::new).and_then(Path::file_name);
    let first = words.next();
    match program.and_then(|name| name.to_str()) {
        Some("cargo" | "go" | "make" | "ninja" | "dotnet") => true,
        // `zig build-exe` compiles everything each time.
        Some("zig") => first == Some("build"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packages_of_a_pnpm_workspace_are_read_in_both_forms() {
        for text in [
            "packages: [\"apps/*\", '!apps/old']\n",
            "# A comment\npackages:\n  - apps/* # the programs\n\n# Another\n  - '!apps/old'\ncatalog:\n  a: 1\n",
            "catalog: {}\npackages:\n- \"apps/*\"\n- \"!apps/old\"\n",
            "packages: [\n  apps/*,\n  \"!apps/old\"\n]\nonlyBuilt:\n  - b\n",
        ] {
            let Packages { packages } = serde_saphyr::from_str(text).unwrap();
            assert_eq!(packages, ["apps/*", "!apps/old"], "{text}");
        }
        let Packages { packages } = serde_saphyr::from_str("catalog:\n  a: 1\n").unwrap();
        assert!(packages.is_empty());
    }

    #[test]
    fn the_members_of_a_pnpm_workspace_are_inputs() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for (file, text) in [
            ("pnpm-workspace.yaml", "packages: [apps/*, libs/*]"),
            (
                "apps/api/package.json",
                "{ \"dependencies\": { \"lib\": \"workspace:*\" } }",
            ),
            ("libs/lib/package.json", "{ \"name\": \"lib\" }"),
            ("libs/other/package.json", "{ \"name\": \"other\" }"),
        ] {
            let file = root.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let found = beside(&root.join("apps/api")).unwrap();
        assert_eq!(found, BTreeSet::from([root.join("libs/lib")]));
    }

    #[test]
    fn cargo_and_go_builds_are_incremental() {
        let is = |commands: &[&str]| {
            let words = |command: &&str| command.split(' ').map(str::to_owned).collect();
            is_incremental(&commands.iter().map(words).collect::<Vec<_>>())
        };
        assert!(is(&["cargo build --release"]) && is(&["/usr/bin/go build ."]));
        assert!(is(&["zig build"]) && !is(&["zig build-exe main.zig"]));
        assert!(is(&["npm ci", "make"]));
        assert!(!is(&["sh -c make", "javac Server.java"]) && !is(&[]));
    }
}
