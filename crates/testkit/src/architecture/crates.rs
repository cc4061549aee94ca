//! What each crate's `Cargo.toml` says that it uses.

use std::fs;
use std::path::Path;

use toml::{Table, Value};

/// The folders of `crates/`, from left to right.
const FOLDERS: [&str; 6] = ["base", "engine", "lab", "show", "fleet", "prony"];

/// What only tests may use.
const TESTKIT: &str = "testkit";

pub(super) struct Crate {
    name: String,
    /// From the root of the repository: `crates/base/model`.
    pub(crate) folder: String,
    dependencies: Vec<String>,
}

impl Crate {
    /// All crates of the workspace, as `members` in its `Cargo.toml` lists them.
    pub(super) fn all(root: &Path) -> Vec<Self> {
        let workspace = read(&root.join("Cargo.toml"));
        let members = workspace["workspace"]["members"]
            .as_array()
            .expect("a list of members");
        members
            .iter()
            .flat_map(|member| folders(root, text(member)))
            .map(|folder| Self::read(root, folder))
            .collect()
    }

    fn read(root: &Path, folder: String) -> Self {
        let manifest = read(&root.join(&folder).join("Cargo.toml"));
        let mut dependencies = Vec::new();
        names_of_dependencies(&manifest, &mut dependencies);
        for target in manifest
            .get("target")
            .and_then(Value::as_table)
            .into_iter()
            .flat_map(Table::values)
        {
            names_of_dependencies(
                target.as_table().expect("a table for each target"),
                &mut dependencies,
            );
        }
        Self {
            name: text(&manifest["package"]["name"]).to_owned(),
            folder,
            dependencies,
        }
    }

    /// The folder in `crates/` that the crate is in, or that it is.
    fn top_folder(&self) -> &str {
        let mut parts = self.folder.split('/').skip(1);
        parts.next().expect("a folder in `crates/`")
    }

    /// Each rule that a dependency of this crate breaks.
    pub(super) fn faults(&self, crates: &[Self]) -> Vec<String> {
        let used = self.dependencies.iter();
        let used = used.filter_map(|name| crates.iter().find(|one| one.name == *name));
        used.filter(|used| !self.may_use(used))
            .map(|used| format!("{} must not use {}", self.folder, used.folder))
            .collect()
    }

    fn may_use(&self, other: &Self) -> bool {
        other.top_folder() != TESTKIT
            && (self.top_folder() == TESTKIT
                || position(other.top_folder()) <= position(self.top_folder()))
    }
}

fn position(top_folder: &str) -> usize {
    let position = FOLDERS.iter().position(|folder| *folder == top_folder);
    position.unwrap_or_else(|| panic!("crates/{top_folder} is none of {FOLDERS:?}"))
}

#[test]
fn only_arrows_to_the_left_are_allowed() {
    let one = |folder: &str, dependencies: &[&str]| Crate {
        name: folder.rsplit('/').next().unwrap_or_default().to_owned(),
        folder: folder.to_owned(),
        dependencies: dependencies.iter().map(ToString::to_string).collect(),
    };
    let crates = [
        one("crates/base/stats", &["fleet"]),
        one("crates/base/model", &["stats", "serde"]),
        one("crates/fleet", &["model", "testkit"]),
        one("crates/testkit", &["model"]),
    ];
    let faults: Vec<String> = crates.iter().flat_map(|one| one.faults(&crates)).collect();
    let expected = [
        "crates/base/stats must not use crates/fleet",
        "crates/fleet must not use crates/testkit",
    ];
    assert_eq!(faults, expected);
}

fn names_of_dependencies(manifest: &Table, names: &mut Vec<String>) {
    for kind in ["dependencies", "build-dependencies"] {
        names.extend(
            manifest
                .get(kind)
                .and_then(Value::as_table)
                .into_iter()
                .flat_map(Table::keys)
                .cloned(),
        );
    }
}

/// The folders that a member stands for: `crates/base/*` or `crates/fleet`.
fn folders(root: &Path, member: &str) -> Vec<String> {
    let Some(parent) = member.strip_suffix("/*") else {
        return vec![member.to_owned()];
    };
    let entries = fs::read_dir(root.join(parent)).expect("the folder of a member");
    let mut folders: Vec<String> = entries
        .map(|entry| entry.expect("an entry of the folder"))
        .filter(|entry| entry.path().join("Cargo.toml").is_file())
        .map(|entry| format!("{parent}/{}", entry.file_name().to_string_lossy()))
        .collect();
    folders.sort();
    folders
}

fn read(path: &Path) -> Table {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.parse()
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}
