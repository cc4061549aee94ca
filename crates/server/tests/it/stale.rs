//! Changes outside a server's folder that its build uses are built.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{GO_ON, supervisor};
use prony_server::{BuildError, Built, Freshness, Layout, Server, build};
use tempfile::TempDir;

/// A project, and beside it a server and its inputs.
struct Ground {
    folder: TempDir,
    layout: Layout,
}

impl Ground {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path().join("project"));
        Self { folder, layout }
    }

    fn write(&self, path: &str, content: &str) -> PathBuf {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// The manifest of `server` with these additional lines.
    fn manifest(&self, lines: &str) {
        let manifest = format!(
            r#"
title = "Server"
language = "any"
framework = "none"
class = "framework"
workloads = ["hello"]
{lines}
"#
        );
        self.write("server/server.toml", &manifest);
    }

    fn try_build(&self) -> Result<Built, BuildError> {
        let server = Server::open(&self.folder.path().join("server")).unwrap();
        let (server, reuse) = (server.buildable().unwrap(), Freshness::IfUnchanged);
        build(server, &self.layout, &[], &supervisor(), reuse, &GO_ON)
    }

    fn build(&self) -> Built {
        self.try_build().unwrap()
    }

    fn failure(&self) -> String {
        self.try_build().unwrap_err().to_string()
    }

    /// Whether it was rebuilt, and what the built program prints.
    fn built(&self) -> (bool, String) {
        let built = self.build();
        let output = Command::new(built.run[0].to_string()).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        (built.build_s.is_some(), said.trim().to_owned())
    }
}

/// A build that runs whenever one of its inputs has changed.
const SCRIPT: &str = r#"
build = [["sh", "-c", "touch {out}/server"]]
artefacts = ["{out}/server"]
run = ["{out}/server"]
"#;

fn is_here(program: &str) -> bool {
    let here = Command::new(program).arg("version").output().is_ok();
    let required = std::env::var_os("PRONY_REQUIRE_TOOLCHAINS").is_some_and(|value| value == "1");
    assert!(here || !required, "{program} is not here");
    if !here {
        eprintln!("LEFT OUT: {program} is not installed");
    }
    here
}

#[test]
fn a_path_dependency_of_cargo() {
    let ground = Ground::new();
    ground.manifest(
        r#"
build = [["cargo", "build", "--offline"]]
artefacts = ["{cargo_target}/debug/server"]
run = ["{cargo_target}/debug/server"]
"#,
    );
    let package = |name: &str| format!("[package]\nname = \"{name}\"\nedition = \"2021\"\n");
    let own = package("server") + "[dependencies]\nframework = { path = \"../framework\" }\n";
    ground.write("server/Cargo.toml", &own);
    ground.write(
        "server/src/main.rs",
        "fn main() { println!(\"{}\", framework::name()); }",
    );
    ground.write("framework/Cargo.toml", &package("framework"));
    let framework = |name: &str| {
        let source = format!("pub fn name() -> &'static str {{ \"{name}\" }}");
        ground.write("framework/src/lib.rs", &source);
    };
    framework("old");
    assert_eq!(ground.built(), (true, "old".into()));
    // The first build wrote Cargo.lock, which is a source.
    ground.build();
    assert_eq!(ground.built(), (false, "old".into()), "nothing is new");
    framework("new");
    assert_eq!(ground.built(), (true, "new".into()));
}

#[test]
fn a_module_that_go_replaces() {
    if !is_here("go") {
        return;
    }
    let ground = Ground::new();
    ground.manifest(
        r#"
build = [["go", "build", "-o", "{out}/server", "."]]
artefacts = ["{out}/server"]
run = ["{out}/server"]
env = { GOPROXY = "off", GOFLAGS = "-mod=mod" }
"#,
    );
    ground.write(
        "server/go.mod",
        "module example.org/server\n\ngo 1.20\n\nrequire example.org/framework v0.0.0\n\n\
         replace example.org/framework => ../framework\n",
    );
    ground.write(
        "server/main.go",
        "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.org/framework\"\n)\n\n\
         func main() { fmt.Println(framework.Name()) }\n",
    );
    ground.write(
        "framework/go.mod",
        "module example.org/framework\n\ngo 1.20\n",
    );
    let framework = |name: &str| {
        let source = format!("package framework\n\nfunc Name() string {{ return \"{name}\" }}\n");
        ground.write("framework/framework.go", &source);
    };
    framework("old");
    assert_eq!(ground.built(), (true, "old".into()));
    assert_eq!(ground.built(), (false, "old".into()), "nothing is new");
    framework("new");
    assert_eq!(ground.built(), (true, "new".into()));
}

/// Checks that a change of each of these files is built exactly once.
fn is_seen(ground: &Ground, files: &[&str]) -> Vec<bool> {
    ground.build();
    assert_eq!(ground.build().build_s, None, "nothing is new");
    let change = |file: &&str| {
        let path = ground.folder.path().join(file);
        let content = fs::read_to_string(&path).unwrap_or_default();
        ground.write(file, &(content + " "));
        let seen = ground.build().build_s.is_some();
        assert_eq!(ground.build().build_s, None, "{file} is new once only");
        seen
    };
    files.iter().map(change).collect()
}

#[test]
fn packages_that_a_package_json_links() {
    let ground = Ground::new();
    ground.manifest(SCRIPT);
    ground.write(
        "server/package.json",
        r#"{"dependencies": {"framework": "file:../framework", "left-pad": "^1.3.0"},
            "devDependencies": {"tool": "link:../tool"}}"#,
    );
    ground.write(
        "framework/package.json",
        r#"{"name": "framework", "optionalDependencies": {"core": "../core"}}"#,
    );
    ground.write("core/src/index.js", "");
    ground.write("framework/node_modules/x/index.js", "");
    ground.write("tool/index.js", "");
    ground.write("other/index.js", "");
    let files = [
        "framework/index.js",
        "core/src/index.js",
        "tool/index.js",
        "other/index.js",
        "framework/node_modules/x/index.js",
    ];
    assert_eq!(is_seen(&ground, &files), [true, true, true, false, false]);
}

#[test]
fn members_of_an_npm_workspace() {
    for workspaces in [
        r#"["packages/*", "server", "!packages/old"]"#,
        r#"{"packages": ["./packages/*/", "server", "!packages/old"]}"#,
    ] {
        let ground = Ground::new();
        ground.manifest(SCRIPT);
        ground.write(
            "package.json",
            &format!(r#"{{"workspaces": {workspaces}}}"#),
        );
        ground.write(
            "server/package.json",
            r#"{"name": "server", "dependencies": {"framework": "*", "old": "*"}}"#,
        );
        ground.write(
            "packages/framework/package.json",
            r#"{"name": "framework", "dependencies": {"core": "workspace:*"}}"#,
        );
        ground.write("packages/core/package.json", r#"{"name": "core"}"#);
        ground.write("packages/unused/package.json", r#"{"name": "unused"}"#);
        ground.write("packages/old/package.json", r#"{"name": "old"}"#);
        let files = [
            "packages/framework/index.js",
            "packages/core/index.js",
            "packages/unused/index.js",
            "packages/old/index.js",
        ];
        assert_eq!(
            is_seen(&ground, &files),
            [true, true, false, false],
            "{workspaces}"
        );
    }
}

#[test]
fn folders_and_patterns_of_inputs() {
    let ground = Ground::new();
    let inputs = "inputs = [\"../framework\", \"../lib/**/*.{c,h}\", \"../one.txt\"]\n";
    ground.manifest(&(inputs.to_owned() + SCRIPT));
    ground.write("framework/src/deep/a.py", "");
    ground.write("framework/target/made", "");
    ground.write("lib/a.c", "");
    ground.write("lib/src/b.h", "");
    ground.write("lib/src/notes.txt", "");
    ground.write("one.txt", "");
    let files = [
        "framework/src/deep/a.py",
        "framework/new.py",
        "framework/target/made",
        "lib/a.c",
        "lib/src/b.h",
        "lib/src/notes.txt",
        "one.txt",
        "two.txt",
    ];
    let seen = [true, true, false, true, true, false, true, false];
    assert_eq!(is_seen(&ground, &files), seen);
    fs::remove_file(ground.folder.path().join("lib/a.c")).unwrap();
    assert!(ground.build().build_s.is_some(), "a file less is a change");
}

#[test]
fn a_missing_input_is_reported() {
    let ground = Ground::new();
    for (input, named) in [
        (
            "../gone",
            "/gone does not exist, but the manifest lists it under `inputs`",
        ),
        ("../gone/*.c", "/gone does not exist"),
        ("../lib/*.c", "/lib/*.c does not exist"),
    ] {
        ground.write("lib/a.h", "");
        ground.manifest(&format!("inputs = [\"{input}\"]\n{SCRIPT}"));
        let failure = ground.failure();
        assert!(failure.contains(named), "{failure}");
    }
}

#[test]
fn too_many_files_are_rejected() {
    let ground = Ground::new();
    ground.manifest(&format!("inputs = [\"../loop\"]\n{SCRIPT}"));
    ground.write("loop/a", "");
    // Each folder leads back to the top twice: without a bound, 2^32 of them.
    for name in ["one", "two"] {
        std::os::unix::fs::symlink(".", ground.folder.path().join("loop").join(name)).unwrap();
    }
    let failure = ground.failure();
    assert!(
        failure.contains("folders are nested too deeply")
            || failure.contains("more than 100000 files"),
        "{failure}"
    );
    assert!(
        failure.contains(Path::new("loop").to_str().unwrap()),
        "{failure}"
    );
}
