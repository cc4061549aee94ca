//! Builds with small shell scripts.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::support::{GO_ON, supervisor};
use prony_server::{
    BuildError, Built, CommandError, Found, Freshness, Layout, Server, Toolchain, Version, build,
};
use prony_testkit::contains;
use tempfile::TempDir;

struct Project {
    folder: TempDir,
    layout: Layout,
}

impl Project {
    fn new() -> Project {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path().canonicalize().unwrap());
        Project { folder, layout }
    }

    /// A server whose build is this script, with more lines in its manifest.
    fn server(&self, script: &str, more: &str) -> Server {
        server_in(&self.layout.own().servers().join("one"), script, more)
    }

    /// Builds it unless its sources are unchanged.
    fn build(&self, server: &Server) -> Result<Built, BuildError> {
        self.build_with(server, &[tool("python", "3.11.2")], Freshness::IfUnchanged)
    }

    fn build_with(
        &self,
        server: &Server,
        found: &[Found],
        reuse: Freshness,
    ) -> Result<Built, BuildError> {
        let started = server.started().unwrap();
        build(
            server,
            started,
            &self.layout,
            found,
            &supervisor(),
            reuse,
            &GO_ON,
        )
    }

    /// How many lines the builds have written to the file `times`.
    fn times_built(&self) -> usize {
        let text = fs::read_to_string(self.folder.path().join("times"));
        text.map_or(0, |text| text.lines().count())
    }
}

fn server_in(folder: &Path, script: &str, more: &str) -> Server {
    fs::create_dir_all(folder).unwrap();
    let manifest = format!(
        r#"
title = "One"
language = "sh"
framework = "none"
class = "stdlib"
workloads = ["hello"]
needs = ["python >= 3.0"]
build = [["sh", "-c", '''{script}''']]
run = ["{{out}}/server", "{{prony}}"]
{more}
"#
    );
    fs::write(folder.join("server.toml"), manifest).unwrap();
    Server::open(folder).unwrap()
}

/// A toolchain as found: which one does not matter, because the scripts do not use it.
fn tool(name: &str, version: &str) -> Found {
    Found {
        tool: Toolchain::named(name).unwrap().clone(),
        path: format!("/usr/bin/{name}").into(),
        version: Version::parse(version).unwrap(),
    }
}

const ARTEFACT: &str = "artefacts = [\"{out}/server\"]\nversion = { toolchain = \"python\" }";

#[test]
fn the_same_sources_are_built_once() {
    let project = Project::new();
    let script = "echo x >> ../../times; printf 12345 > {out}/server; echo $CARGO_TARGET_DIR";
    let one = project.server(script, ARTEFACT);
    let built = project.build(&one).unwrap();
    assert_eq!(built.artefact_bytes, Some(5));
    assert!(built.build_s.is_some());
    assert_eq!(built.version, Some("3.11.2".to_owned()));
    let out = format!("one-{}", one.started().unwrap().short_hash());
    let artefact = project.layout.builds().join(out).join("server");
    assert_eq!(built.run[0].to_string(), artefact.to_string_lossy());
    assert_eq!(Path::new(&built.run[1].to_string()), supervisor().path());
    let log = fs::read_to_string(&built.log).unwrap();
    assert_eq!(log.trim(), project.layout.cargo_target().to_string_lossy());

    let again = project.build(&one).unwrap();
    assert_eq!((again.build_s, again.run), (None, built.run));
    assert_eq!(project.times_built(), 1);

    // An artefact that was replaced or removed is built again.
    fs::write(&artefact, "123456").unwrap();
    assert_eq!(project.build(&one).unwrap().artefact_bytes, Some(5));
    fs::remove_file(&artefact).unwrap();
    assert_eq!(project.build(&one).unwrap().artefact_bytes, Some(5));
    assert_eq!(project.times_built(), 3);

    fs::write(one.folder.join("source"), "new").unwrap();
    let changed = Server::open(&one.folder).unwrap();
    assert!(project.build(&changed).unwrap().build_s.is_some());
    assert_eq!(project.times_built(), 4);
}

#[test]
fn what_is_missing_in_the_folder_is_built_again() {
    let project = Project::new();
    let one = project.server("echo x >> ../../times; mkdir -p node_modules", "");
    project.build(&one).unwrap();
    fs::write(one.folder.join("later.log"), "").unwrap();
    assert_eq!(project.build(&one).unwrap().build_s, None);
    fs::remove_dir(one.folder.join("node_modules")).unwrap();
    assert!(project.build(&one).unwrap().build_s.is_some());
    assert!(one.folder.join("node_modules").exists());
    assert_eq!(project.times_built(), 2);
}

#[test]
fn a_failed_build_reports_its_last_lines_and_is_tried_again() {
    let project = Project::new();
    let script = "for i in $(seq 1 50); do echo line $i; done; echo broken >&2; exit 4";
    let one = project.server(script, "");
    for _ in 0..2 {
        match project.build(&one).unwrap_err() {
            BuildError::Command(CommandError::Failed { exit, tail, .. }) => {
                assert_eq!(exit.to_string(), "ended with exit code 4");
                let is_end = tail.starts_with("line 32\n") && tail.ends_with("line 50\nbroken");
                assert!(is_end, "{tail}");
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_missing_artefact_is_reported_with_its_name() {
    let project = Project::new();
    let one = project.server("echo done", ARTEFACT);
    let error = project.build(&one).unwrap_err();
    assert!(matches!(error, BuildError::NoArtefact { .. }), "{error}");
    contains(&error.to_string(), "/server");
}

#[test]
fn a_build_can_be_interrupted() {
    let project = Project::new();
    let one = project.server("sleep 600", "");
    let (started, interrupt) = (one.started().unwrap(), AtomicBool::new(true));
    let (supervisor, reuse) = (supervisor(), Freshness::IfUnchanged);
    let error = build(
        &one,
        started,
        &project.layout,
        &[],
        &supervisor,
        reuse,
        &interrupt,
    )
    .unwrap_err();
    assert!(matches!(error, BuildError::Interrupted), "{error}");
}

#[test]
fn an_input_outside_the_folder_counts_as_a_source() {
    let project = Project::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let workloads = project.layout.own().workloads();
    fs::create_dir_all(&workloads).unwrap();
    // The server may be anywhere; the workloads are the project's.
    let script = "cat {workloads}/echo.proto > {out}/server";
    let more = "inputs = [\"{workloads}/echo.proto\"]\nartefacts = [\"{out}/server\"]";
    let one = server_in(&elsewhere.path().join("one"), script, more);
    let error = project.build(&one).unwrap_err();
    assert!(matches!(error, BuildError::NoInput { .. }), "{error}");
    let missing = "workloads/echo.proto does not exist, but the manifest lists";
    contains(&error.to_string(), missing);
    for (content, is_new) in [("old", true), ("old", false), ("new", true)] {
        fs::write(workloads.join("echo.proto"), content).unwrap();
        let built = project.build(&one).unwrap();
        assert_eq!(built.build_s.is_some(), is_new);
        let artefact = fs::read_to_string(built.run[0].to_string()).unwrap();
        assert_eq!(artefact, content);
    }
}

#[test]
fn a_rebuild_always_runs_the_commands() {
    let project = Project::new();
    let script = "echo x >> ../../times; test ! -e {out}/old; touch {out}/old {out}/server";
    let one = project.server(script, ARTEFACT);
    project.build(&one).unwrap();
    assert_eq!(project.build(&one).unwrap().build_s, None);
    // Leftovers of the first build would make it fail.
    let built = project.build_with(&one, &[tool("python", "3.11.2")], Freshness::Rebuild);
    assert!(built.unwrap().build_s.is_some());
    assert_eq!(project.times_built(), 2);
}

#[test]
fn builds_that_share_packages_wait_for_each_other() {
    let project = &Project::new();
    // A second build that runs while the folder exists would fail.
    let script = "mkdir {packages}/busy && sleep 0.05 && rmdir {packages}/busy";
    std::thread::scope(|scope| {
        for id in ["one", "two", "three"] {
            let one = server_in(&project.layout.own().servers().join(id), script, "");
            scope.spawn(move || project.build(&one).unwrap());
        }
    });
    assert!(project.layout.packages().is_dir());
}

#[test]
fn build_and_run_get_the_home_of_a_toolchain_that_has_one() {
    let project = Project::new();
    let home = project.layout.root().join("made-up");
    let bin = home.join("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join("prony-made-up-tool"), "").unwrap();
    let toolchain = Toolchain {
        name: "made-up".to_owned(),
        program: "prony-made-up-tool".to_owned(),
        home_variable: Some("MADE_UP_HOME".to_owned()),
        ..Toolchain::default()
    };
    let found = [Found {
        tool: toolchain.into(),
        path: bin.join("prony-made-up-tool"),
        version: Version::parse("1.0").unwrap(),
    }];
    let one = project.server("echo $MADE_UP_HOME; echo $PATH", "");
    let built = project.build_with(&one, &found, Freshness::default());
    let built = built.unwrap();
    let log = fs::read_to_string(&built.log).unwrap();
    let begin = format!("{}\n{}:", home.display(), bin.display());
    assert!(log.starts_with(&begin), "{log}");
    let variable = ("MADE_UP_HOME".into(), home.into_os_string());
    assert!(built.toolchain_env.contains(&variable), "{built:?}");
}

#[test]
fn two_toolchains_with_one_program_have_different_builds() {
    let project = Project::new();
    let one = project.server("true", "");
    let build_s = |ruby, sinatra| {
        let found = [("ruby", ruby), ("sinatra", sinatra)].map(|(name, version)| Found {
            path: "/usr/bin/ruby".into(),
            ..tool(name, version)
        });
        let built = project.build_with(&one, &found, Freshness::default());
        built.unwrap().build_s
    };
    assert!(build_s("3.1", "3.0").is_some());
    assert_eq!(build_s("3.1", "3.0"), None);
    assert!(build_s("3.2", "3.0").is_some());
    assert!(build_s("3.2", "4.0").is_some());
}

#[test]
fn a_server_under_another_name_or_elsewhere_has_a_cargo_target_folder_of_its_own() {
    let project = Project::new();
    let own = project.server("true", "");
    let target_of = |it: &Server| project.layout.cargo_target_of(&it.id, &it.folder);
    let shared = project.layout.cargo_target();
    assert_eq!(target_of(&own), shared);
    let elsewhere = project.folder.path().join("elsewhere/one");
    let elsewhere = server_in(&elsewhere, "true", "");
    let named = own.clone().named("new").unwrap();
    let folders = [&elsewhere, &named].map(target_of);
    assert!(!folders.contains(&shared), "{folders:?}");
    assert_ne!(folders[0], folders[1]);
}
