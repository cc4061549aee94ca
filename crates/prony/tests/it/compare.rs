//! `prony compare`: two runs, or two servers of one, from the store and from files.

use std::fs;

use crate::common;
use crate::common::project::Project;
use crate::common::schema;

/// Thresholds so wide that nothing is worse on any machine.
const NEVER_WORSE: [&str; 2] = ["--threshold", "1000%"];

/// Two runs of two servers, one of which is the ceiling.
fn project() -> Project {
    let project = Project::new().with(&["ceiling"]);
    project.server("web", "right");
    for _ in 0..2 {
        let more = ["--rounds", "2", "--seed", "7"];
        let measured = project.measure("ceiling,web", "hello", &more);
        common::run(measured).with(0);
    }
    project
}

#[test]
fn runs_are_found_in_the_store_and_in_files() {
    let project = project();
    let path = |name: &str| project.path().join(name);
    project.run(&["export", "--output", "base.json"]).with(0);
    let arguments = [
        "compare",
        "latest~1",
        "latest",
        "--json",
        "found.json",
        "--markdown",
        "pr.md",
        "--junit",
        "tests.xml",
    ];
    let compared = project
        .run(&[&arguments[..], &NEVER_WORSE].concat())
        .with(0);
    let compared = compared.prints("web").prints("result: ");
    assert!(compared.stdout.contains("hello, "), "{}", compared.stdout);
    let json = schema::comparison(&fs::read_to_string(path("found.json")).unwrap());
    assert_eq!(json["sessions"], "two");
    assert_eq!(json["cases"].as_array().unwrap().len(), 1);
    assert_eq!(json["cases"][0]["base"], "web");
    assert_eq!(json["cases"][0]["rows"][0]["change"]["basis"], "to-ceiling");
    let markdown = fs::read_to_string(path("pr.md")).unwrap();
    assert!(markdown.starts_with("### Prony: "), "{markdown}");
    let xml = fs::read_to_string(path("tests.xml")).unwrap();
    let xml = roxmltree::Document::parse(&xml).unwrap();
    assert_eq!(xml.root_element().attribute("failures"), Some("0"));
    let rows = json["cases"][0]["rows"].as_array().unwrap().len();
    let cases = xml
        .descendants()
        .filter(|node| node.has_tag_name("testcase"));
    assert!(cases.count() >= rows);

    // A file is a run as well. This one contains the newest run, so both sides are of one run.
    let sides = ["compare", "base.json:web", "latest:ceiling"];
    let one = project
        .run(&[&sides[..], &NEVER_WORSE, &["--json", "-"]].concat())
        .with(0);
    let json = schema::comparison(&one.stdout);
    assert_eq!(json["sessions"], "one");
    assert_eq!(json["cases"][0]["rows"][0]["change"]["basis"], "paired");
    assert!(one.stderr.contains("BASE  web"), "{}", one.stderr);

    // Two rounds may be too few even for this, which is a failure only with --strict.
    let strict = ["compare", "latest:web", "latest:ceiling", "--strict"];
    let strict = project.run(&strict);
    assert!(
        [Some(0), Some(3)].contains(&strict.code),
        "{}",
        strict.all()
    );
    refusals(&project);
}

/// Runs that cannot be compared have an exit status of their own, and a message that says what to do.
fn refusals(project: &Project) {
    fs::write(project.path().join("other.json"), "{}").unwrap();
    let refused = |arguments: &[&str], says: &str| {
        let arguments = [&["compare"], arguments].concat();
        project.run(&arguments).with(2).says(says);
    };
    refused(&["latest", "latest"], "both sides are the run");
    refused(&["latest:bun", "latest~1"], "has no server `bun`");
    refused(&["latest~7", "latest"], "there is no run `latest~7`");
    refused(&["no-such-run", "latest"], "no-such-run");
    refused(&["gone.json", "latest"], "cannot read gone.json");
    refused(&["other.json", "latest"], "write one with `prony export");
    refused(
        &["latest~1", "latest", "--threshold", "2"],
        "for instance 2%",
    );
    refused(
        &["latest~1", "latest", "--metrics", "speed"],
        "unknown metric `speed`",
    );
    let both = ["latest~1", "latest", "--json", "-", "--markdown", "-"];
    refused(&both, "--markdown and --json name the same place");
}
