//! The programs of a folder that may be servers, found by the files of the languages' own tools.

mod java;
mod node;
mod program_folder;
mod python;

use std::path::Path;
use std::process::Command;

use serde_json::Value;

pub(super) use self::program_folder::{Candidate, id_of_folder, is_other, name_of, sources, text};
use self::program_folder::{ProgramFolder, entries_in, id_of};

const MOST: usize = 8;
/// How many folders below the project's own may have a program, and how many folders are looked at.
const DEEPEST: usize = 3;
const MOST_FOLDERS: usize = 500;

/// The candidates in `folder`, the most likely first.
pub(super) fn look(folder: &Path) -> Vec<Candidate> {
    let own = ProgramFolder {
        folder,
        is_below: false,
    };
    let mut candidates = look_in(&own);
    // A Python program without a file that describes it may be a script of a project with servers elsewhere.
    if !candidates.iter().any(is_described) {
        let mut below = look_below(folder);
        below.append(&mut candidates);
        candidates = below;
    }
    if candidates.len() > MOST {
        let others = candidates.split_off(MOST);
        let others: Vec<String> = others.into_iter().map(|one| one.found_by).collect();
        errln!(
            "note: Prony looks at the first {MOST} programs only, not at those of {}; run `prony init` in the folder of one, or name it with --run",
            others.join(", ")
        );
    }
    let mut ids = Vec::new();
    for candidate in &mut candidates {
        candidate.id = unique(&candidate.id, &mut ids);
    }
    candidates
}

fn look_in(place: &ProgramFolder<'_>) -> Vec<Candidate> {
    let kinds: [fn(&ProgramFolder<'_>) -> Vec<Candidate>; 6] = [
        rust,
        go,
        node::candidates,
        java::candidates,
        ruby,
        python::candidates,
    ];
    kinds.iter().flat_map(|look| look(place)).collect()
}

fn is_described(candidate: &Candidate) -> bool {
    candidate.found_by != python::PLAIN
}

/// The programs of folders below, such as the members of a workspace; no further below one with programs.
fn look_below(root: &Path) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut level = entries_in(root).folders;
    let mut seen = 0;
    for _ in 0..DEEPEST {
        let mut next = Vec::new();
        for folder in level {
            seen += 1;
            if seen > MOST_FOLDERS {
                return found;
            }
            let place = ProgramFolder {
                folder: &folder,
                is_below: true,
            };
            let candidates: Vec<_> = look_in(&place).into_iter().filter(is_described).collect();
            if candidates.is_empty() {
                next.extend(entries_in(&folder).folders);
            }
            let path = folder.strip_prefix(root).unwrap_or(&folder);
            let path = path.display().to_string();
            found.extend(candidates.into_iter().map(|candidate| Candidate {
                found_by: format!("{path}/{}", candidate.found_by),
                folder: path.clone(),
                ..candidate
            }));
        }
        level = next;
    }
    found
}

/// The id, with a number if it is known already.
pub(super) fn unique(id: &str, known: &mut Vec<String>) -> String {
    let numbered = (2..).map(|number| format!("{id}-{number}"));
    let mut ids = std::iter::once(id.to_owned()).chain(numbered);
    let free = ids.find(|id| !known.contains(id));
    known.extend(free.clone());
    free.unwrap_or_default()
}

/// What a tool of the language prints about the folder. Says why if it fails.
fn printed(folder: &Path, command: &[&str]) -> Option<String> {
    let (program, arguments) = command.split_first()?;
    let mut tool = Command::new(program);
    match tool.args(arguments).current_dir(folder).output() {
        Ok(output) if output.status.success() => String::from_utf8(output.stdout).ok(),
        Ok(output) => {
            let reason = String::from_utf8_lossy(&output.stderr);
            errln!("note: `{}` failed: {}", command.join(" "), reason.trim());
            None
        }
        Err(error) => {
            errln!("note: cannot run `{program}`: {error}");
            None
        }
    }
}

/// The programs of the package or workspace.
fn rust(place: &ProgramFolder<'_>) -> Vec<Candidate> {
    if !place.has("Cargo.toml") {
        return Vec::new();
    }
    let command = ["cargo", "metadata", "--no-deps", "--format-version", "1"];
    let metadata = printed(place.folder, &command);
    let metadata: Value = metadata
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let each = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages = each(&metadata["packages"]).into_iter();
    let targets = packages.flat_map(|package| each(&package["targets"]));
    let programs = targets.filter(|target| each(&target["kind"]).contains(&"bin".into()));
    programs
        .filter_map(|target| Some(target["name"].as_str()?.to_owned()))
        .map(|name| Candidate {
            id: id_of(&name),
            build: vec![format!("cargo build --release --bin {name}")],
            run: format!("{{cargo_target}}/release/{name}"),
            ..place.candidate("Cargo.toml", "Rust")
        })
        .collect()
}

fn go(place: &ProgramFolder<'_>) -> Vec<Candidate> {
    if !place.has("go.mod") {
        return Vec::new();
    }
    let listed = printed(
        place.folder,
        &[
            "go",
            "list",
            "-f",
            "{{.Name}} {{.ImportPath}} {{.Dir}}",
            "./...",
        ],
    );
    let listed = listed.unwrap_or_default();
    let mains = listed.lines().filter_map(|line| line.strip_prefix("main "));
    mains
        .filter_map(|line| {
            let (import, dir) = line.split_once(' ')?;
            let below = Path::new(dir).strip_prefix(place.folder).ok()?;
            let id = id_of(import.rsplit('/').next()?);
            let package = if below.as_os_str().is_empty() {
                ".".to_owned()
            } else {
                format!("./{}", below.display())
            };
            Some(Candidate {
                build: vec![format!("go build -o {{out}}/{id} {package}")],
                run: format!("{{out}}/{id}"),
                id,
                ..place.candidate("go.mod", "Go")
            })
        })
        .collect()
}

/// Rails, or the application of config.ru.
fn ruby(place: &ProgramFolder<'_>) -> Vec<Candidate> {
    let Some(gems) = place.text("Gemfile") else {
        return Vec::new();
    };
    let run = if place.has("bin/rails") {
        "bin/rails server -b {host} -p {port}"
    } else if !place.has("config.ru") {
        return Vec::new();
    } else if gems.contains("puma") {
        "bundle exec puma -b tcp://{host}:{port}"
    } else {
        "bundle exec rackup --host {host} --port {port}"
    };
    vec![Candidate {
        build: vec!["bundle install --quiet".to_owned()],
        run: run.to_owned(),
        ..place.candidate("Gemfile", "Ruby")
    }]
}

#[cfg(test)]
mod tests;
