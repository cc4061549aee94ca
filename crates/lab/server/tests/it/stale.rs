//! Changes outside a server's folder that its build uses are built.

use std::fs;
use std::process::Command;

use crate::support::{GO_ON, supervisor};
use prony_server::{BuildError, Built, Freshness, Layout, Server, build};
use prony_testkit::contains;
use prony_testkit::table::{refused, rows};
use tempfile::TempDir;

/// A project, and beside it a server and its inputs.
struct Fixture {
    folder: TempDir,
    layout: Layout,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path().join("project"));
        Self { folder, layout }
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
    }

    /// Writes a file for each row: its path and its content.
    fn write_all(&self, files: &str) {
        for [path, content] in rows(files) {
            self.write(path, content);
        }
    }

    /// The manifest of `server` with these additional lines.
    fn manifest(&self, lines: &str) {
        let manifest = "title = 'Server'\nlanguage = 'any'\nframework = 'none'\n\
            class = 'framework'\nworkloads = ['hello']\n";
        self.write("server/server.toml", &format!("{manifest}{lines}\n"));
    }

    fn try_build(&self) -> Result<Built, BuildError> {
        let server = Server::open(&self.folder.path().join("server")).unwrap();
        let (started, reuse) = (server.started().unwrap(), Freshness::IfUnchanged);
        build(
            &server,
            started,
            &self.layout,
            &[],
            &supervisor(),
            reuse,
            &GO_ON,
        )
    }

    fn build(&self) -> Built {
        self.try_build().unwrap()
    }

    /// Checks that the program, which prints the name of its framework, has the name that the framework was last given.
    fn assert_framework_is_built(&self, give_name: impl Fn(&str)) {
        let name_and_is_new = || {
            let built = self.build();
            let output = Command::new(built.run[0].to_string()).output().unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            (said.trim().to_owned(), built.build_s.is_some())
        };
        give_name("old");
        assert_eq!(name_and_is_new(), ("old".into(), true));
        // The first build may have written a lock file, which is a source.
        self.build();
        assert_eq!(name_and_is_new(), ("old".into(), false));
        give_name("new");
        assert_eq!(name_and_is_new(), ("new".into(), true));
    }

    /// Checks for each of these files that a change of it is built exactly once, if it is to be.
    fn assert_seen(&self, files: &[(&str, bool)]) {
        self.build();
        assert_eq!(self.build().build_s, None, "nothing is new");
        for (file, is_seen) in files {
            let path = self.folder.path().join(file);
            let content = fs::read_to_string(&path).unwrap_or_default();
            self.write(file, &(content + " "));
            assert_eq!(self.build().build_s.is_some(), *is_seen, "{file}");
            assert_eq!(self.build().build_s, None, "{file} is new once only");
        }
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
    let fixture = Fixture::new();
    fixture.manifest(
        r#"
build = [["cargo", "build", "--offline"]]
artefacts = ["{cargo_target}/debug/server"]
run = ["{cargo_target}/debug/server"]
"#,
    );
    fixture.write_all(
        r#"
        server/Cargo.toml | package = { name = "server", edition = "2021" }\ndependencies.framework.path = "../framework"
        server/src/main.rs | fn main() { println!("{}", framework::name()); }
        framework/Cargo.toml | package = { name = "framework", edition = "2021" }
    "#,
    );
    fixture.assert_framework_is_built(|name| {
        let source = format!("pub fn name() -> &'static str {{ \"{name}\" }}");
        fixture.write("framework/src/lib.rs", &source);
    });
}

#[test]
fn a_module_that_go_replaces() {
    if !is_here("go") {
        return;
    }
    let fixture = Fixture::new();
    fixture.manifest(
        r#"
build = [["go", "build", "-o", "{out}/server", "."]]
artefacts = ["{out}/server"]
run = ["{out}/server"]
env = { GOPROXY = "off", GOFLAGS = "-mod=mod" }
"#,
    );
    fixture.write_all(
        r#"
        server/go.mod | module example.org/server\ngo 1.20\nrequire example.org/framework v0.0.0\nreplace example.org/framework => ../framework\n
        server/main.go | package main\nimport ("fmt"; "example.org/framework")\nfunc main() { fmt.Println(framework.Name()) }\n
        framework/go.mod | module example.org/framework\ngo 1.20\n
    "#,
    );
    fixture.assert_framework_is_built(|name| {
        let source = format!("package framework\nfunc Name() string {{ return \"{name}\" }}\n");
        fixture.write("framework/framework.go", &source);
    });
}

#[test]
fn packages_that_a_package_json_links() {
    let fixture = Fixture::new();
    fixture.manifest(SCRIPT);
    fixture.write_all(
        r#"
        server/package.json | {"dependencies": {"framework": "file:../framework", "left-pad": "^1.3.0"}, "devDependencies": {"tool": "link:../tool"}}
        framework/package.json | {"name": "framework", "optionalDependencies": {"core": "../core"}}
        core/src/index.js | ""
        framework/node_modules/x/index.js | ""
        tool/index.js | ""
        other/index.js | ""
    "#,
    );
    fixture.assert_seen(&[
        ("framework/index.js", true),
        ("core/src/index.js", true),
        ("tool/index.js", true),
        ("other/index.js", false),
        ("framework/node_modules/x/index.js", false),
    ]);
}

#[test]
fn members_of_an_npm_workspace() {
    for workspaces in [
        r#"["packages/*", "server", "!packages/old"]"#,
        r#"{"packages": ["./packages/*/", "server", "!packages/old"]}"#,
    ] {
        let fixture = Fixture::new();
        fixture.manifest(SCRIPT);
        let workspaces = format!(r#"{{"workspaces": {workspaces}}}"#);
        fixture.write("package.json", &workspaces);
        fixture.write_all(
            r#"
            server/package.json | {"name": "server", "dependencies": {"framework": "*", "old": "*"}}
            packages/framework/package.json | {"name": "framework", "dependencies": {"core": "workspace:*"}}
            packages/core/package.json | {"name": "core"}
            packages/unused/package.json | {"name": "unused"}
            packages/old/package.json | {"name": "old"}
        "#,
        );
        fixture.assert_seen(&[
            ("packages/framework/index.js", true),
            ("packages/core/index.js", true),
            ("packages/unused/index.js", false),
            ("packages/old/index.js", false),
        ]);
    }
}

#[test]
fn folders_and_patterns_of_inputs() {
    let fixture = Fixture::new();
    let inputs = "inputs = ['../framework', '../lib/**/*.{c,h}', '../one.txt']\n";
    fixture.manifest(&(inputs.to_owned() + SCRIPT));
    let files = [
        ("framework/src/deep/a.py", true),
        ("framework/target/made", false),
        ("lib/a.c", true),
        ("lib/src/b.h", true),
        ("lib/src/notes.txt", false),
        ("one.txt", true),
    ];
    files.iter().for_each(|(file, _)| fixture.write(file, ""));
    fixture.assert_seen(&files);
    fixture.assert_seen(&[("framework/new.py", true), ("two.txt", false)]);
    fs::remove_file(fixture.folder.path().join("lib/a.c")).unwrap();
    assert!(fixture.build().build_s.is_some(), "a file less is a change");
}

#[test]
fn a_missing_input_is_reported() {
    let fixture = Fixture::new();
    fixture.write("lib/a.h", "");
    let build = |input: &str| {
        fixture.manifest(&format!("inputs = ['{input}']\n{SCRIPT}"));
        fixture.try_build()
    };
    refused(
        build,
        "
        ../gone | /gone does not exist, but the manifest lists it under `inputs`
        ../gone/*.c | /gone does not exist
        ../lib/*.c | /lib/*.c does not exist
    ",
    );
}

#[test]
fn a_loop_of_links_is_rejected() {
    let fixture = Fixture::new();
    fixture.manifest(&format!("inputs = ['../loop']\n{SCRIPT}"));
    fixture.write("loop/a", "");
    // Each folder leads back to the top twice.
    for name in ["one", "two"] {
        std::os::unix::fs::symlink(".", fixture.folder.path().join("loop").join(name)).unwrap();
    }
    let failure = fixture.try_build().unwrap_err().to_string();
    contains(&failure, "File system loop found");
}
