//! Lost output is an error: a full device, a closed stream, a file that cannot be written, a
//! record file that is deleted during a run. A reader that goes away is not an error.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::project::{Project, trials};
use crate::common::{self, Ended, Running, repository, run, schema, until};
use nix::sys::signal::Signal;
use prony_testkit::recorder::HttpServer;

/// One trial that has figures even on a busy machine.
const ONE: [&str; 4] = ["--rounds", "1", "--duration", "300ms"];

/// A project with a recorded run of the reference server.
fn with_a_run() -> Project {
    let project = with_drivers();
    run(project.measure("ceiling", "hello", &ONE)).with(0);
    project
}

/// The same with a second run, to compare the two.
fn with_two_runs() -> Project {
    let project = with_a_run();
    run(project.measure("ceiling", "hello", &ONE)).with(0);
    project
}

/// A project with the reference server and the repository's drivers.
fn with_drivers() -> Project {
    let project = Project::new().with(&["ceiling"]);
    let drivers = repository().canonicalize().unwrap().join("drivers");
    symlink(drivers, project.path().join("drivers")).unwrap();
    project
}

/// Every command whose output is its result, with short runs.
fn printing_commands(url: &str) -> Vec<Vec<&str>> {
    let load = ["load", "-n20", "-c1", url];
    let (ceiling, hello) = ("--only=ceiling", "--workloads=hello");
    vec![
        vec!["--help"],
        vec!["load", "--help"],
        vec!["--version"],
        vec!["list"],
        vec!["doctor"],
        vec!["verify", hello],
        vec!["report"],
        vec!["report", "--list"],
        vec!["export"],
        vec!["export", "--format", "csv"],
        vec![
            "run",
            ceiling,
            hello,
            "--rounds=1",
            "--duration=50ms",
            "--warmup=10ms",
        ],
        load.to_vec(),
        [&load[..], &["--json", "-"]].concat(),
        vec!["reference", "--freeze=1s/10s", "--truth=1000:1s"],
        vec![
            "generators",
            "--tools=prony",
            "--cases=hello:1",
            "--rounds=1",
            "--duration=1",
        ],
    ]
}

/// Runs the command with a full device as standard output.
fn on_a_full_device(mut command: Command) -> (Option<i32>, String) {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let ended = command.stdin(Stdio::null()).stdout(full).output().unwrap();
    (
        ended.status.code(),
        String::from_utf8_lossy(&ended.stderr).into_owned(),
    )
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
    let (project, server) = (with_two_runs(), HttpServer::start());
    let url = server.url();
    for arguments in printing_commands(&url) {
        let (code, said) = on_a_full_device(project.prony(&arguments));
        assert_eq!(code, Some(1), "{arguments:?}: {said}");
        let told = "error: cannot write to standard output: No space left on device";
        assert!(said.contains(told), "{arguments:?}: {said}");
        assert_eq!(said.matches(told).count(), 1, "{arguments:?}: {said}");
    }
    // One of the commands was a run, under another load.
    let compare = ["compare", "latest~2", "latest~1"];
    for more in [&[][..], &["--json", "-"], &["--markdown", "-"]] {
        let (code, said) = on_a_full_device(project.prony(&[&compare, more].concat()));
        assert_eq!(code, Some(2), "{more:?}: {said}");
        assert!(said.contains("cannot write to standard output"), "{said}");
    }
    let load = ["load", "-n20", "-c1", &url];
    let load_as_json = [&load[..], &["--json", "-"]].concat();
    for arguments in [
        &["list"][..],
        &["export"],
        &["--version"],
        &load,
        &load_as_json,
    ] {
        with_stdout_closed(&project.prony(arguments))
            .with(1)
            .says("error: cannot write to standard output: Bad file descriptor");
    }
    // Output to /dev/null is not lost.
    let mut command = project.prony(&load_as_json);
    let null = File::options().read(true).write(true).open("/dev/null");
    assert_eq!(
        command.stdout(null.unwrap()).status().unwrap().code(),
        Some(0)
    );
    for arguments in [
        &load_as_json[..],
        &[&load[..], &["--json", "/dev/stdout"]].concat(),
        &load,
        &[&compare[..], &["--json", "-"]].concat(),
        &["export", "--format", "csv"],
        &["--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = project.prony(arguments);
        let ended = command.stdout(writer).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(0), "{arguments:?}: {said}");
        assert!(!said.contains("error"), "{arguments:?}: {said}");
    }
}

#[test]
fn files_that_cannot_be_written_are_reported_before_anything_is_sent() {
    let (project, server) = (with_a_run(), HttpServer::start());
    let url = server.url();
    fs::create_dir(project.path().join("folder")).unwrap();
    let capacity = ["load", "--find-capacity", "--budget=10s", &url];
    let load = ["load", "-n20", "-c1", &url];
    let generators = ["generators", "--tools=prony", "--cases=hello:1"];
    let calibrate = ["calibrate", "--quick"];
    let compare = ["compare", "latest", "latest"];
    for (command, flag, code) in [
        (&load[..], "--json", 1),
        (&capacity, "--json", 1),
        (&capacity, "--chart", 1),
        (&generators, "--json", 1),
        (&generators, "--markdown", 1),
        (&calibrate, "--json", 1),
        (&compare, "--json", 2),
        (&compare, "--markdown", 2),
        (&["export"], "--output", 1),
    ] {
        for (file, told) in [
            ("no/such/result", "there is no folder `no/such`"),
            ("folder", "cannot write `folder`: it is a folder"),
            (
                "servers/ceiling/none/x",
                "there is no folder `servers/ceiling/none`",
            ),
        ] {
            let ended = project.run(&[command, &[flag, file]].concat());
            let ended = ended.with(code).says(told);
            assert_eq!(ended.stdout, "", "{command:?}");
            assert!(!ended.stderr.contains("measuring"), "{}", ended.stderr);
        }
    }
    assert_eq!(server.count(), 0, "nothing was sent");
    assert!(!project.path().join("no").exists());

    // Two results need two files.
    for (one, other) in [("same", "same"), ("same", "./same"), ("-", "-")] {
        let files = ["--json", one, "--markdown", other];
        project
            .run(&[&compare[..], &files].concat())
            .with(2)
            .says("--markdown and --json name the same place");
    }
}

/// What is in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<_> = entries.map(name).collect();
    names.sort();
    names
        .into_iter()
        .map(|name| name.into_string().unwrap())
        .collect()
}

#[test]
fn an_earlier_result_stays_until_the_new_one_is_complete() {
    let (folder, server) = (tempfile::tempdir().unwrap(), HttpServer::start());
    let file = folder.path().join("result.json");
    fs::write(&file, "earlier").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("result.json", folder.path().join("link.json")).unwrap();
    let load = |end: &str| {
        let mut command = common::prony(["load", end, "-c1", "--json", "link.json"]);
        command.arg(server.url()).current_dir(&folder);
        command
    };
    let running = Running::start(load("-d60s"));
    until("a request", || (server.count() > 0).then_some(()));
    assert_eq!(fs::read_to_string(&file).unwrap(), "earlier");
    running.signal(Signal::SIGKILL);
    running.end();
    assert_eq!(fs::read_to_string(&file).unwrap(), "earlier");
    assert_eq!(names(folder.path()), ["link.json", "result.json"]);

    run(load("-n20")).with(0);
    let result = schema::load(&fs::read_to_string(&file).unwrap());
    assert_eq!(result["requests"], 20);
    // The link is still a link, and the file's permissions have not changed.
    assert_eq!(names(folder.path()), ["link.json", "result.json"]);
    let link = fs::symlink_metadata(folder.path().join("link.json")).unwrap();
    assert!(link.is_symlink());
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn a_result_may_go_to_a_pipe_or_a_device() {
    let (folder, server) = (tempfile::tempdir().unwrap(), HttpServer::start());
    let json = |to: &str| {
        let mut command = common::prony(["load", "-n20", "-c1", "--json", to]);
        command.arg(server.url()).current_dir(&folder);
        command
    };
    let ended = run(json("/dev/stderr")).with(0).prints("requests");
    assert_eq!(schema::load(&ended.stderr)["requests"], 20);
    run(json("/dev/full"))
        .with(1)
        .prints("requests")
        .says("cannot write `/dev/full`: No space left on device");
}

/// A run in its second round, long before its end.
fn in_mid_run(project: &Project) -> Running {
    let more = ["--rounds", "60", "--duration", "100ms"];
    let mut running = Running::start(project.measure("ceiling", "hello", &more));
    running.await_stderr("round 2 of 60");
    running
}

#[test]
fn a_record_file_deleted_during_a_run_is_reported_and_results_are_saved() {
    let project = Project::new().with(&["ceiling"]);
    let files = ["prony.sqlite", "prony.sqlite-wal", "prony.sqlite-shm"];
    let delete_file = || {
        files
            .iter()
            .for_each(|name| fs::remove_file(project.state(name)).unwrap())
    };
    let delete_all = || fs::remove_dir_all(project.state("")).unwrap();
    let deletions: [&dyn Fn(); 2] = [&delete_file, &delete_all];
    for delete in deletions {
        let running = in_mid_run(&project);
        // The run keeps writing there.
        until("the deletion", || {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(delete)).ok()
        });
        let ended = running
            .end()
            .with(1)
            .says("prony.sqlite was deleted or replaced while Prony wrote to it")
            .says("note: the results are in ");
        let told = ended.stderr.split("the results are in ").nth(1);
        let folder = Path::new(told.unwrap().lines().next().unwrap());
        let record = schema::run(&fs::read_to_string(folder.join("record.json")).unwrap());
        assert_eq!(record["run"]["end"], "failed");
        let measured = trials(&record, "ceiling", "measured").len();
        assert!((1..60).contains(&measured), "{measured} trials");
        assert!(folder.join("report.html").is_file());
        assert!(project.state(".gitignore").is_file());
    }
}

#[test]
fn prony_s_own_files_are_not_staged_and_no_other_folder_is_created() {
    let project = with_a_run();
    assert_eq!(
        fs::read_to_string(project.state(".gitignore")).unwrap(),
        "*\n"
    );
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(arguments)
            .current_dir(project.path())
            .env("HOME", project.path());
        let output = git.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "--quiet"]);
    git(&["add", "-A"]);
    let staged = git(&["ls-files"]);
    assert!(staged.contains("suites/tour.toml"), "{staged}");
    assert!(!staged.contains(".prony"), "{staged}");
    // A user's own files there stay.
    fs::write(project.state(".gitignore"), "mine\n").unwrap();
    project.run(&["verify", "--workloads", "hello"]).with(0);
    assert_eq!(
        fs::read_to_string(project.state(".gitignore")).unwrap(),
        "mine\n"
    );

    // No other folder is created.
    let measure = |store: &str| project.measure("ceiling", "hello", &["--store", store]);
    run(measure("no/such/dir/x"))
        .with(1)
        .says("there is no folder no/such/dir for the record file no/such/dir/x")
        .says("create it, or name another path");
    run(measure("suites/tour.toml/x"))
        .with(1)
        .says("suites/tour.toml is not a folder");
    project
        .run(&["report", "--out", "no/such/site"])
        .with(1)
        .says("there is no folder `no/such`");
    assert!(!project.path().join("no").exists());
    // The folder on the command line is created.
    project.run(&["report", "--out", "site"]).with(0);
    assert!(project.path().join("site/report.html").is_file());
}

#[test]
fn every_command_that_creates_the_state_folder_makes_git_ignore_it() {
    for arguments in [
        &["verify", "--workloads", "hello"][..],
        &[
            "generators",
            "--tools=prony",
            "--cases=hello:1",
            "--rounds=1",
            "--duration=1",
        ],
    ] {
        let project = with_drivers();
        project.run(arguments).with(0);
        let is_made = project.state("").exists();
        assert_eq!(
            project.state(".gitignore").is_file(),
            is_made,
            "{arguments:?}"
        );
    }
    // Commands that only read create nothing.
    let project = Project::new().with(&["ceiling"]);
    project.run(&["list"]).with(0);
    project.run(&["report"]).with(1);
    assert!(!project.state("").exists());
}
