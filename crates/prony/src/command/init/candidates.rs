//! The programs of a folder that may be servers, found by the files of the languages' own tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The most candidates that are looked at.
const MOST: usize = 8;
/// The most Python files that are read.
const MOST_FILES: usize = 200;
/// The most bytes that are read of a file.
const MOST_BYTES: u64 = 1 << 20;

/// What only a shell understands.
const FOR_A_SHELL: [char; 8] = ['&', '|', ';', '<', '>', '$', '`', '*'];

/// A program that may be a server, and how to build and run it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// Its name in `prony.toml`.
    pub id: String,
    /// What it was found by: `Cargo.toml`.
    pub found_by: &'static str,
    pub language: &'static str,
    /// Commands, as text.
    pub build: Vec<String>,
    pub run: String,
    /// Variables beside `HOST` and `PORT`.
    pub env: Vec<(&'static str, &'static str)>,
}

/// The candidates in `folder`, the most likely first.
pub fn look(folder: &Path) -> Vec<Candidate> {
    let kinds: [fn(&Path) -> Vec<Candidate>; 6] = [rust, go, node, java, ruby, python];
    let mut candidates: Vec<Candidate> = kinds.iter().flat_map(|look| look(folder)).collect();
    if candidates.len() > MOST {
        errln!("note: Prony looks at the first {MOST} programs only; name another with --run");
        candidates.truncate(MOST);
    }
    for index in 0..candidates.len() {
        let id = candidates[index].id.clone();
        if candidates[..index].iter().any(|other| other.id == id) {
            candidates[index].id = format!("{id}-{}", index + 1);
        }
    }
    candidates
}

/// A name as an id: lower-case letters, digits and hyphens.
pub fn id_of(name: &str) -> String {
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

fn id_of_folder(folder: &Path) -> String {
    id_of(&folder.file_name().unwrap_or_default().to_string_lossy())
}

fn text(file: &Path) -> Option<String> {
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
fn rust(folder: &Path) -> Vec<Candidate> {
    if !folder.join("Cargo.toml").is_file() {
        return Vec::new();
    }
    let command = ["cargo", "metadata", "--no-deps", "--format-version", "1"];
    let metadata = printed(folder, &command);
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
            found_by: "Cargo.toml",
            language: "Rust",
            build: vec![format!("cargo build --release --bin {name}")],
            run: format!("{{cargo_target}}/release/{name}"),
            ..Candidate::default()
        })
        .collect()
}

/// The main packages of the module.
fn go(folder: &Path) -> Vec<Candidate> {
    if !folder.join("go.mod").is_file() {
        return Vec::new();
    }
    let listed = printed(
        folder,
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
            let below = Path::new(dir).strip_prefix(folder).ok()?;
            let id = id_of(import.rsplit('/').next()?);
            let package = match below.as_os_str().is_empty() {
                true => ".".to_owned(),
                false => format!("./{}", below.display()),
            };
            Some(Candidate {
                build: vec![format!("go build -o {{out}}/{id} {package}")],
                run: format!("{{out}}/{id}"),
                id,
                found_by: "go.mod",
                language: "Go",
                ..Candidate::default()
            })
        })
        .collect()
}

/// The script `start`, or else the main file.
fn node(folder: &Path) -> Vec<Candidate> {
    let package: Option<Value> =
        text(&folder.join("package.json")).and_then(|text| serde_json::from_str(&text).ok());
    let Some(package) = package else {
        return Vec::new();
    };
    let main = package["main"]
        .as_str()
        .filter(|main| folder.join(main).is_file());
    let usual = ["server.js", "index.js", "app.js", "server.mjs", "index.mjs"];
    let main = main.or_else(|| usual.into_iter().find(|file| folder.join(file).is_file()));
    let run = match (package["scripts"]["start"].as_str(), main) {
        // npm would be one more process between Prony and the server.
        (Some(start), _) if start.starts_with("node ") && !start.contains(FOR_A_SHELL) => {
            start.to_owned()
        }
        (Some(_), _) => "npm start".to_owned(),
        (None, Some(main)) => format!("node {main}"),
        (None, None) => return Vec::new(),
    };
    let mut build = Vec::new();
    let has_any = |field: &str| {
        package[field]
            .as_object()
            .is_some_and(|all| !all.is_empty())
    };
    if has_any("dependencies") || has_any("devDependencies") {
        let is_locked = folder.join("package-lock.json").is_file();
        build.push(if is_locked { "npm ci" } else { "npm install" }.to_owned());
    }
    if package["scripts"]["build"].is_string() {
        build.push("npm run build".to_owned());
    }
    let id = package["name"]
        .as_str()
        .map_or_else(|| id_of_folder(folder), id_of);
    vec![Candidate {
        id,
        found_by: "package.json",
        language: "JavaScript",
        build,
        run,
        ..Candidate::default()
    }]
}

/// The archive that Maven or Gradle builds.
fn java(folder: &Path) -> Vec<Candidate> {
    let pom = text(&folder.join("pom.xml"));
    let gradle = ["build.gradle", "build.gradle.kts"].map(|file| text(&folder.join(file)));
    let gradle = gradle.into_iter().flatten().next();
    let (found_by, build, archives, description) = match (pom, gradle) {
        (Some(pom), _) => (
            "pom.xml",
            "mvn --quiet package -DskipTests",
            "target/*.jar",
            pom,
        ),
        (None, Some(gradle)) => (
            "build.gradle",
            "./gradlew --quiet build -x test",
            "build/libs/*.jar",
            gradle,
        ),
        (None, None) => return Vec::new(),
    };
    let is_spring = description.contains("spring-boot");
    vec![Candidate {
        id: id_of_folder(folder),
        found_by,
        language: "Java",
        build: vec![build.to_owned()],
        run: format!("sh -c 'exec java -jar {archives}'"),
        env: match is_spring {
            true => vec![("SERVER_ADDRESS", "{host}"), ("SERVER_PORT", "{port}")],
            false => Vec::new(),
        },
    }]
}

/// Rails, or the application of config.ru.
fn ruby(folder: &Path) -> Vec<Candidate> {
    let Some(gems) = text(&folder.join("Gemfile")) else {
        return Vec::new();
    };
    let run = if folder.join("bin/rails").is_file() {
        "bin/rails server -b {host} -p {port}"
    } else if !folder.join("config.ru").is_file() {
        return Vec::new();
    } else if gems.contains("puma") {
        "bundle exec puma -b tcp://{host}:{port}"
    } else {
        "bundle exec rackup --host {host} --port {port}"
    };
    vec![Candidate {
        id: id_of_folder(folder),
        found_by: "Gemfile",
        language: "Ruby",
        build: vec!["bundle install --quiet".to_owned()],
        run: run.to_owned(),
        ..Candidate::default()
    }]
}

/// The applications of common frameworks, or else a program that uses a server of the standard library.
fn python(folder: &Path) -> Vec<Candidate> {
    let requirements = text(&folder.join("requirements.txt"));
    let project = text(&folder.join("pyproject.toml"));
    let needed = [requirements.as_deref(), project.as_deref()].into_iter();
    let needed: String = needed.flatten().collect();
    let has_dependencies = project.as_deref().is_some_and(has_dependencies);
    let install = match (&requirements, has_dependencies) {
        (Some(_), _) => Some("{out}/venv/bin/pip install --quiet -r requirements.txt"),
        (None, true) => Some("{out}/venv/bin/pip install --quiet ."),
        (None, false) => None,
    };
    let build =
        install.map(|install| vec!["python3 -m venv {out}/venv".to_owned(), install.to_owned()]);
    let program = |name: &str| match &build {
        Some(_) => format!("{{out}}/venv/bin/{name}"),
        None if name == "python" => "python3".to_owned(),
        None => name.to_owned(),
    };
    let mut files = Vec::new();
    python_files(folder, folder, 0, &mut files);
    let apps = files.iter().filter_map(|(path, text)| {
        let module = path.trim_end_matches(".py").replace('/', ".");
        let module = module.trim_end_matches(".__init__");
        python_command(path, module, text, &needed, &program)
    });
    apps.map(|run| Candidate {
        id: id_of_folder(folder),
        found_by: match (&requirements, &project) {
            (Some(_), _) => "requirements.txt",
            (None, Some(_)) => "pyproject.toml",
            (None, None) => "a Python file",
        },
        language: "Python",
        build: build.clone().unwrap_or_default(),
        run,
        ..Candidate::default()
    })
    .collect()
}

fn has_dependencies(project: &str) -> bool {
    let project: Option<toml::Table> = project.parse().ok();
    let own = project
        .as_ref()
        .and_then(|all| all.get("project")?.get("dependencies")?.as_array());
    own.is_some_and(|all| !all.is_empty())
}

/// The Python files up to two folders below, with their texts, by their paths.
fn python_files(root: &Path, folder: &Path, depth: usize, files: &mut Vec<(String, String)>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    for path in paths {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if files.len() >= MOST_FILES || name.starts_with(['.', '_']) && name != "__init__.py" {
            continue;
        }
        let is_other =
            ["tests", "test", "venv", "node_modules", "migrations"].contains(&name.as_str());
        if path.is_dir() && depth < 2 && !is_other {
            python_files(root, &path, depth + 1, files);
        } else if name.ends_with(".py") && !name.starts_with("test_") {
            let below = path
                .strip_prefix(root)
                .unwrap_or(&path)
                .display()
                .to_string();
            files.extend(text(&path).map(|text| (below, text)));
        }
    }
}

/// How to run the application in a file, if there is one.
fn python_command(
    path: &str,
    module: &str,
    text: &str,
    needed: &str,
    program: &dyn Fn(&str) -> String,
) -> Option<String> {
    let app = |class: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once('='));
        lines.find_map(|(name, value)| {
            let name = name.split(':').next().unwrap_or(name).trim_end();
            let is_name =
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            (is_name && value.trim_start().starts_with(&format!("{class}("))).then_some(name)
        })
    };
    if let Some(name) = ["FastAPI", "Starlette", "Litestar", "Quart"]
        .into_iter()
        .find_map(app)
    {
        let uvicorn = program("uvicorn");
        return Some(format!(
            "{uvicorn} {module}:{name} --host {{host}} --port {{port}} --no-access-log"
        ));
    }
    if let Some(name) = app("Flask") {
        return Some(match needed.contains("gunicorn") {
            true => format!(
                "{} -b {{host}}:{{port}} -w {{cpus}} {module}:{name}",
                program("gunicorn")
            ),
            false => format!(
                "{} --app {module}:{name} run --host {{host}} --port {{port}}",
                program("flask")
            ),
        });
    }
    if path == "manage.py" && text.contains("django") {
        return Some(format!(
            "{} manage.py runserver {{host}}:{{port}} --noreload",
            program("python")
        ));
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
    (is_program && is_server).then(|| format!("{} {path}", program("python")))
}

#[cfg(test)]
mod tests;
