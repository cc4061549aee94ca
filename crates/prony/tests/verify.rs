//! `prony verify`: right servers are right, and every kind of lie is found.

mod common;

use common::project::{Project, trials};
use common::{leave_out, prony, repository, run, toolchains_are_required};

const WORKLOADS: [&str; 7] = [
    "hello", "byte", "page", "page-log", "sse", "sse-20k", "quote",
];
const SUBJECTS: [&str; 7] = [
    "bun",
    "ceiling",
    "go-nethttp",
    "python-httpserver",
    "rust-axum",
    "rust-hyper",
    "zig-std",
];

/// The subjects of the repository that can be verified here.
fn here() -> Vec<&'static str> {
    if toolchains_are_required() {
        return SUBJECTS.to_vec();
    }
    let mut list = prony(["list", "subjects"]);
    list.current_dir(repository());
    let listed = run(list).with(0);
    let is_here = |id: &&str| {
        let lines = listed.stdout.lines();
        let mut of_id = lines.filter(|line| line.split_whitespace().next() == Some(id));
        let here = of_id.any(|line| line.ends_with("its toolchain is here"));
        if !here {
            leave_out(id, "its toolchain is not here");
        }
        here
    };
    SUBJECTS.into_iter().filter(is_here).collect()
}

#[test]
fn the_subjects_of_the_repository_answer_right() {
    let subjects = here();
    let mut verify = prony(["verify", "--require-toolchains"]);
    verify.args(&subjects).current_dir(repository());
    let ended = run(verify).with(0);
    let mut right = Vec::new();
    for subject in &subjects {
        for workload in WORKLOADS {
            right.push(format!("right    {subject} × {workload}"));
        }
    }
    let mut came = ended.lines("right ");
    came.sort_unstable();
    right.sort_unstable();
    assert_eq!(came, right);
    let all = format!("subjects: {} right, 0 wrong, 0 skipped", subjects.len());
    ended.prints(&all);
}

/// A subject's lie: what is changed in a right server, in which workload it shows, and what must be
/// told.
struct Lie {
    id: &'static str,
    methods: &'static str,
    workload: &'static str,
    expected: &'static str,
    came: &'static str,
}

const LIES: [Lie; 8] = [
    Lie {
        id: "wrong-status",
        methods: "
    def do_GET(self):
        if self.path == '/hello':
            self.send_error(503)
        else:
            super().do_GET()",
        workload: "hello",
        expected: "status 200",
        came: "status 503",
    },
    Lie {
        id: "wrong-type",
        methods: "
    def answer(self, content_type, body, headers=()):
        super().answer('text/html' if self.path == '/byte' else content_type, body, headers)",
        workload: "byte",
        expected: "content-type text/plain",
        came: "content-type text/html",
    },
    Lie {
        id: "one-byte-off",
        methods: "
    def answer(self, content_type, body, headers=()):
        if self.path == '/':
            body = body[:5000] + b'~' + body[5001:]
        super().answer(content_type, body, headers)",
        workload: "page",
        expected: "102400 bytes, at byte 5000: `",
        came: "102400 bytes, at byte 5000: `~",
    },
    Lie {
        id: "obsolete-event",
        methods: "
    def answer(self, content_type, body, headers=()):
        if self.path == '/sse':
            body = body.replace(b'datastar-patch-elements', b'datastar-merge-fragments')
        super().answer(content_type, body, headers)",
        workload: "sse",
        expected: "an event named datastar-patch-elements",
        came: "an event named datastar-merge-fragments",
    },
    Lie {
        id: "may-be-cached",
        methods: "
    def answer(self, content_type, body, headers=()):
        super().answer(content_type, body, () if self.path == '/sse-20k' else headers)",
        workload: "sse-20k",
        expected: "cache-control: no-cache",
        came: "no cache-control",
    },
    Lie {
        id: "same-quote",
        methods: "
    def answer(self, content_type, body, headers=()):
        super().answer(content_type, QUOTES[0] if body in QUOTES else body, headers)",
        workload: "quote",
        expected: "a line drawn at random for each request",
        came: "24 times `",
    },
    Lie {
        id: "no-log-line",
        methods: "
    def log_line(self):
        if self.path != '/log':
            super().log_line()",
        workload: "page-log",
        expected: "3 lines on standard output for 3 requests",
        came: "0 lines",
    },
    Lie {
        id: "two-log-lines",
        methods: "
    def log_line(self):
        super().log_line()
        if self.path == '/log':
            super().log_line()",
        workload: "page-log",
        expected: "3 lines on standard output for 3 requests",
        came: "6 lines",
    },
];

#[test]
fn every_lie_is_told_with_subject_workload_what_was_expected_and_what_came() {
    let project = Project::new().with(&["ceiling"]);
    for lie in &LIES {
        project.handler(lie.id, lie.methods);
    }
    let ended = project.run(&["verify"]).with(1);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    for lie in &LIES {
        let head = format!("WRONG    {} × {}", lie.id, lie.workload);
        let at = lines.iter().position(|line| *line == head);
        let at = at.unwrap_or_else(|| panic!("no `{head}` in {}", ended.all()));
        let said = |line: &str, what: &str, text: &str| {
            let start = format!("  {what:8} {text}");
            assert!(line.starts_with(&start), "{head}: `{line}` is no `{start}`");
        };
        said(lines[at + 1], "expected", lie.expected);
        said(lines[at + 2], "came", lie.came);
        // It lies in this only.
        for workload in WORKLOADS.iter().filter(|one| **one != lie.workload) {
            let right = format!("right    {} × {workload}", lie.id);
            assert!(lines.contains(&right.as_str()), "{right}: {}", ended.all());
        }
    }
    assert_eq!(ended.lines("WRONG").len(), LIES.len(), "{}", ended.all());
    ended.prints("subjects: 1 right, 8 wrong, 0 skipped");
}

#[test]
fn what_answers_wrong_is_not_measured_and_not_ranked() {
    let project = Project::new().with(&["ceiling"]);
    for lie in LIES.iter().filter(|lie| lie.workload == "page") {
        project.handler(lie.id, lie.methods);
    }
    project.handler("honest", "    pass");
    let subjects = "ceiling,one-byte-off,honest";
    let measure = project.measure(subjects, "hello,page", &["--rounds", "1"]);
    let ended = common::run(measure)
        .with(1)
        .says("WRONG    one-byte-off × page: expected 102400 bytes, at byte 5000: `");
    let (tables, not_measured) = ended.stdout.split_once("Not measured").unwrap();
    assert!(
        not_measured.contains("one-byte-off page: "),
        "{not_measured}"
    );
    assert!(not_measured.contains("at byte 5000"), "{not_measured}");
    let page = tables.split("\npage").nth(1).unwrap();
    assert!(
        page.contains("honest") && !page.contains("one-byte-off"),
        "{page}"
    );

    let record = project.export();
    let of = |subject, result| trials(&record, subject, result).len();
    assert_eq!(
        (of("honest", "measured"), of("ceiling", "measured")),
        (2, 2)
    );
    // It is right in the other workload, which is measured.
    assert_eq!(of("one-byte-off", "measured"), 1);
    assert_eq!(of("one-byte-off", "failed"), 0);
}

#[test]
fn a_workload_that_a_subject_does_not_claim_is_not_held_against_it() {
    let project = Project::new().with(&["ceiling"]);
    project.handler(
        "hello-only",
        "
    def do_GET(self):
        super().do_GET() if self.path == '/hello' else self.send_error(404)",
    );
    let file = project.path().join("subjects/hello-only/subject.toml");
    let manifest = std::fs::read_to_string(&file).unwrap();
    let list = r#"workloads = ["hello""#;
    let (before, after) = manifest.split_once(list).unwrap();
    let rest = after.split_once(']').unwrap().1;
    std::fs::write(&file, format!("{before}{list}]{rest}")).unwrap();
    let verified = project.run(&["verify", "hello-only"]).with(0);
    assert_eq!(verified.lines("right"), ["right    hello-only × hello"]);
    let more = ["--rounds", "1"];
    common::run(project.measure("ceiling,hello-only", "hello,page", &more)).with(0);
    let record = project.export();
    assert_eq!(trials(&record, "hello-only", "measured").len(), 1);
    assert_eq!(trials(&record, "ceiling", "measured").len(), 2);
}

#[test]
fn a_subject_in_a_folder_anywhere_can_be_verified() {
    let project = Project::new();
    project.handler("mine", "    pass");
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = elsewhere.path().join("mine");
    std::fs::rename(project.path().join("subjects/mine"), &folder).unwrap();
    let folder = folder.to_str().unwrap();
    let ended = project.run(&["verify", folder, "--workloads", "hello,quote"]);
    let ended = ended.with(0);
    assert_eq!(
        ended.lines("right"),
        ["right    mine × hello", "right    mine × quote"]
    );
}

#[test]
fn a_missing_toolchain_is_skipped_or_an_error_where_it_is_required() {
    let project = Project::new().with(&["ceiling"]);
    let manifest = common::project::manifest(&["true"]) + "needs = [\"go >= 999.0\"]\n";
    project.manifest("of-the-future", &manifest);
    let ended = project.run(&["verify", "--workloads", "hello"]).with(0);
    let skipped = ended.lines("SKIPPED  of-the-future: ");
    assert_eq!(skipped.len(), 1, "{}", ended.all());
    assert!(skipped[0].contains("999"), "{}", skipped[0]);
    assert!(skipped[0].contains("install it: "), "{}", skipped[0]);
    let required = ["verify", "--workloads", "hello", "--require-toolchains"];
    project.run(&required).with(1);
}
