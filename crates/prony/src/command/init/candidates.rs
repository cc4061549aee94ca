//! The programs of a folder that may be servers, found by the files of the languages' own tools.

mod java;
mod node;
mod python;

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The most candidates that are looked at.
const MOST: usize = 8;
/// How many folders below the project's own may have a program, and how many folders are looked at.
const DEEPEST: usize = 3;
const MOST_FOLDERS: usize = 500;
/// The most bytes that are read of a file.
const MOST_BYTES: u64 = 1 << 20;
/// How many folders above may be the root of a workspace.
const MOST_UP: usize = 16;
/// Folders whose programs are not the project's servers.
const OTHER_FOLDERS: [&str; 12] = [
    "build",
    "dist",
    "examples",
    "fixtures",
    "migrations",
    "node_modules",
    "out",
    "target",
    "test",
    "tests",
    "vendor",
    "venv",
];

/// A program that may be a server, and how to build and run it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// Its name in `prony.toml`.
    pub id: String,
    /// What it was found by: `apps/api/package.json`.
    pub found_by: String,
    pub language: &'static str,
    /// The folder of its sources, relative to the project; empty for the project's own.
    pub folder: String,
    /// What its build needs, as values of TOML.
    pub needs: Vec<&'static str>,
    /// What its build reads outside its folder.
    pub inputs: Vec<String>,
    /// Commands, as text.
    pub build: Vec<String>,
    pub run: String,
    /// Variables beside `HOST` and `PORT`.
    pub env: Vec<(&'static str, &'static str)>,
}

/// A file of a program.
struct SourceFile {
    /// Its path, relative to the folder of the program.
    path: String,
    text: String,
}

/// A folder that may have a program.
struct ProgramFolder<'a> {
    folder: &'a Path,
    /// Whether it is a folder below the project's own, which also has libraries.
    is_below: bool,
}

impl ProgramFolder<'_> {
    /// The text of a file, if there is one that is not too large.
    fn text(&self, file: &str) -> Option<String> {
        text(&self.folder.join(file))
    }

    fn has(&self, file: &str) -> bool {
        self.folder.join(file).is_file()
    }

    /// The nearest folder from here upwards that `is_it`, and the path to it: `../..`.
    fn upwards(&self, is_it: impl Fn(&Path) -> bool) -> Option<(&Path, PathBuf)> {
        let above = self.folder.ancestors().take(MOST_UP).enumerate();
        let mut found = above.filter(|(_, folder)| is_it(folder));
        let (ups, folder) = found.next()?;
        Some((folder, std::iter::repeat_n("..", ups).collect()))
    }
}

/// The candidates in `folder`, the most likely first.
pub fn look(folder: &Path) -> Vec<Candidate> {
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

/// The files in a folder and in the folders up to `levels` below that are its own.
pub fn sources(
    folder: &Path,
    levels: usize,
    is_own: fn(&Path) -> bool,
) -> Box<dyn Iterator<Item = PathBuf>> {
    let Entries { mut folders, files } = entries_in(folder);
    folders.retain(|folder| levels > 0 && is_own(folder));
    let below = folders.into_iter();
    let below = below.flat_map(move |folder| sources(&folder, levels - 1, is_own));
    Box::new(files.into_iter().chain(below))
}

/// What is in a folder, by name.
struct Entries {
    /// Those that may be of the project, without links.
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

fn entries_in(folder: &Path) -> Entries {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let (mut folders, files): (Vec<PathBuf>, Vec<PathBuf>) =
        paths.into_iter().partition(|path| path.is_dir());
    folders.retain(|folder| !folder.is_symlink() && !is_other(&name_of(folder)));
    Entries { folders, files }
}

/// The last part of a path.
pub fn name_of(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}

/// Whether a file or folder of this name is none of a server's sources.
pub fn is_other(name: &str) -> bool {
    name.starts_with(['.', '_']) || OTHER_FOLDERS.contains(&name)
}

/// The id, with a number if it is known already.
pub fn unique(id: &str, known: &mut Vec<String>) -> String {
    let numbered = (2..).map(|number| format!("{id}-{number}"));
    let mut ids = std::iter::once(id.to_owned()).chain(numbered);
    let free = ids.find(|id| !known.contains(id));
    known.extend(free.clone());
    free.unwrap_or_default()
}

/// A name as an id: lower-case letters, digits and hyphens.
fn id_of(name: &str) -> String {
    let letters = name.chars().map(|c| match c.to_ascii_lowercase() {
        c if c.is_ascii_lowercase() || c.is_ascii_digit() => c,
        _ => '-',
    });
    let id: String = letters.collect();
    match id.trim_matches('-') {
        "" => "server".to_owned(),
        id => id.to_owned(),
    }
}

/// The name of a folder as an id.
pub fn id_of_folder(folder: &Path) -> String {
    id_of(&name_of(folder))
}

/// The text of a file that is not too large.
pub fn text(file: &Path) -> Option<String> {
    let is_small = fs::metadata(file).is_ok_and(|data| data.is_file() && data.len() <= MOST_BYTES);
    let text = is_small.then(|| fs::read_to_string(file).ok()).flatten()?;
    Some(text.trim_start_matches('\u{feff}').to_owned())
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
    let metadata: Option<Value> = metadata.and_then(|text| serde_json::from_str(&text).ok());
    let packages = metadata.as_ref().and_then(|all| all["packages"].as_array());
    let targets = packages.into_iter().flatten();
    let targets = targets.filter_map(|package| package["targets"].as_array());
    let is_program = |target: &&Value| {
        let kinds = target["kind"].as_array();
        kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == "bin"))
    };
    let programs = targets.flatten().filter(is_program);
    programs
        .filter_map(|target| target["name"].as_str())
        .map(|name| Candidate {
            id: id_of(name),
            found_by: "Cargo.toml".to_owned(),
            language: "Rust",
            build: vec![format!("cargo build --release --bin {name}")],
            run: format!("{{cargo_target}}/release/{name}"),
            ..Candidate::default()
        })
        .collect()
}

/// The main packages of the module.
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
                found_by: "go.mod".to_owned(),
                language: "Go",
                ..Candidate::default()
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
        id: id_of_folder(place.folder),
        found_by: "Gemfile".to_owned(),
        language: "Ruby",
        build: vec!["bundle install --quiet".to_owned()],
        run: run.to_owned(),
        ..Candidate::default()
    }]
}

#[cfg(test)]
mod tests;
