//! Users' mistakes and servers that fail: the message is clear, and everything else goes on.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use prony_testkit::server::{Change, Response, hang, kill_self};
use prony_testkit::table::rows;
use prony_testkit::{contains, lacks};

use crate::common::project::{Project, manifest, trials};
use crate::common::{leave_out, run, saved};

pub(crate) const CHANGES: [(&str, Change); 4] = [
    ("silent", |request, _| {
        if request.number == 1 {
            println!("I listen");
        }
        hang();
    }),
    ("goodbye", |_, response| {
        *response = Response::text("goodbye")
    }),
    ("mortal", |request, response| {
        if request.number == 20 {
            response.then = Some(|| {
                println!("I feel unwell");
                kill_self();
            });
        }
    }),
    ("forgetful", |_, response| {
        static LINES: AtomicUsize = AtomicUsize::new(0);
        if !response.output.is_empty() && LINES.fetch_add(1, Relaxed) >= 10 {
            response.output.clear();
        }
    }),
];

#[test]
fn unknown_names_are_reported_with_the_nearest() {
    let project = Project::new().with(&["ceiling", "python-httpserver"]);
    project.check("1 | report | there is no record file & `prony run` creates one");
    for [words, message, more] in rows(
        r#"
        run tuor | no suite `tuor` | did you mean `tour`?
        run --only cieling | `cieling` | did you mean `ceiling`?
        run --only ceiling --workloads helo | `helo` | did you mean `hello`?
        run --only ceiling --workloads quote | the suite `tour` has none | hello, page, sse
        run --only ceiling --server-cpus one | `one` is neither a CPU | ""
        verify python-httpsever | did you mean `python-httpserver`? | ""
        verify zzz | known ones are ceiling, python-httpserver | ""
        verify --workloads pages | did you mean `page`? | ""
        list workload | workloads | ""
        rnu | 'rnu' | ""
        "#,
    ) {
        let ended = project.run(words).with(2).says(message).says(more);
        assert_eq!(ended.stdout, "", "{words}");
    }
    assert!(!project.state("prony.sqlite").exists(), "nothing was begun");

    run(project.measure("ceiling", "hello", "--rounds 1")).with(0);
    let record = project.export();
    let id = record["run"]["id"].as_str().unwrap();
    let nearly = id.replace("tour", "tuor");
    project.check(&format!(
        "
        1 | report {nearly} | no run `{nearly}` & did you mean `{id}`?
        1 | export {nearly} | no run `{nearly}` & did you mean `{id}`?
        "
    ));
}

#[test]
fn a_faulty_manifest_is_reported_with_file_line_and_field_and_the_good_ones_are_listed() {
    let project = Project::new().with(&["ceiling"]);
    let mut messages = Vec::new();
    for [id, from, to, message] in rows(
        r#"
        missing-field | class = "stdlib"\n | "" | :1: missing field `class`
        misspelt-field | workloads = | worklaods = | :5: unknown field `worklaods`, expected one of `
        wrong-class | "stdlib" | "stdlip" | :4: field `class`: unknown name `stdlip`
        "#,
    ) {
        let wrong = manifest(&["true"]).replace(from, to);
        let path = project.manifest(id, &wrong).canonicalize().unwrap();
        messages.push(format!("{}{message}", path.display()));
    }
    let listed = project.run("list").with(1).prints("  ceiling ");
    let mut listed = listed.says("; did you mean `workloads`?");
    for message in &messages {
        listed = listed.says(message);
    }
    // The good one is verified, and a run of it alone is not affected.
    let (missing, misspelt) = (&messages[0], &messages[1]);
    project.check(&format!(
        "
        0 | verify --workloads hello ceiling | >verified ceiling × hello
        1 | verify --workloads hello | >verified ceiling × hello & >FAILED   missing-field:  & >{missing}
        1 | run --rounds 1 --workloads hello --requests 10 --only ceiling,misspelt-field | {misspelt}
        "
    ));
    let undefined = manifest(&["true"]).replace("\"hello\"", "\"helo\"");
    let path = project.manifest("mistaken", &undefined).canonicalize();
    let path = path.unwrap();
    let path = path.display();
    project.check(&format!(
        "1 | verify mistaken | {path} & there is no workload `helo`; did you mean `hello`?"
    ));
}

#[test]
fn a_broken_suite_is_reported_with_file_and_line() {
    let project = Project::new().with(&["ceiling"]);
    let right = project.read("suites/tour.toml");
    let before = right
        .lines()
        .take_while(|line| !line.starts_with("rounds ="));
    let misspelt = format!("misspelt.toml:{}: unknown field", before.count() + 1);
    for [id, from, to, message] in rows(
        r#"
        misspelt | rounds = | ronuds = | MISSPELT `ronuds` & did you mean `rounds`?
        unfinished | title = "Tour" | title = "Tour | unfinished.toml:1:\x20
        workload | ["hello"] | ["helo"] | did you mean `hello`?
        // It is neither in the project nor does Prony ship it.
        server | "nginx" | "nginxx" | the suite `server`: there is no server `nginxx`; did you mean `nginx`?
        "#,
    ) {
        project.suite(id, &right.replacen(from, to, 1));
        let message = message.replace("MISSPELT", &misspelt);
        project.check(&format!("1 | run {id} | {message}"));
    }
    project.check("1 | list suites | >tour & misspelt.toml & unfinished.toml");
}

#[test]
fn an_empty_folder_has_what_prony_ships() {
    let folder = Project::empty();
    let entries = || -> Vec<_> {
        let entries = fs::read_dir(folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect()
    };
    folder.check("0 | list | >Servers that Prony ships & >go-nethttp");
    assert!(entries().is_empty());
    let measure = folder.measure("ceiling", "hello", "--rounds 1");
    run(measure).with(0).prints("ceiling (reference)");
    assert_eq!(entries(), [".prony"]);
    folder.run("export").with(0);
    folder.run("list --project nowhere").with(1).says("nowhere");
    // With it, the current folder does not matter.
    let project = Project::new().with(&["ceiling"]);
    let list = format!("list servers --project {}", project.path().display());
    folder.run(&list).with(0).prints("ceiling");
}

/// Each of them gets its messages, and the good one is measured.
#[test]
fn servers_that_fail_are_reported_and_the_others_go_on() {
    let project = Project::new();
    project.server("good", "right");
    let build = "echo first >&2; seq 100; echo 'error: no semicolon' >&2; exit 7";
    let build = format!("build = [[\"sh\", \"-c\", {build:?}]]\n");
    project.manifest("unbuildable", &(manifest(&["true"]) + &build));
    project.command("no-program", &["./not-there"]);
    project.server("silent", "silent");
    let ends = "echo starting; echo 'there is no configuration' >&2; exit 1";
    project.command("early", &["sh", "-c", ends]);
    project.server("wrong", "goodbye");
    project.server("mortal", "mortal");
    let faulty = "unbuildable,no-program,silent,early,wrong,mortal";
    let servers = format!("good,{faulty}");
    let short = "--rounds 2 --requests 200 --duration 10s --ready-timeout 8s";
    let mut ended = run(project.measure(&servers, "hello", short)).with(1);
    for text in [
        "FAILED   unbuildable: `sh -c ",
        "ended with exit code 7:\n",
        "\n100\nerror: no semicolon\n",
        "cannot execute ./not-there",
        "FAILED   silent: the server sent no complete response within 8s",
        "\n  I listen\n",
        "FAILED   early: the server ended with exit code 1 before it sent the expected response",
        "there is no configuration",
        "WRONG    wrong × hello: expected 17 bytes",
        "`goodbye`",
        "FAILED   mortal × hello, round 1 (server-exited): the server was killed by SIGKILL",
        "FAILED   mortal × hello, round 2 (server-exited) again",
        "I feel unwell",
    ] {
        ended = ended.says(text);
    }
    let ended = ended.lacks("first\n");
    let record = project.export();
    assert_eq!(record["run"]["end"], "complete");
    assert_eq!(trials(&record, "good", "measured").len(), 2);
    let (table, not_measured) = ended.stdout.split_once("Not measured").unwrap();
    contains(table, "good");
    for id in faulty.split(',') {
        assert_eq!(trials(&record, id, "measured").len(), 0, "{id}");
        lacks(table, id);
        contains(not_measured, id);
    }
    contains(not_measured, "error: no semicolon");
    let failed = trials(&record, "mortal", "failed");
    assert_eq!(failed.len(), 2);
    for trial in failed {
        assert_eq!(trial["result"]["kind"], "server-exited");
        contains(&trial["result"]["message"].to_string(), "I feel unwell");
    }

    project
        .run("verify good unbuildable silent --workloads=hello --ready-timeout 8s")
        .with(1)
        .says("building unbuildable")
        .lacks("building good")
        .prints("error: no semicolon")
        .prints("FAILED   silent: the server sent no complete response within 8s")
        .prints("verified good × hello");
}

#[test]
fn a_server_that_skips_log_lines_under_load_is_reported() {
    let project = Project::new();
    project.server("forgetful", "forgetful");
    let more = "--rounds 1 --requests 200 --duration 60s";
    run(project.measure("forgetful", "sse", more))
        .with(1)
        .says("FAILED   forgetful × sse, round 1 (not-reconciled): the server logged ");
    assert_eq!(trials(&project.export(), "forgetful", "failed").len(), 1);
}

#[test]
fn a_store_that_cannot_be_written_is_reported_before_anything_is_measured() {
    let project = Project::new();
    project.server("good", "right");
    project.write("file", "not a folder");
    for [store, message] in rows(
        "
        file/prony.sqlite | file is not a folder for the record file file/prony.sqlite
        no/such/dir/x | there is no folder no/such/dir for the record file no/such/dir/x; create it, or name another path
        file | is not a record file of Prony
        servers | is not a record file of Prony
        ",
    ) {
        let measure = project.measure("good", "hello", &format!("--store {store}"));
        let ended = run(measure).with(1).says(message).lacks("good");
        assert_eq!(ended.stdout, "");
    }
    assert!(!project.path().join("no").exists(), "no folder is created");
    assert!(!project.state("runs").exists(), "no server was started");
}

/// Runs the command with a file system of `kib` KiB at `place`, in a mount namespace of its own, which vanishes with
/// it. `None` if the system does not permit that.
fn with_small_disk(place: &Path, kib: u32, command: &Command) -> Option<Command> {
    let mount = format!("mount -t tmpfs -o size={kib}k none \"$0\"");
    let unshared = |flags: &str, script: &str| {
        let mut unshared = Command::new("unshare");
        unshared.args([flags, "sh", "-c", script]).arg(place);
        unshared
    };
    let permitted = |flags: &&str| {
        let tried = unshared(flags, &mount).output();
        tried.is_ok_and(|output| output.status.success())
    };
    let flags = ["-rm", "-m"].into_iter().find(permitted)?;
    let mut limited = unshared(flags, &format!("{mount} && exec \"$@\""));
    limited
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(command.get_current_dir()?)
        .process_group(0);
    Some(limited)
}

#[test]
fn a_full_disk_ends_the_run_and_loses_nothing() {
    let project = Project::new().with(&["ceiling"]);
    let temporary = tempfile::tempdir().unwrap();
    // First all of `.prony` is on the full disk, then only the record file.
    for (small, kib, store) in [
        (".prony", 256, ".prony/prony.sqlite"),
        ("small", 160, "small/prony.sqlite"),
    ] {
        let place = project.path().join(small);
        fs::create_dir_all(&place).unwrap();
        let more = format!("--rounds 300 --duration 10ms --store {store}");
        let measure = project.measure("ceiling", "hello", &more);
        let Some(mut limited) = with_small_disk(&place, kib, &measure) else {
            leave_out("a full disk", "no file system can be mounted here");
            return;
        };
        limited.env("TMPDIR", temporary.path());
        let ended = run(limited)
            .with(1)
            .says("no room left on the disk for the record file")
            .says("note: the results are in ")
            .prints("ceiling (reference)");
        let (folder, record) = saved(&ended);
        let measured = trials(&record, "ceiling", "measured").len();
        assert!((1..300).contains(&measured), "{measured} trials");
        assert_eq!(record["run"]["end"], "failed");
        let full = place.canonicalize().unwrap();
        assert!(!folder.starts_with(full), "{}", folder.display());
    }
}
