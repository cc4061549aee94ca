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

fn one(build: &[&str], run: &str) -> Vec<(Vec<String>, String)> {
    let build = build.iter().map(|text| (*text).to_owned()).collect();
    vec![(build, run.to_owned())]
}

#[test]
fn an_empty_folder_has_no_candidates() {
    assert_eq!(commands(&[]), []);
    assert_eq!(commands(&[("package.json", "{")]), []);
}

#[test]
fn every_program_of_a_cargo_package_is_a_candidate() {
    let manifest = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let files = [
        ("Cargo.toml", manifest),
        ("src/main.rs", ""),
        ("src/bin/other.rs", ""),
    ];
    let found = commands(&files);
    let runs: Vec<&str> = found.iter().map(|(_, run)| run.as_str()).collect();
    assert_eq!(runs.len(), 2);
    assert!(runs.contains(&"{cargo_target}/release/shop"), "{runs:?}");
    assert!(runs.contains(&"{cargo_target}/release/other"), "{runs:?}");
}

#[test]
fn npm_is_used_only_if_it_is_needed() {
    let package = |more: &str| format!("{{ \"name\": \"@me/shop\", {more} }}");
    let plain = package("\"main\": \"server.js\"");
    let server = ("server.js", "");
    assert_eq!(
        commands(&[("package.json", &plain), server]),
        one(&[], "node server.js")
    );
    let start = package(
        "\"scripts\": { \"start\": \"node --enable-source-maps dist/a.js\", \"build\": \"tsc\" }, \"dependencies\": { \"a\": \"1\" }",
    );
    assert_eq!(
        commands(&[("package.json", &start), ("package-lock.json", "{}")]),
        one(
            &["npm ci", "npm run build"],
            "node --enable-source-maps dist/a.js"
        )
    );
    let two = package("\"scripts\": { \"start\": \"node build.js && node server.js\" }");
    assert_eq!(commands(&[("package.json", &two)]), one(&[], "npm start"));
    let tool = package("\"scripts\": { \"start\": \"next start\" }");
    assert_eq!(commands(&[("package.json", &tool)]), one(&[], "npm start"));
    let folder = folder(&[("package.json", &plain), server]);
    assert_eq!(look(folder.path())[0].id, "me-shop");
}

#[test]
fn python_applications_are_found_by_their_framework() {
    let install = [
        "python3 -m venv {out}/venv",
        "{out}/venv/bin/pip install --quiet -r requirements.txt",
    ];
    let fast = (
        "app/main.py",
        "from fastapi import FastAPI\n\napp: FastAPI = FastAPI(title='x')\n",
    );
    assert_eq!(
        commands(&[("requirements.txt", "fastapi\nuvicorn"), fast]),
        one(
            &install,
            "{out}/venv/bin/uvicorn app.main:app --host {host} --port {port} --no-access-log"
        )
    );
    let flask = ("wsgi.py", "api = Flask(__name__)\n");
    assert_eq!(
        commands(&[("requirements.txt", "flask\ngunicorn"), flask]),
        one(
            &install,
            "{out}/venv/bin/gunicorn -b {host}:{port} -w {cpus} wsgi:api"
        )
    );
    let plain = (
        "server.py",
        "HTTPServer(('', 1), Handler).serve_forever()\n",
    );
    assert_eq!(commands(&[plain]), one(&[], "python3 server.py"));
    let library = (
        "lib/thing.py",
        "def serve(): return HTTPServer(('', 1), Handler)\n",
    );
    assert_eq!(
        commands(&[library, ("tests/test_it.py", "app = Flask(__name__)")]),
        []
    );
}

#[test]
fn spring_gets_its_port_by_its_own_variables() {
    let folder = folder(&[(
        "pom.xml",
        "<artifactId>spring-boot-starter-web</artifactId>",
    )]);
    let found = look(folder.path());
    assert_eq!(found[0].run, "sh -c 'exec java -jar target/*.jar'");
    assert_eq!(
        found[0].env,
        [("SERVER_ADDRESS", "{host}"), ("SERVER_PORT", "{port}")]
    );
}

#[test]
fn ruby_applications_are_started_by_what_the_gemfile_names() {
    let rack = ("config.ru", "run App");
    assert_eq!(
        commands(&[("Gemfile", "gem 'puma'"), rack]),
        one(
            &["bundle install --quiet"],
            "bundle exec puma -b tcp://{host}:{port}"
        )
    );
    assert_eq!(commands(&[("Gemfile", "gem 'rake'")]), []);
}

#[test]
fn an_id_has_only_letters_digits_and_hyphens() {
    assert_eq!(id_of("@Me/My_Shop"), "me-my-shop");
    assert_eq!(id_of("..."), "server");
}
