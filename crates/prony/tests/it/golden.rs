//! Golden test of `prony list`. The other views have their golden files beside them, in `src`.
//!
//! `INSTA_UPDATE=always cargo test -p prony --test it golden` accepts a change.

use crate::common::project::{Project, manifest};
use prony_testkit::golden;

/// Installed toolchains differ between machines; these servers need none, or one that no machine has, and what Prony
/// ships is left out.
#[test]
fn list() {
    let project = Project::new();
    std::fs::remove_file(project.path().join("suites/tour.toml")).unwrap();
    let measure = "rounds = 3\n[[measure]]\nworkloads = [\"hello\", \"page\"]\n\
                   load = { shape = \"closed\", connections = 4, duration = \"1s\", warmup = \"0s\", timeout = \"5s\" }\n";
    for (id, servers) in [
        ("one", "[\"ready\"]"),
        ("a-suite-with-a-long-name", "[\"ready\", \"lacking\"]"),
    ] {
        let text = format!(
            "title = \"Suite {id}\"\nabout = \"Says what it is about, and how long it takes.\"\nservers = {servers}\n"
        );
        project.suite(id, &(text + measure));
    }
    project.command("ready", &["true"]);
    let need = "needs = [{ program = \"no-such-server\", least = \"2.1\", install = \"get it somewhere\" }]\n";
    project.manifest("lacking", &(manifest(&["true"]) + need));
    let long = manifest(&["true"]).replace("none", "a framework with a long name");
    project.manifest("a-server-with-a-long-name", &long);
    let shown = project.run("list").with(0).stdout;
    let parts = shown.split_inclusive("\n\n");
    let own: String = parts
        .filter(|part| part.contains("of this project\n"))
        .collect();
    golden!("list", own);
}
