use std::fs;
use std::process::Command;

use prony_testkit::table::rows;

use super::*;

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::Builder::new().prefix("shop").tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn commands(files: &[(&str, &str)]) -> Vec<(Vec<String>, String)> {
    let folder = folder(files);
    let found = look(folder.path()).into_iter();
    found.map(|one| (one.build, one.run)).collect()
}

/// These files are those of one server, which is built and run by these commands.
#[track_caller]
fn assert_found(files: &[(&str, &str)], build: &[&str], run: &str) {
    let build = build.iter().map(|text| (*text).to_owned()).collect();
    assert_eq!(commands(files), [(build, run.to_owned())]);
}

#[test]
fn a_folder_without_a_server_has_no_candidates() {
    assert_eq!(commands(&[]), []);
    assert_eq!(commands(&[("package.json", "{")]), []);
    assert_eq!(commands(&[("Gemfile", "gem 'rake'")]), []);
    let library = "def serve(): return HTTPServer(('', 1), Handler)\n";
    let test = ("tests/test_it.py", "app = Flask(__name__)");
    assert_eq!(commands(&[("lib/thing.py", library), test]), []);
}

#[test]
fn every_program_of_a_cargo_package_is_a_candidate() {
    let manifest = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let files = [
        ("Cargo.toml", manifest),
        ("src/main.rs", ""),
        ("src/bin/other.rs", ""),
    ];
    let mut runs: Vec<String> = commands(&files).into_iter().map(|(_, run)| run).collect();
    runs.sort();
    let programs = ["other", "shop"].map(|name| format!("{{cargo_target}}/release/{name}"));
    assert_eq!(runs, programs);
}

#[test]
fn npm_is_used_only_if_it_is_needed() {
    let package = |more: &str| format!("{{ \"name\": \"@me/shop\", {more} }}");
    let start = |command: &str| package(&format!("\"scripts\": {{ \"start\": \"{command}\" }}"));
    let plain = package("\"main\": \"server.js\"");
    let files = [("package.json", &*plain), ("server.js", "")];
    assert_found(&files, &[], "node server.js");
    assert_eq!(look(folder(&files).path())[0].id, "me-shop");
    let built = package(
        "\"scripts\": { \"start\": \"node --enable-source-maps dist/a.js\", \"build\": \"tsc\" }, \"dependencies\": { \"a\": \"1\" }",
    );
    let files = [("package.json", &*built), ("package-lock.json", "{}")];
    let run = "node --enable-source-maps dist/a.js";
    assert_found(&files, &["npm ci", "npm run build"], run);
    for command in ["node build.js && node server.js", "next start"] {
        assert_found(&[("package.json", &start(command))], &[], "npm run start");
    }
}

/// A package with a dependency, and these other files, which are empty.
fn with_dependency<'a>(more: &str, files: &'a str) -> Vec<(&'a str, String)> {
    let package =
        format!("{{ \"main\": \"server.js\", \"dependencies\": {{ \"a\": \"1\" }} {more} }}");
    let others = files.split_whitespace().map(|file| (file, String::new()));
    let own = [("package.json", package), ("server.js", String::new())];
    own.into_iter().chain(others).collect()
}

#[test]
fn the_lockfile_decides_how_packages_are_installed() {
    for [files, manager, install, need] in rows(
        r#"
        package-lock.json | "" | npm ci | ""
        pnpm-lock.yaml | "" | pnpm install --frozen-lockfile | pnpm
        yarn.lock | "" | yarn install --frozen-lockfile | yarn
        yarn.lock .yarnrc.yml | "" | yarn install --immutable | yarn
        bun.lock | "" | bun install --frozen-lockfile | bun
        bun.lockb package-lock.json | "" | bun install --frozen-lockfile | bun
        // The field decides between two, and if there is none; nothing is written without one.
        bun.lockb package-lock.json | npm@11.0.0 | npm ci | ""
        pnpm-lock.yaml | npm@11.0.0 | pnpm install --frozen-lockfile | pnpm
        "" | pnpm@9.1.0 | pnpm install --no-lockfile | pnpm
        "" | "" | npm install --no-package-lock | ""
    "#,
    ) {
        let more = match manager {
            "" => String::new(),
            manager => format!(", \"packageManager\": \"{manager}\""),
        };
        let files = with_dependency(&more, files);
        let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (*file, &**text)).collect();
        let found = look(folder(&files).path());
        let built = found[0].build.join(", ");
        assert_eq!(
            (&*built, &*found[0].run),
            (install, "node server.js"),
            "{files:?}"
        );
        assert!(
            found[0].needs.join(", ").contains(need),
            "{:?}",
            found[0].needs
        );
        assert_eq!(found[0].needs.is_empty(), need.is_empty(), "{files:?}");
    }
}

/// A workspace of pnpm with a program and a library.
const WORKSPACE: [(&str, &str); 6] = [
    ("package.json", "{ \"private\": true }"),
    ("pnpm-workspace.yaml", "packages: [apps/*]"),
    ("pnpm-lock.yaml", ""),
    (
        "apps/api/package.json",
        "{ \"name\": \"@x/api\", \"scripts\": { \"start\": \"tsx a.ts\" }, \"dependencies\": { \"lib\": \"workspace:*\" } }",
    ),
    ("packages/lib/package.json", "{ \"main\": \"index.js\" }"),
    ("packages/lib/index.js", ""),
];

#[test]
fn the_programs_of_a_workspace_are_found_from_its_root_and_from_their_folders() {
    let workspace = folder(&WORKSPACE);
    let found = look(workspace.path());
    assert_eq!(found.len(), 1, "{found:?}");
    let api = &found[0];
    let place = (&*api.id, &*api.folder, &*api.found_by);
    assert_eq!(place, ("x-api", "apps/api", "apps/api/package.json"));
    assert_eq!(api.inputs, ["../../pnpm-lock.yaml"]);
    assert_eq!(api.build, ["pnpm install --frozen-lockfile"]);
    assert_eq!(api.run, "pnpm run start");
    let own = Candidate {
        folder: String::new(),
        found_by: "package.json".to_owned(),
        ..api.clone()
    };
    assert_eq!(look(&workspace.path().join("apps/api")), [own]);
}

#[test]
fn programs_below_are_found_if_the_folder_has_none_that_is_described() {
    let server = (
        "tools/dev.py",
        "if __name__ == '__main__': HTTPServer(a, b)",
    );
    let below = |files: &[(&str, &str)]| {
        let found = look(folder(&[files, &[server]].concat()).path());
        found.into_iter().map(|one| one.folder).collect::<Vec<_>>()
    };
    let [gemfile, rack] = [("backend/Gemfile", "puma"), ("backend/config.ru", "run A")];
    let python = ("services/api/requirements.txt", "flask");
    let app = ("services/api/app.py", "app = Flask(__name__)");
    assert_eq!(
        below(&[gemfile, rack, python, app]),
        ["backend", "services/api", ""]
    );
    let own = [("Gemfile", ""), ("config.ru", "")];
    assert_eq!(below(&[gemfile, rack, own[0], own[1]]), ["", ""]);
    assert_eq!(
        below(&[(
            "node_modules/a/package.json",
            "{ \"scripts\": { \"start\": \"a\" } }"
        )]),
        [""]
    );
}

#[test]
fn python_packages_are_installed_by_the_manager_of_the_lockfile() {
    let app = "app = Flask(__name__)";
    let poetry = "[tool.poetry]\nname = \"shop\"\n[tool.poetry.dependencies]\npython = \"^3.11\"\n";
    for [files, project, install, env] in rows(
        r#"
        uv.lock requirements.txt | "" | uv sync --frozen | UV_PROJECT_ENVIRONMENT
        poetry.lock requirements.txt | "" | poetry install --no-interaction --no-root | VIRTUAL_ENV
        poetry.lock shop/__init__.py | POETRY | poetry install --no-interaction | VIRTUAL_ENV
        // Poetry would write a lockfile into the sources.
        "" | POETRYflask = "3" | poetry --directory {out}/poetry install --no-interaction --no-root | VIRTUAL_ENV
        "" | POETRY | "" | ""
        requirements.txt | POETRY | {out}/venv/bin/pip install --quiet -r requirements.txt | ""
        "" | [project]\ndependencies = ["flask"] | {out}/venv/bin/pip install --quiet {out}/sources | ""
    "#,
    ) {
        let project = project.replace("POETRY", poetry);
        let others = files.split_whitespace().map(|file| (file, ""));
        let own = [("pyproject.toml", &*project), ("app.py", app)];
        let found = look(folder(&own.into_iter().chain(others).collect::<Vec<_>>()).path());
        assert_eq!(found.len(), 1, "{files}: {found:?}");
        let last = found[0].build.last().map_or("", String::as_str);
        assert_eq!(last, install, "{files} {project}");
        let variable = found[0].env.first().map_or("", |(name, _)| name);
        assert_eq!(variable, env, "{files}");
        let flask = if install.is_empty() {
            "flask"
        } else {
            "{out}/venv/bin/flask"
        };
        assert!(found[0].run.starts_with(flask), "{}", found[0].run);
    }
}

#[test]
fn python_applications_are_found_by_their_framework() {
    let install = [
        "python3 -m venv {out}/venv",
        "{out}/venv/bin/pip install --quiet -r requirements.txt",
    ];
    let fast = "from fastapi import FastAPI\n\napp: FastAPI = FastAPI(title='x')\n";
    assert_found(
        &[
            ("requirements.txt", "fastapi\nuvicorn"),
            ("app/main.py", fast),
        ],
        &install,
        "{out}/venv/bin/uvicorn app.main:app --host {host} --port {port} --no-access-log",
    );
    let flask = ("wsgi.py", "api = Flask(__name__)\n");
    assert_found(
        &[("requirements.txt", "flask\ngunicorn"), flask],
        &install,
        "{out}/venv/bin/gunicorn -b {host}:{port} -w {cpus} wsgi:api",
    );
    let plain = "HTTPServer(('', 1), Handler).serve_forever()\n";
    assert_found(&[("server.py", plain)], &[], "python3 server.py");
}

#[test]
fn spring_gets_its_port_by_its_own_variables() {
    for file in [
        (
            "pom.xml",
            "<artifactId>spring-boot-starter-web</artifactId>",
        ),
        (
            "build.gradle",
            "plugins { id 'org.springframework.boot' version '3.3.0' }",
        ),
        (
            "build.gradle.kts",
            "plugins { alias(libs.plugins.spring.boot) }",
        ),
    ] {
        let found = look(folder(&[file]).path());
        let env = [("SERVER_ADDRESS", "{host}"), ("SERVER_PORT", "{port}")];
        assert_eq!((&found[0].env[..], &*found[0].found_by), (&env[..], file.0));
    }
}

#[test]
fn the_executable_archive_is_started_and_no_other_one() {
    let spring = "plugins { id 'org.springframework.boot' version '3.3.0' }";
    let names = [
        "1.jar",
        "1-plain.jar",
        "1-sources.jar",
        "1-javadoc.jar",
        "1-tests.jar",
    ];
    let archives = names.map(|name| format!("build/libs/app-{name}"));
    let mut files: Vec<(&str, &str)> = archives.iter().map(|file| (&**file, "")).collect();
    files.push(("build/libs/original-app-1.jar", ""));
    files.extend([("build.gradle", spring), ("gradlew", "")]);
    let folder = folder(&files);
    let found = look(folder.path());
    assert_eq!(found[0].build, ["./gradlew --quiet bootJar"]);
    let script = found[0]
        .run
        .strip_prefix("sh -c '")
        .unwrap()
        .strip_suffix('\'');
    let script = script.unwrap().replace("exec java -jar", "echo");
    let mut shell = Command::new("sh");
    let echoed = shell.args(["-c", &script]).current_dir(folder.path());
    assert_eq!(
        String::from_utf8_lossy(&echoed.output().unwrap().stdout),
        "build/libs/app-1.jar\n"
    );
}

#[test]
fn the_modules_of_a_java_build_are_built_from_its_root() {
    let spring = "id(\"org.springframework.boot\")";
    let gradle = [
        (
            "settings.gradle.kts",
            "// include(\"old\")\ninclude(\"lib\",\n  \":services:api\")\ninclude 'cli'",
        ),
        ("lib/build.gradle", "plugins { id 'java-library' }"),
        ("services/api/build.gradle.kts", spring),
        ("cli/build.gradle", "plugins {\n  id 'application'\n}"),
    ];
    let commands = |files: &[(&str, &str)]| {
        let found = look(folder(files).path()).into_iter();
        found
            .map(|one| (one.id, one.build.join(", ")))
            .collect::<Vec<_>>()
    };
    let command = |id: &str, build: &str| (id.to_owned(), build.to_owned());
    let expected = [
        command("services-api", "gradle --quiet :services:api:bootJar"),
        command("cli", "gradle --quiet :cli:installDist"),
    ];
    assert_eq!(commands(&gradle), expected);
    let maven = [
        (
            "pom.xml",
            "<modules><module>lib</module>\n<module>web</module></modules>",
        ),
        ("mvnw", ""),
        ("lib/pom.xml", "<project/>"),
        (
            "web/pom.xml",
            "<artifactId>spring-boot-maven-plugin</artifactId>",
        ),
    ];
    let build = "./mvnw --quiet package -DskipTests -pl web -am";
    assert_eq!(commands(&maven), [command("web", build)]);
}

#[test]
fn ruby_applications_are_started_by_what_the_gemfile_names() {
    let files = [("Gemfile", "gem 'puma'"), ("config.ru", "run App")];
    let install = ["bundle install --quiet"];
    assert_found(&files, &install, "bundle exec puma -b tcp://{host}:{port}");
}

#[test]
fn no_two_ids_are_the_same() {
    let mut known = Vec::new();
    let ids = ["a", "a-2", "a", "a"].map(|id| unique(id, &mut known));
    assert_eq!(ids, ["a", "a-2", "a-3", "a-4"]);
}

#[test]
fn an_id_has_only_letters_digits_and_hyphens() {
    assert_eq!(id_of("@Me/My_Shop"), "me-my-shop");
    assert_eq!(id_of("..."), "server");
}
