//! Programs of Node and Bun, with the package manager of the project.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::program_folder::{Candidate, ProgramFolder, id_of, id_of_folder, text};

const PACKAGE: &str = "package.json";
const PNPM_WORKSPACE: &str = "pnpm-workspace.yaml";
/// What only a shell understands.
const FOR_A_SHELL: [char; 8] = ['&', '|', ';', '<', '>', '$', '`', '*'];

#[derive(Debug, PartialEq, Eq)]
struct Manager {
    name: &'static str,
    locks: &'static [&'static str],
    /// Installs what the lockfile says, or fails.
    locked: &'static str,
    /// Installs without a lockfile, and writes none.
    unlocked: &'static str,
    /// What must be installed, as a value of TOML; `None` for what Node has.
    need: Option<&'static str>,
}

/// If a project has several lockfiles, the first counts: npm's may be a leftover.
const MANAGERS: [&Manager; 4] = [&PNPM, &YARN, &BUN, &NPM];

const PNPM: Manager = Manager {
    name: "pnpm",
    locks: &["pnpm-lock.yaml"],
    locked: "pnpm install --frozen-lockfile",
    unlocked: "pnpm install --no-lockfile",
    need: Some("{ program = \"pnpm\", install = \"corepack enable pnpm\" }"),
};
const YARN: Manager = Manager {
    name: "yarn",
    locks: &["yarn.lock"],
    locked: "yarn install --frozen-lockfile",
    unlocked: "yarn install --no-lockfile",
    need: Some("{ program = \"yarn\", install = \"corepack enable yarn\" }"),
};
/// Yarn from version 2 on, which has other flags.
const YARN_BERRY: Manager = Manager {
    locked: "yarn install --immutable",
    unlocked: "yarn install",
    ..YARN
};
const BUN: Manager = Manager {
    name: "bun",
    locks: &["bun.lock", "bun.lockb"],
    locked: "bun install --frozen-lockfile",
    unlocked: "bun install --no-save",
    need: Some("\"bun\""),
};
const NPM: Manager = Manager {
    name: "npm",
    locks: &["package-lock.json", "npm-shrinkwrap.json"],
    locked: "npm ci",
    unlocked: "npm install --no-package-lock",
    need: None,
};

impl Manager {
    fn script(&self, script: &str) -> String {
        format!("{} run {script}", self.name)
    }
}

/// The script `start`, or else the main file.
pub(super) fn candidates(place: &ProgramFolder<'_>) -> Vec<Candidate> {
    let Some(package) = package_in(place.folder) else {
        return Vec::new();
    };
    let (manager, lock) = manager(place, &package);
    let Some(run) = run(place, &package, manager) else {
        return Vec::new();
    };
    let mut build = Vec::new();
    let has_any = |field: &str| {
        package[field]
            .as_object()
            .is_some_and(|all| !all.is_empty())
    };
    if has_any("dependencies") || has_any("devDependencies") {
        let install = if lock.is_some() {
            manager.locked
        } else {
            manager.unlocked
        };
        build.push(install.to_owned());
    }
    if package["scripts"]["build"].is_string() {
        build.push(manager.script("build"));
    }
    let is_needed = !build.is_empty() || run.starts_with(manager.name);
    let id = package["name"]
        .as_str()
        .map_or_else(|| id_of_folder(place.folder), id_of);
    vec![Candidate {
        id,
        needs: manager.need.filter(|_| is_needed).into_iter().collect(),
        // Those of the folder itself are sources.
        inputs: lock.filter(|lock| lock.contains('/')).into_iter().collect(),
        build,
        run,
        ..place.candidate(PACKAGE, "JavaScript")
    }]
}

fn package_in(folder: &Path) -> Option<Value> {
    serde_json::from_str(&text(&folder.join(PACKAGE))?).ok()
}

fn run(place: &ProgramFolder<'_>, package: &Value, manager: &Manager) -> Option<String> {
    if let Some(start) = package["scripts"]["start"].as_str() {
        // The manager would be one more process between Prony and the server.
        let is_plain = start.starts_with("node ") && !start.contains(FOR_A_SHELL);
        return Some(if is_plain {
            start.to_owned()
        } else {
            manager.script("start")
        });
    }
    let usual = ["server.js", "app.js", "server.mjs", "index.js", "index.mjs"];
    // Below the project's folder, a package with another main file may be a library.
    let (main, usual) = if place.is_below {
        (None, &usual[..3])
    } else {
        (package["main"].as_str(), &usual[..])
    };
    let mut files = main.into_iter().chain(usual.iter().copied());
    let file = files.find(|file| place.has(file))?;
    Some(format!("node {file}"))
}

/// The manager of the project, and the path of its lockfile, if there is one: the lockfile decides, here or in the root
/// of the workspace, or else the field `packageManager`.
fn manager(place: &ProgramFolder<'_>, package: &Value) -> (&'static Manager, Option<String>) {
    let is_root = |folder: &Path| folder == place.folder || is_workspace(folder);
    let has_lock = |folder: &Path| is_root(folder) && !locks_in(folder).is_empty();
    let root = place.upwards(has_lock);
    let root = root.or_else(|| place.upwards(is_workspace));
    let (root, up) = root.unwrap_or((place.folder, PathBuf::new()));
    let root_package = package_in(root);
    let mut packages = [Some(package), root_package.as_ref()].into_iter().flatten();
    let named = packages.find_map(|package| {
        let (name, _) = package["packageManager"].as_str()?.split_once('@')?;
        MANAGERS.into_iter().find(|manager| manager.name == name)
    });
    let locks = locks_in(root);
    let of_named = locks.iter().find(|(manager, _)| Some(*manager) == named);
    let Some(&(manager, lock)) = of_named.or(locks.first()) else {
        let is_of_pnpm = root.join(PNPM_WORKSPACE).is_file();
        let default = if is_of_pnpm { &PNPM } else { &NPM };
        return (variant_of(named.unwrap_or(default), root), None);
    };
    if locks.len() > 1 {
        let files: Vec<&str> = locks.iter().map(|(_, file)| *file).collect();
        errln!("note: there are {}; Prony uses {lock}", files.join(" and "));
    }
    let lock = up.join(lock).display().to_string();
    (variant_of(manager, root), Some(lock))
}

fn locks_in(folder: &Path) -> Vec<(&'static Manager, &'static str)> {
    let all = MANAGERS.into_iter();
    let all = all.flat_map(|manager| manager.locks.iter().map(move |lock| (manager, *lock)));
    all.filter(|(_, lock)| folder.join(lock).is_file())
        .collect()
}

fn is_workspace(folder: &Path) -> bool {
    folder.join(PNPM_WORKSPACE).is_file()
        || package_in(folder).is_some_and(|package| !package["workspaces"].is_null())
}

fn variant_of(manager: &'static Manager, root: &Path) -> &'static Manager {
    let is_berry = || {
        let lock = text(&root.join("yarn.lock"));
        root.join(".yarnrc.yml").is_file() || lock.is_some_and(|lock| lock.contains("__metadata:"))
    };
    if *manager == YARN && is_berry() {
        &YARN_BERRY
    } else {
        manager
    }
}
