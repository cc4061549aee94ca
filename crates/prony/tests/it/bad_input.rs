//! Users' mistakes and servers that fail: the message is clear, and everything else goes on.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use prony_testkit::server::{Change, Response, hang, kill_self};

use crate::common::project::{Project, manifest, trials};
use crate::common::{self, leave_out, run};

pub const CHANGES: [(&str, Change); 4] = [
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
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        if !response.output.is_empty() && ASKED.fetch_add(1, Relaxed) >= 10 {
            response.output.clear();
        }
    }),
];

#[test]
fn unknown_names_are_reported_with_the_nearest() {
    let project = Project::new().with(&["ceiling", "python-httpserver"]);
    for (arguments, told) in [
        (
            &["run", "tuor"][..],
            &["no suite `tuor`", "did you mean `tour`?"][..],
        ),
        (
            &["run", "--only", "cieling"],
            &["`cieling`", "did you mean `ceiling`?"],
        ),
        (
            &["run", "--only", "ceiling", "--workloads", "helo"],
            &["`helo`", "did you mean `hello`?"],
        ),
        (
            &["run", "--only", "ceiling", "--workloads", "quote"],
            &["the suite `tour` has none", "hello, page, sse"],
        ),
        (
            &["run", "--only", "ceiling", "--server-cpus", "one"],
            &["`one` is neither a CPU"],
        ),
        (
            &["verify", "python-httpsever"],
            &["did you mean `python-httpserver`?"],
        ),
        (
            &["verify", "zzz"],
            &["known ones are ceiling, python-httpserver"],
        ),
        (
            &["verify", "--workloads", "pages"],
            &["did you mean `page`?"],
        ),
        (&["list", "workload"], &["workloads"]),
        (&["rnu"], &["'rnu'"]),
    ] {
        let mut ended = project.run(arguments).with(2);
        for text in told {
            ended = ended.says(text);
        }
        assert_eq!(ended.stdout, "", "{arguments:?}");
    }
    assert!(!project.state("prony.sqlite").exists(), "nothing was begun");
}

#[test]
fn an_unknown_run_is_reported_with_the_nearest() {
    let project = Project::new().with(&["ceiling"]);
    let none = project.run(&["report"]).with(1);
    none.says("there is no record file")
        .says("`prony run` creates one");
    run(project.measure("ceiling", "hello", &["--rounds", "1"])).with(0);
    let record = project.export();
    let id = record["run"]["id"].as_str().unwrap();
    let nearly = id.replace("tour", "tuor");
    for command in ["report", "export"] {
        let told = format!("no run `{nearly}`");
        let ended = project.run(&[command, &nearly]).with(1).says(&told);
        ended.says(&format!("did you mean `{id}`?"));
    }
}

#[test]
fn a_faulty_manifest_is_reported_with_file_line_and_field_and_the_good_ones_are_listed() {
    let project = Project::new().with(&["ceiling"]);
    let right = manifest(&["true"]);
    let without = right.replace("class = \"stdlib\"\n", "");
    let misspelt = right.replace("workloads =", "worklaods =");
    let class = right.replace("\"stdlib\"", "\"stdlip\"");
    let missing = project.manifest("missing-field", &without);
    let misspelt = project.manifest("misspelt-field", &misspelt);
    let class = project.manifest("wrong-class", &class);
    let told = [
        format!("{}:1: missing field `class`", shown(&missing)),
        format!(
            "{}:5: unknown field `worklaods`, expected one of ",
            shown(&misspelt)
        ),
        "; did you mean `workloads`?".to_owned(),
        format!(
            "{}:4: field `class`: there is no class `stdlip`; did you mean `stdlib`?",
            shown(&class)
        ),
    ];
    let mut listed = project.run(&["list"]).with(1).prints("  ceiling ");
    for text in &told {
        listed = listed.says(text);
    }
    // A run of the good one alone is not affected.
    project
        .run(&["verify", "ceiling", "--workloads", "hello"])
        .with(0);
    let all = project.run(&["verify", "--workloads", "hello"]).with(1);
    let all = all.prints("verified ceiling × hello");
    all.prints("FAILED   missing-field: ").prints(&told[0]);
    let more = ["--rounds", "1"];
    let ended = run(project.measure("ceiling,misspelt-field", "hello", &more));
    ended.with(1).says(&told[1]);
}

#[test]
fn an_undefined_workload_of_a_manifest_is_reported() {
    let project = Project::new().with(&["ceiling"]);
    let wrong = manifest(&["true"]).replace("\"hello\"", "\"helo\"");
    let path = project.manifest("mistaken", &wrong);
    let ended = project.run(&["verify", "mistaken"]).with(1);
    ended
        .says(&shown(&path))
        .says("there is no workload `helo`; did you mean `hello`?");
}

fn shown(path: &Path) -> String {
    path.canonicalize().unwrap().display().to_string()
}

#[test]
fn a_broken_suite_is_reported_with_file_and_line() {
    let project = Project::new().with(&["ceiling"]);
    let suites = project.path().join("suites");
    let right = fs::read_to_string(suites.join("tour.toml")).unwrap();
    let at = |text: &str, part: &str| text[..text.find(part).unwrap()].matches('\n').count() + 1;
    let misspelt = right.replacen("rounds =", "ronuds =", 1);
    fs::write(suites.join("misspelt.toml"), &misspelt).unwrap();
    let unfinished = right.replacen("title = \"Tour\"", "title = \"Tour", 1);
    fs::write(suites.join("unfinished.toml"), unfinished).unwrap();
    let workload = right.replacen("[\"hello\"]", "[\"helo\"]", 1);
    fs::write(suites.join("workload.toml"), workload).unwrap();
    let line = at(&misspelt, "ronuds");
    project
        .run(&["run", "misspelt", "--only", "ceiling"])
        .with(1)
        .says(&format!("misspelt.toml:{line}: unknown field `ronuds`"))
        .says("did you mean `rounds`?");
    project
        .run(&["run", "unfinished", "--only", "ceiling"])
        .with(1)
        .says("unfinished.toml:1: ");
    project
        .run(&["run", "workload", "--only", "ceiling"])
        .with(1)
        .says("did you mean `hello`?");
    // A suite with a server that neither the project has nor Prony ships.
    let server = right.replacen("\"nginx\"", "\"nginxx\"", 1);
    fs::write(suites.join("server.toml"), server).unwrap();
    project
        .run(&["run", "server"])
        .with(1)
        .says("the suite `server`: there is no server `nginxx`; did you mean `nginx`?");
    project
        .run(&["list", "suites"])
        .with(1)
        .prints("tour")
        .says("misspelt.toml")
        .says("unfinished.toml");
}

#[test]
fn an_empty_folder_has_what_prony_ships() {
    let folder = tempfile::tempdir().unwrap();
    let here = |arguments: &[&str]| common::here(folder.path(), arguments);
    let listed = here(&["list"]).with(0);
    listed
        .prints("Servers that Prony ships")
        .prints("go-nethttp");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    let measure = ["--only", "ceiling", "--workloads", "hello", "--rounds", "1"];
    let measure = [
        &["run", "tour", "--duration", "50ms", "--warmup", "10ms"][..],
        &measure,
    ]
    .concat();
    here(&measure).with(0).prints("ceiling (reference)");
    let made: Vec<_> = fs::read_dir(&folder).unwrap().collect();
    assert_eq!(made.len(), 1);
    assert_eq!(made[0].as_ref().unwrap().file_name(), ".prony");
    here(&["export"]).with(0);
    here(&["list", "--project", "nowhere"])
        .with(1)
        .says("nowhere");
    // With it, the current folder does not matter.
    let project = Project::new().with(&["ceiling"]);
    let mut command = common::prony(["list", "servers", "--project"]);
    command.arg(project.path()).current_dir(&folder);
    run(command).with(0).prints("ceiling");
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
    let messages: [(&str, &[&str]); 6] = [
        (
            "unbuildable",
            &[
                "FAILED   unbuildable: `sh -c ",
                "ended with exit code 7:\n",
                "\n100\nerror: no semicolon\n",
            ],
        ),
        ("no-program", &["cannot execute ./not-there"]),
        (
            "silent",
            &[
                "FAILED   silent: the server sent no complete response within 3s",
                "\n  I listen\n",
            ],
        ),
        (
            "early",
            &[
                "FAILED   early: the server ended with exit code 1 before it sent the expected response",
                "there is no configuration",
            ],
        ),
        (
            "wrong",
            &["WRONG    wrong × hello: expected 17 bytes", "`goodbye`"],
        ),
        (
            "mortal",
            &[
                "FAILED   mortal × hello, round 1 (server-exited): the server was killed by SIGKILL",
                "FAILED   mortal × hello, round 2 (server-exited) again",
                "I feel unwell",
            ],
        ),
    ];
    let faulty = messages.map(|(id, _)| id);
    let ready = ["--ready-timeout", "3s"];
    let short = ["--rounds", "2", "--requests", "200", "--duration", "10s"];
    let servers = format!("good,{}", faulty.join(","));
    let measure = project.measure(&servers, "hello", &[&short[..], &ready].concat());
    let mut ended = run(measure).with(1);
    for text in messages.iter().flat_map(|(_, texts)| *texts) {
        ended = ended.says(text);
    }
    assert!(!ended.stderr.contains("first\n"), "{}", ended.stderr);
    let record = project.export();
    assert_eq!(record["run"]["end"], "complete");
    assert_eq!(trials(&record, "good", "measured").len(), 2);
    let (table, not_measured) = ended.stdout.split_once("Not measured").unwrap();
    assert!(table.contains("good"), "{table}");
    for id in faulty {
        assert_eq!(trials(&record, id, "measured").len(), 0, "{id}");
        assert!(!table.contains(id), "{id}: {table}");
        assert!(not_measured.contains(id), "{id}: {not_measured}");
    }
    assert!(not_measured.contains("error: no semicolon"));
    let failed = trials(&record, "mortal", "failed");
    assert_eq!(failed.len(), 2);
    for trial in failed {
        assert_eq!(trial["result"]["kind"], "server-exited");
        let message = trial["result"]["message"].as_str().unwrap();
        assert!(message.contains("I feel unwell"), "{message}");
    }

    let verify = [
        "verify",
        "good",
        "unbuildable",
        "silent",
        "--workloads=hello",
    ];
    project
        .run(&[&verify[..], &ready].concat())
        .with(1)
        .prints("error: no semicolon")
        .prints("FAILED   silent: the server sent no complete response within 3s")
        .prints("verified good × hello");
}

#[test]
fn a_server_that_skips_log_lines_under_load_is_reported() {
    let project = Project::new();
    project.server("forgetful", "forgetful");
    let more = ["--rounds", "1", "--requests", "200", "--duration", "60s"];
    run(project.measure("forgetful", "sse", &more))
        .with(1)
        .says("FAILED   forgetful × sse, round 1 (not-reconciled): the server logged ");
    let record = project.export();
    assert_eq!(trials(&record, "forgetful", "failed").len(), 1);
}

#[test]
fn a_store_that_cannot_be_written_is_reported_before_anything_is_measured() {
    let project = Project::new();
    project.server("good", "right");
    fs::write(project.path().join("file"), "not a folder").unwrap();
    for (store, told) in [
        (
            "file/prony.sqlite",
            "file is not a folder for the record file file/prony.sqlite",
        ),
        ("file", "is not a record file of Prony"),
        ("servers", "is not a record file of Prony"),
    ] {
        let more = ["--store", store];
        let ended = run(project.measure("good", "hello", &more))
            .with(1)
            .says(told);
        assert_eq!(ended.stdout, "");
        assert!(!ended.stderr.contains("good"), "{}", ended.stderr);
    }
    assert!(!project.state("runs").exists(), "no server was started");
}

/// The exit code of a command whose output nobody reads.
fn unread(mut command: Command) -> Option<i32> {
    let closed = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        writer
    };
    command.stdout(closed()).stderr(closed());
    command.status().unwrap().code()
}

#[test]
fn a_reader_that_goes_away_is_not_an_error() {
    let project = Project::new().with(&["ceiling"]);
    assert_eq!(unread(project.prony(&["list"])), Some(0));
    let verify = ["verify", "--workloads", "hello"];
    assert_eq!(unread(project.prony(&verify)), Some(0));
    let measure = project.measure("ceiling", "hello", &["--rounds", "1"]);
    assert_eq!(unread(measure), Some(0));
    let record = project.export();
    assert_eq!(record["run"]["end"], "complete");
    let id = record["run"]["id"].as_str().unwrap();
    assert!(project.state("runs").join(id).join("report.html").is_file());
    for command in ["report", "export"] {
        assert_eq!(unread(project.prony(&[command])), Some(0), "{command}");
    }
    assert_eq!(unread(project.prony(&["run", "tuor"])), Some(2));

    let server = prony_testkit::recorder::HttpServer::start();
    let mut load = project.prony(&["load", "-n20", "-c1", "--json", "result.json"]);
    load.arg(server.url());
    assert_eq!(unread(load), Some(0));
    let result = fs::read_to_string(project.path().join("result.json")).unwrap();
    assert_eq!(common::schema::load(&result)["requests"], 20);
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
        let more = ["--rounds", "300", "--duration", "10ms", "--store", store];
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
        let told = ended.stderr.split("the results are in ").nth(1);
        let folder = Path::new(told.unwrap().lines().next().unwrap());
        let json = fs::read_to_string(folder.join("record.json")).unwrap();
        let record = common::schema::run(&json);
        let measured = trials(&record, "ceiling", "measured").len();
        assert!((1..300).contains(&measured), "{measured} trials");
        assert_eq!(record["run"]["end"], "failed");
        assert!(folder.join("report.html").is_file());
        let full = place.canonicalize().unwrap();
        assert!(!folder.starts_with(full), "{}", folder.display());
    }
}
