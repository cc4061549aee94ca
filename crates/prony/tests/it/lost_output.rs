//! Lost output is an error: a full device, a closed stream, a file that cannot be written, a
//! record file that is deleted during a run. A reader that goes away is not an error.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::project::{Project, trials};
use crate::common::{Ended, Running, repository, run, saved, schema, until};
use nix::sys::signal::Signal;
use prony_testkit::recorder::HttpServer;
use prony_testkit::table::rows;
use prony_testkit::{contains, lacks};

/// A project with a recorded run of the reference server, which has figures even on a busy machine.
fn with_a_run() -> Project {
    let project = Project::new().with(&["ceiling"]);
    let measure = project.measure("ceiling", "hello", "--rounds 1 --duration 300ms");
    run(measure).with(0);
    project
}

/// A project with the repository's drivers as well.
fn with_drivers(project: Project) -> Project {
    let drivers = repository().canonicalize().unwrap().join("drivers");
    symlink(drivers, project.path().join("drivers")).unwrap();
    project
}

const GENERATORS: &str = "generators --tools=prony --cases=hello:1 --rounds=1 --duration=1";

/// Every command whose output is its result, with short runs.
const PRINTING: &str = "
    --help
    load --help
    --version
    list
    doctor
    verify --workloads=hello
    report
    report --list
    export
    export --format csv
    run --only=ceiling --workloads=hello --rounds=1 --duration=300ms --warmup=20ms
    LOAD
    LOAD --json -
    reference --freeze=1s/10s --truth=1000:1s
    GENERATORS
";

/// Runs the command with this as standard output: its exit code and what it said.
fn writing_to(output: impl Into<Stdio>, mut command: Command) -> (Option<i32>, String) {
    let ended = command.stdin(Stdio::null()).stdout(output).output();
    let ended = ended.unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    (ended.status.code(), said)
}

/// Runs the command as a shell does with `>&-`.
fn with_stdout_closed(command: &Command) -> Ended {
    let mut closed = Command::new("sh");
    closed.args(["-c", "exec \"$0\" \"$@\" >&-"]);
    closed.arg(command.get_program()).args(command.get_args());
    closed.current_dir(command.get_current_dir().unwrap());
    run(closed)
}

#[test]
fn output_that_is_lost_is_an_error_and_a_reader_that_goes_away_is_none() {
    let (project, server) = (with_drivers(with_a_run()), HttpServer::start());
    let load = format!("load -n20 -c1 {}", server.url());
    let command = |words: &str| {
        let words = words.replace("LOAD", &load);
        project.prony(&words.replace("GENERATORS", GENERATORS))
    };
    let full = || File::options().write(true).open("/dev/full").unwrap();
    for [words] in rows(PRINTING) {
        let (code, said) = writing_to(full(), command(words));
        assert_eq!(code, Some(1), "{words}: {said}");
        let error = "error: cannot write to standard output: No space left on device";
        assert_eq!(said.matches(error).count(), 1, "{words}: {said}");
    }
    // One of the commands was a second run.
    for to in ["", "--json -", "--markdown -"] {
        let compare = format!("compare latest~1 latest {to}");
        let (code, said) = writing_to(full(), command(&compare));
        assert_eq!(code, Some(2), "{to}: {said}");
        contains(&said, "cannot write to standard output");
    }
    for words in ["list", "export", "--version", "LOAD", "LOAD --json -"] {
        with_stdout_closed(&command(words))
            .with(1)
            .says("error: cannot write to standard output: Bad file descriptor");
    }
    // Output to /dev/null is not lost.
    let null = File::options().read(true).write(true).open("/dev/null");
    let (code, said) = writing_to(null.unwrap(), command("LOAD --json -"));
    assert_eq!(code, Some(0), "{said}");
    for words in [
        "LOAD --json -",
        "LOAD --json /dev/stdout",
        "LOAD",
        "compare latest~1 latest --json -",
        "export --format csv",
        "--help",
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let (code, said) = writing_to(writer, command(words));
        assert_eq!(code, Some(0), "{words}: {said}");
        lacks(&said, "error");
    }
}

#[test]
fn files_that_cannot_be_written_are_reported_before_anything_is_sent() {
    let (project, server) = (with_drivers(with_a_run()), HttpServer::start());
    fs::create_dir(project.path().join("folder")).unwrap();
    // Each command meets one of the faults.
    for [words, file, code] in rows(
        "
        load -n20 -c1 URL --json | no/such/result | 1
        load --find-capacity --budget=10s URL --json | folder | 1
        load --find-capacity --budget=10s URL --chart | servers/ceiling/none/x | 1
        generators --tools=prony --cases=hello:1 --json | no/such/result | 1
        generators --tools=prony --cases=hello:1 --markdown | folder | 1
        calibrate --quick --json | servers/ceiling/none/x | 1
        compare latest latest --json | no/such/result | 2
        compare latest latest --markdown | folder | 2
        export --output | servers/ceiling/none/x | 1
        report --out | no/such/result | 1
        ",
    ) {
        let message = match file {
            "folder" => "cannot write `folder`: it is a folder",
            "no/such/result" => "there is no folder `no/such`",
            _ => "there is no folder `servers/ceiling/none`",
        };
        let words = format!("{words} {file}").replace("URL", &server.url());
        let ended = project.run(&words).with(code.parse().unwrap());
        let ended = ended.says(message).lacks("measuring");
        assert_eq!(ended.stdout, "", "{words}");
    }
    assert_eq!(server.count(), 0, "nothing was sent");
    assert!(!project.path().join("no").exists());

    // Two results need two files.
    for (one, other) in [("same", "same"), ("same", "./same"), ("-", "-")] {
        let files = format!("--json {one} --markdown {other}");
        project
            .run(&format!("compare latest latest {files}"))
            .with(2)
            .says("--markdown and --json name the same place");
    }
}

/// What is in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<_> = entries
        .map(|entry| name(entry).into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn an_earlier_result_stays_until_the_new_one_is_complete() {
    let (folder, server) = (Project::empty(), HttpServer::start());
    let file = folder.write("result.json", "earlier");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("result.json", folder.path().join("link.json")).unwrap();
    let url = server.url();
    let load = |end: &str| folder.prony(&format!("load {end} -c1 --json link.json {url}"));
    let running = Running::start(load("-d60s"));
    until("a request", || (server.count() > 0).then_some(()));
    assert_eq!(folder.read("result.json"), "earlier");
    running.signal(Signal::SIGKILL);
    running.end();
    assert_eq!(folder.read("result.json"), "earlier");
    assert_eq!(names(folder.path()), ["link.json", "result.json"]);

    run(load("-n20")).with(0);
    assert_eq!(
        schema::valid("load", &folder.read("result.json"))["requests"],
        20
    );
    // The link is still a link, and the file's permissions have not changed.
    assert_eq!(names(folder.path()), ["link.json", "result.json"]);
    let link = fs::symlink_metadata(folder.path().join("link.json")).unwrap();
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert!(link.is_symlink() && mode & 0o777 == 0o640);

    // A result may go to a device.
    let load = |to: &str| folder.run(&format!("load -n20 -c1 --quiet --json {to} {url}"));
    let ended = load("/dev/stderr").with(0).prints("requests");
    assert_eq!(schema::valid("load", &ended.stderr)["requests"], 20);
    load("/dev/full")
        .with(1)
        .prints("requests")
        .says("cannot write `/dev/full`: No space left on device");
}

#[test]
fn a_record_file_deleted_during_a_run_is_reported_and_results_are_saved() {
    let project = Project::new().with(&["ceiling"]);
    let delete_file = || {
        fs::remove_file(project.state("prony.sqlite")).unwrap();
        // The run may have noticed that and closed the other two, which removes them.
        for name in ["prony.sqlite-wal", "prony.sqlite-shm"] {
            let _ = fs::remove_file(project.state(name));
        }
    };
    // All at once, because the run keeps writing there and writes its results there again.
    let delete_all = || {
        let away = project.path().join("away");
        fs::rename(project.state(""), &away).unwrap();
        fs::remove_dir_all(away).unwrap();
    };
    let deletions: [&dyn Fn(); 2] = [&delete_file, &delete_all];
    for delete in deletions {
        // Long before its end.
        let measure = project.measure("ceiling", "hello", "--rounds 60 --duration 100ms");
        let mut running = Running::start(measure);
        running.await_stderr("round 2 of 60");
        delete();
        let ended = running
            .end()
            .with(1)
            .says("prony.sqlite was deleted or replaced while Prony wrote to it")
            .says("note: the results are in ");
        let (_, record) = saved(&ended);
        assert_eq!(record["run"]["end"], "failed");
        let measured = trials(&record, "ceiling", "measured").len();
        assert!((1..60).contains(&measured), "{measured} trials");
        assert!(project.state(".gitignore").is_file());
    }
}

#[test]
fn prony_s_own_files_are_not_staged_and_the_folder_on_the_command_line_is_created() {
    let project = with_a_run();
    let ignored = ".prony/.gitignore";
    assert_eq!(project.read(ignored), "*\n");
    project.git("init --quiet");
    project.git("add -A");
    let staged = project.git("ls-files").stdout;
    contains(&staged, "suites/tour.toml");
    lacks(&staged, ".prony");
    // A user's own files there stay.
    project.write(ignored, "mine\n");
    project.run("verify --workloads hello").with(0);
    assert_eq!(project.read(ignored), "mine\n");
    project.run("report --out site").with(0);
    assert!(project.path().join("site/report.html").is_file());
}

#[test]
fn every_command_that_creates_the_state_folder_makes_git_ignore_it() {
    for words in ["verify --workloads hello", GENERATORS] {
        let project = with_drivers(Project::new().with(&["ceiling"]));
        // Commands that only read create nothing.
        project.run("list").with(0);
        project.run("report").with(1);
        assert!(!project.state("").exists());
        project.run(words).with(0);
        let is_made = project.state("").exists();
        assert_eq!(project.state(".gitignore").is_file(), is_made, "{words}");
    }
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
fn readers_of_both_streams_that_go_away_are_no_error() {
    let (project, server) = (Project::new().with(&["ceiling"]), HttpServer::start());
    let measure = project.measure("ceiling", "hello", "--rounds 1");
    assert_eq!(unread(measure), Some(0));
    let record = project.export();
    assert_eq!(record["run"]["end"], "complete");
    let id = record["run"]["id"].as_str().unwrap();
    assert!(project.state("runs").join(id).join("report.html").is_file());
    let load = format!("load -n20 -c1 --json result.json {}", server.url());
    for (line, code) in [
        ("list", 0),
        ("verify --workloads hello", 0),
        ("report", 0),
        ("run tuor", 2),
        (&load, 0),
    ] {
        assert_eq!(unread(project.prony(line)), Some(code), "{line}");
    }
    assert_eq!(
        schema::valid("load", &project.read("result.json"))["requests"],
        20
    );
}
