//! `prony compare`: two runs, or two servers of one, from the store and from files.

use crate::common::project::Project;
use crate::common::{run, schema};

/// Two runs of two servers, one of which is the ceiling.
fn project() -> Project {
    let project = Project::new().with(&["ceiling"]);
    project.server("web", "right");
    for _ in 0..2 {
        run(project.measure("ceiling,web", "hello", "--rounds 2 --seed 7")).with(0);
    }
    project
}

#[test]
fn runs_are_found_in_the_store_and_in_files() {
    let project = project();
    project.run("export --output base.json").with(0);
    // With a threshold so wide that nothing is worse on any machine.
    let compare = "compare --threshold 1000%";
    let files = "--json found.json --markdown pr.md --junit tests.xml";
    project
        .run(&format!("{compare} latest~1 latest {files}"))
        .with(0)
        .prints("web")
        .prints(" (base) → ")
        .prints("hello, ");
    let json = schema::valid("comparison", &project.read("found.json"));
    assert_eq!(json["sessions"], "two");
    let cases = json["cases"].as_array().unwrap();
    assert_eq!((cases.len(), cases[0]["base"].as_str()), (1, Some("web")));
    let rows = cases[0]["rows"].as_array().unwrap();
    assert_eq!(rows[0]["change"]["basis"], "to-ceiling");
    let markdown = project.read("pr.md");
    assert!(markdown.starts_with("### Prony: "), "{markdown}");
    let xml = project.read("tests.xml");
    let xml = roxmltree::Document::parse(&xml).unwrap();
    assert_eq!(xml.root_element().attribute("failures"), Some("0"));
    let nodes = xml.descendants();
    let tests = nodes.filter(|node| node.has_tag_name("testcase"));
    assert!(tests.count() >= rows.len());

    // A file is a run as well. This one contains the newest run, so both sides are of one run.
    let one = project
        .run(&format!("{compare} base.json:web latest:ceiling --json -"))
        .with(0)
        .says("Base  web");
    let json = schema::valid("comparison", &one.stdout);
    assert_eq!(json["sessions"], "one");
    assert_eq!(json["cases"][0]["rows"][0]["change"]["basis"], "paired");

    // Two rounds may be too few even for this, which is a failure only with --strict.
    let strict = project.run("compare latest:web latest:ceiling --strict");
    assert!([0, 3].map(Some).contains(&strict.code), "{strict:?}");

    // Runs that cannot be compared have an exit status of their own, and a message that says what to do.
    project.write("other.json", "{}");
    project.check(
        "
        2 | compare latest latest | both sides are the run
        2 | compare latest:bun latest~1 | has no server `bun`
        2 | compare latest~7 latest | there is no run `latest~7`
        2 | compare no-such-run latest | no-such-run
        2 | compare gone.json latest | cannot read gone.json
        2 | compare other.json latest | write one with `prony export
        ",
    );
}
