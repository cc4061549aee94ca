//! Python applications, with the package manager of the project.

use std::path::Path;

use super::program_folder::{
    Candidate, ProgramFolder, SourceFile, id_of_folder, name_of, sources, text,
};

/// What a program without any file that describes it was found by.
pub(super) const PLAIN: &str = "a Python file";

const MOST_FILES: usize = 200;

/// The applications of common frameworks, or else a program that uses a server of the standard library.
pub(super) fn candidates(place: &ProgramFolder<'_>) -> Vec<Candidate> {
    let found_by = FILES
        .into_iter()
        .find(|file| place.has(file))
        .unwrap_or(PLAIN);
    let [requirements, project] =
        ["requirements.txt", "pyproject.toml"].map(|file| place.text(file));
    let needed = [requirements.as_deref(), project.as_deref()].into_iter();
    let needed: String = needed.flatten().collect();
    let installation = installation(place, requirements.is_some(), project.as_deref());
    let program = |name: &str| match &installation {
        Some(_) => format!("{{out}}/venv/bin/{name}"),
        None if name == "python" => "python3".to_owned(),
        None => name.to_owned(),
    };
    let files = python_files(place.folder);
    let commands = files.iter().filter_map(|SourceFile { path, text }| {
        let module = path.trim_end_matches(".py").replace('/', ".");
        let module = module.trim_end_matches(".__init__");
        let (name, arguments) = python_command(path, module, text, &needed)?;
        Some(format!("{} {arguments}", program(name)))
    });
    let commands: Vec<String> = commands.collect();
    let installation = installation.unwrap_or_default();
    let candidates = commands.into_iter().map(|run| Candidate {
        id: id_of_folder(place.folder),
        found_by: found_by.to_owned(),
        language: "Python",
        run,
        ..installation.clone()
    });
    candidates.collect()
}

/// The files that describe a project, the most telling first.
const FILES: [&str; 4] = [
    "uv.lock",
    "poetry.lock",
    "requirements.txt",
    "pyproject.toml",
];

/// How the packages of a program are installed into an environment of its own: by the manager of the project, for which
/// the lockfile decides. `None` if nothing has to be installed.
fn installation(
    place: &ProgramFolder<'_>,
    has_requirements: bool,
    project: Option<&str>,
) -> Option<Candidate> {
    let table: Option<toml::Table> = project.and_then(|text| text.parse().ok());
    let table = toml::Value::Table(table.unwrap_or_default());
    if let Some(lock) = uv_lock(place) {
        return Some(Candidate {
            needs: vec!["{ program = \"uv\", install = \"pipx install uv\" }"],
            build: vec!["uv sync --frozen".to_owned()],
            env: vec![("UV_PROJECT_ENVIRONMENT", "{out}/venv")],
            // That of the folder itself is a source.
            inputs: lock.contains('/').then_some(lock).into_iter().collect(),
            ..Candidate::default()
        });
    }
    let is_locked = place.has("poetry.lock");
    if is_locked || needs_packages(&table, "tool.poetry.dependencies") {
        return Some(Candidate {
            needs: vec!["{ program = \"poetry\", install = \"pipx install poetry\" }"],
            build: in_new_environment(poetry(is_locked, has_package(place, &table))),
            // Poetry installs into the environment that is active.
            env: vec![("VIRTUAL_ENV", "{out}/venv")],
            ..Candidate::default()
        });
    }
    if let Some(other) = ["pdm.lock", "Pipfile"]
        .into_iter()
        .find(|file| place.has(file))
    {
        errln!(
            "note: Prony does not support the package manager of {other}; if packages are missing, install them with --build, and name the server with --run"
        );
    }
    let install: &[&str] = if has_requirements {
        &["{out}/venv/bin/pip install --quiet -r requirements.txt"]
    } else if needs_packages(&table, "project.dependencies") {
        // A copy, because setuptools writes folders into the sources that it builds.
        &[
            "rm -rf {out}/sources",
            "mkdir {out}/sources",
            "sh -c 'tar -c --exclude=./.[a-z]* --exclude=./venv . | tar -x -C {out}/sources'",
            "{out}/venv/bin/pip install --quiet {out}/sources",
        ]
    } else {
        return None;
    };
    Some(Candidate {
        build: in_new_environment(install),
        ..Candidate::default()
    })
}

/// The commands, after the one that creates the environment.
fn in_new_environment(commands: &[&str]) -> Vec<String> {
    let all = std::iter::once(&"python3 -m venv {out}/venv").chain(commands);
    all.map(|&command| command.to_owned()).collect()
}

/// The path of uv's lockfile, here or in the root of the workspace.
fn uv_lock(place: &ProgramFolder<'_>) -> Option<String> {
    let is_root = |folder: &Path| {
        folder == place.folder
            || text(&folder.join("pyproject.toml"))
                .is_some_and(|it| it.contains("[tool.uv.workspace]"))
    };
    let has_lock = |folder: &Path| folder.join("uv.lock").is_file() && is_root(folder);
    let (_, up) = place.upwards(has_lock)?;
    Some(up.join("uv.lock").display().to_string())
}

/// Poetry writes a lockfile if there is none, so it then works on a copy.
fn poetry(is_locked: bool, has_package: bool) -> &'static [&'static str] {
    if !is_locked {
        &[
            "rm -rf {out}/poetry",
            "mkdir {out}/poetry",
            "cp pyproject.toml {out}/poetry",
            "poetry --directory {out}/poetry install --no-interaction --no-root",
        ]
    } else if has_package {
        &["poetry install --no-interaction"]
    } else {
        &["poetry install --no-interaction --no-root"]
    }
}

/// Whether the project of Poetry is a package itself, which the server may import.
fn has_package(place: &ProgramFolder<'_>, table: &toml::Value) -> bool {
    let name = ["tool.poetry.name", "project.name"]
        .into_iter()
        .find_map(|path| at(table, path));
    let name = name.and_then(toml::Value::as_str).unwrap_or_default();
    let name = name.replace(['-', '.'], "_").to_lowercase();
    let folders = [name.clone(), format!("src/{name}")];
    !name.is_empty()
        && folders
            .iter()
            .any(|folder| place.folder.join(folder).is_dir())
}

fn at<'a>(table: &'a toml::Value, path: &str) -> Option<&'a toml::Value> {
    path.split('.').try_fold(table, |table, key| table.get(key))
}

fn needs_packages(table: &toml::Value, path: &str) -> bool {
    match at(table, path) {
        Some(toml::Value::Array(packages)) => !packages.is_empty(),
        Some(toml::Value::Table(packages)) => packages.keys().any(|name| name != "python"),
        _ => false,
    }
}

fn python_files(root: &Path) -> Vec<SourceFile> {
    // A folder with files that describe it is a project of its own.
    let is_own = |folder: &Path| !FILES.iter().any(|file| folder.join(file).is_file());
    let files = sources(root, 2, is_own).filter(|path| {
        let name = name_of(path);
        let is_test_or_hidden = name.starts_with("test_") || name.starts_with(['.', '_']);
        name == "__init__.py" || name.ends_with(".py") && !is_test_or_hidden
    });
    let files = files.take(MOST_FILES).filter_map(|path| {
        let below = path.strip_prefix(root).unwrap_or(&path);
        Some(SourceFile {
            path: below.display().to_string(),
            text: text(&path)?,
        })
    });
    files.collect()
}

/// The program that runs the application in a file, and its arguments, if there is one.
fn python_command(
    path: &str,
    module: &str,
    text: &str,
    needed: &str,
) -> Option<(&'static str, String)> {
    let app = |class: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once('='));
        lines.find_map(|(name, value)| {
            let name = name.split(':').next().unwrap_or(name).trim_end();
            let is_name =
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            (is_name && value.trim_start().starts_with(&format!("{class}("))).then_some(name)
        })
    };
    let mut on_uvicorn = ["FastAPI", "Starlette", "Litestar", "Quart"].into_iter();
    if let Some(name) = on_uvicorn.find_map(app) {
        let arguments = format!("{module}:{name} --host {{host}} --port {{port}} --no-access-log");
        return Some(("uvicorn", arguments));
    }
    if let Some(name) = app("Flask") {
        return Some(if needed.contains("gunicorn") {
            let arguments = format!("-b {{host}}:{{port}} -w {{cpus}} {module}:{name}");
            ("gunicorn", arguments)
        } else {
            let arguments = format!("--app {module}:{name} run --host {{host}} --port {{port}}");
            ("flask", arguments)
        });
    }
    if path == "manage.py" && text.contains("django") {
        let arguments = "manage.py runserver {host}:{port} --noreload";
        return Some(("python", arguments.to_owned()));
    }
    let is_program = text.contains("__main__") || !path.contains('/');
    let serves = [
        "HTTPServer(",
        "serve_forever(",
        "make_server(",
        "web.run_app(",
        "uvicorn.run(",
    ];
    let is_server = serves.iter().any(|call| text.contains(call));
    (is_program && is_server).then(|| ("python", path.to_owned()))
}
