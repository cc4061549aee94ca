//! Builds with small shell scripts.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::support::{GO_ON, supervisor};
use prony_server::{
    BuildError, Built, Found, Freshness, Layout, Server, Tool, Toolchain, Version, build,
};

fn server(layout: &Layout, build: &str, more: &str) -> Server {
    server_in(&layout.own().servers().join("one"), build, more)
}

fn server_in(folder: &Path, build: &str, more: &str) -> Server {
    fs::create_dir_all(folder).unwrap();
    let manifest = format!(
        r#"
title = "One"
language = "sh"
framework = "none"
class = "stdlib"
workloads = ["hello"]
needs = ["python >= 3.0"]
build = [["sh", "-c", '''{build}''']]
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
        tool: Tool::Known(Toolchain::named(name).unwrap()),
        path: format!("/usr/bin/{name}").into(),
        version: Version::parse(version).unwrap(),
    }
}

/// Builds it; an interrupt is set from the start if `interrupt` says so.
fn build_with(
    layout: &Layout,
    server: &Server,
    found: &[Found],
    (reuse, interrupt): (Freshness, &AtomicBool),
) -> Result<Built, BuildError> {
    let server = server.buildable().unwrap();
    build(server, layout, found, &supervisor(), reuse, interrupt)
}

fn run(layout: &Layout, server: &Server) -> Result<Built, BuildError> {
    let found = [tool("python", "3.11.2")];
    build_with(layout, server, &found, (Freshness::IfUnchanged, &GO_ON))
}

const ARTEFACT: &str = "artefacts = [\"{out}/server\"]\nversion = { toolchain = \"python\" }";

fn times_built(root: &Path) -> usize {
    fs::read_to_string(root.join("times")).map_or(0, |text| text.lines().count())
}

#[test]
fn the_same_sources_are_built_once() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::at(folder.path());
    let script = "echo x >> ../../times; printf 12345 > {out}/server; echo $CARGO_TARGET_DIR";
    let one = server(&layout, script, ARTEFACT);
    let built = run(&layout, &one).unwrap();
    assert_eq!(built.artefact_bytes, Some(5));
    assert!(built.build_s.is_some());
    assert_eq!(built.version, Some("3.11.2".to_owned()));
    let out = layout
        .builds()
        .join(format!("one-{}", one.started().unwrap().short_hash()));
    assert_eq!(
        built.run[0].to_string(),
        out.join("server").to_string_lossy()
    );
    assert_eq!(Path::new(&built.run[1].to_string()), supervisor().path());
    let log = fs::read_to_string(&built.log).unwrap();
    assert_eq!(log.trim(), layout.cargo_target().to_string_lossy());

    let again = run(&layout, &one).unwrap();
    assert_eq!((again.build_s, times_built(folder.path())), (None, 1));
    assert_eq!(again.run, built.run);

    // An artefact that was replaced or removed is built again.
    fs::write(out.join("server"), "123456").unwrap();
    assert_eq!(run(&layout, &one).unwrap().artefact_bytes, Some(5));
    fs::remove_file(out.join("server")).unwrap();
    assert_eq!(run(&layout, &one).unwrap().artefact_bytes, Some(5));
    assert_eq!(times_built(folder.path()), 3);

    fs::write(one.folder.join("source"), "new").unwrap();
    let changed = Server::open(&one.folder).unwrap();
    assert!(run(&layout, &changed).unwrap().build_s.is_some());
    assert_eq!(times_built(folder.path()), 4);
}

#[test]
fn a_failed_build_reports_its_last_lines_and_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::at(folder.path());
    let script = "for i in $(seq 1 50); do echo line $i; done; echo broken >&2; exit 4";
    let one = server(&layout, script, "");
    for _ in 0..2 {
        match run(&layout, &one).unwrap_err() {
            BuildError::Failed { exit, tail, .. } => {
                assert_eq!(exit.to_string(), "ended with exit code 4");
                assert!(tail.starts_with("line 32\n"), "{tail}");
                assert!(tail.ends_with("line 50\nbroken"), "{tail}");
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_missing_artefact_is_reported_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::at(folder.path());
    let one = server(&layout, "echo done", ARTEFACT);
    let error = run(&layout, &one).unwrap_err();
    assert!(matches!(error, BuildError::NoArtefact { .. }), "{error}");
    assert!(error.to_string().contains("/server"), "{error}");
}

#[test]
fn a_build_can_be_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::at(folder.path());
    let one = server(&layout, "sleep 600", "");
    let interrupted = (Freshness::IfUnchanged, &AtomicBool::new(true));
    let error = build_with(&layout, &one, &[], interrupted).unwrap_err();
    assert!(matches!(error, BuildError::Interrupted), "{error}");
}

#[test]
fn an_input_outside_the_folder_counts_as_a_source() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::at(folder.path().join("project"));
    fs::create_dir_all(layout.own().workloads()).unwrap();
    // The server may be anywhere; the workloads are the project's.
    let script = "cat {workloads}/echo.proto > {out}/server";
    let more = "inputs = [\"{workloads}/echo.proto\"]\nartefacts = [\"{out}/server\"]";
    let one = server_in(&folder.path().join("elsewhere/one"), script, more);
    let error = run(&layout, &one).unwrap_err();
    assert!(matches!(error, BuildError::NoInput { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("workloads/echo.proto does not exist, but the manifest lists"),
        "{text}"
    );

    let build_with = |content| {
        fs::write(layout.own().workloads().join("echo.proto"), content).unwrap();
        run(&layout, &one).unwrap()
    };
    let built = build_with("old");
    assert_eq!(fs::read_to_string(built.run[0].to_string()).unwrap(), "old");
    assert_eq!(build_with("old").build_s, None);
    let built = build_with("new");
    assert!(built.build_s.is_some());
    assert_eq!(fs::read_to_string(built.run[0].to_string()).unwrap(), "new");
}

#[test]
fn a_rebuild_always_runs_the_commands() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::at(folder.path());
    let script = "echo x >> ../../times; test ! -e {out}/old; touch {out}/old {out}/server";
    let one = server(&layout, script, ARTEFACT);
    run(&layout, &one).unwrap();
    assert_eq!(run(&layout, &one).unwrap().build_s, None);
    // Leftovers of the first build would make it fail.
    let found = [tool("python", "3.11.2")];
    let built = build_with(&layout, &one, &found, (Freshness::Rebuild, &GO_ON)).unwrap();
    assert!(built.build_s.is_some());
    assert_eq!(times_built(folder.path()), 2);
}

#[test]
fn builds_that_share_packages_wait_for_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::at(folder.path());
    // A second build that runs while the folder exists would fail.
    let script = "mkdir {packages}/busy && sleep 0.05 && rmdir {packages}/busy";
    std::thread::scope(|scope| {
        for id in ["one", "two", "three"] {
            let one = server_in(&layout.own().servers().join(id), script, "");
            let layout = &layout;
            scope.spawn(move || run(layout, &one).unwrap());
        }
    });
    assert!(layout.packages().is_dir());
}

#[test]
fn build_and_run_get_the_home_of_a_toolchain_that_has_one() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let layout = Layout::at(&root);
    let bin = root.join("made-up/bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join("prony-made-up-tool"), "").unwrap();
    let toolchain = Toolchain {
        name: "made-up",
        program: "prony-made-up-tool",
        home_variable: Some("MADE_UP_HOME"),
        ..Toolchain::default()
    };
    let found = [Found {
        tool: Tool::Known(Box::leak(Box::new(toolchain))),
        path: bin.join("prony-made-up-tool"),
        version: Version::parse("1.0").unwrap(),
    }];
    let one = server(&layout, "echo $MADE_UP_HOME; echo $PATH", "");
    let built = build_with(&layout, &one, &found, (Freshness::default(), &GO_ON)).unwrap();
    let log = fs::read_to_string(&built.log).unwrap();
    let home = root.join("made-up");
    let begin = format!("{}\n{}:", home.display(), bin.display());
    assert!(log.starts_with(&begin), "{log}");
    let variable = ("MADE_UP_HOME".into(), home.into_os_string());
    assert!(built.toolchain_env.contains(&variable), "{built:?}");
}

#[test]
fn two_toolchains_with_one_program_have_different_builds() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::at(folder.path());
    let one = server(&layout, "true", "");
    let build_s = |ruby, sinatra| {
        let found = [("ruby", ruby), ("sinatra", sinatra)].map(|(name, version)| Found {
            path: "/usr/bin/ruby".into(),
            ..tool(name, version)
        });
        let reuse = (Freshness::default(), &GO_ON);
        build_with(&layout, &one, &found, reuse).unwrap().build_s
    };
    assert!(build_s("3.1", "3.0").is_some());
    assert_eq!(build_s("3.1", "3.0"), None);
    assert!(build_s("3.2", "3.0").is_some());
    assert!(build_s("3.2", "4.0").is_some());
}

#[test]
fn a_server_under_another_name_or_elsewhere_has_a_cargo_target_folder_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::at(folder.path());
    let own = server(&layout, "true", "");
    assert_eq!(
        layout.cargo_target_of(&own.id, &own.folder),
        layout.cargo_target()
    );
    let elsewhere = server_in(&folder.path().join("elsewhere/one"), "true", "");
    let named = own.clone().named("new").unwrap();
    let folders = [&elsewhere, &named].map(|it| layout.cargo_target_of(&it.id, &it.folder));
    assert!(!folders.contains(&layout.cargo_target()), "{folders:?}");
    assert_ne!(folders[0], folders[1]);
}
