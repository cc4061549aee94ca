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
        assert_found(&[("package.json", &start(command))], &[], "npm start");
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
    let pom = "<artifactId>spring-boot-starter-web</artifactId>";
    let found = look(folder(&[("pom.xml", pom)]).path());
    assert_eq!(found[0].run, "sh -c 'exec java -jar target/*.jar'");
    let env = [("SERVER_ADDRESS", "{host}"), ("SERVER_PORT", "{port}")];
    assert_eq!(found[0].env, env);
}

#[test]
fn ruby_applications_are_started_by_what_the_gemfile_names() {
    let files = [("Gemfile", "gem 'puma'"), ("config.ru", "run App")];
    let install = ["bundle install --quiet"];
    assert_found(&files, &install, "bundle exec puma -b tcp://{host}:{port}");
}

#[test]
fn an_id_has_only_letters_digits_and_hyphens() {
    assert_eq!(id_of("@Me/My_Shop"), "me-my-shop");
    assert_eq!(id_of("..."), "server");
}
