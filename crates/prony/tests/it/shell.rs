//! Completion scripts and manual pages.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::project::Project;
use crate::common::{commands_in, leave_out, prony, run};

/// The commands that the help page lists.
fn commands() -> Vec<String> {
    commands_in(&run(prony(["--help"])).with(0).stdout)
}

/// What the program says about this file, which must be nothing.
fn accepts(program: &str, flags: &[&str], file: &Path) {
    let Ok(output) = Command::new(program).args(flags).arg(file).output() else {
        return leave_out(program, "it is not installed");
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        (said.as_ref(), output.status.code()),
        ("", Some(0)),
        "{file:?}"
    );
}

#[test]
fn completion_scripts_name_every_command_and_no_hidden_one() {
    let commands = commands();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = run(prony(["completions", shell])).with(0).stdout;
        for command in &commands {
            assert!(script.contains(command), "{shell}: {command}");
        }
        assert!(script.contains("find-capacity"), "{shell}: flags");
        assert!(!script.contains("reference server (the server"), "{shell}");
    }
}

#[test]
fn bash_reads_its_script() {
    let folder = Project::empty();
    let text = folder.run("completions bash").with(0).stdout;
    let script = folder.write("prony", text);
    accepts("bash", &["-n"], &script);

    let complete = "source \"$0\"; COMP_WORDS=(prony comp); COMP_CWORD=1; _prony prony comp prony; echo ${COMPREPLY[@]}";
    let mut bash = Command::new("bash");
    bash.args(["-c", complete]).arg(&script);
    let offered = run(bash).with(0).stdout;
    assert_eq!(offered.trim(), "compare completions");
}

#[test]
fn unknown_shells_and_folders_are_refused() {
    Project::empty().check(
        "
        2 | completions csh | bash, elvish, fish
        1 | man /no/such/folder | there is no folder `/no/such`
        ",
    );
}

#[test]
fn every_command_has_a_manual_page_that_groff_reads_without_a_warning() {
    let parent = Project::empty();
    parent.run("man man1").with(0);
    for command in commands() {
        let page = parent.read(&format!("man1/prony-{command}.1"));
        assert!(page.contains(".SH EXAMPLES"), "{command}");
        assert!(page.contains(".SH \"EXIT STATUS"), "{command}");
    }
    let folder = parent.path().join("man1");
    assert!(folder.join("prony-grpc-describe.1").is_file());
    let mut all = String::new();
    for page in fs::read_dir(&folder).unwrap() {
        let page = page.unwrap().path();
        accepts("groff", &["-man", "-Tutf8", "-ww", "-z"], &page);
        all.push_str(&fs::read_to_string(page).unwrap());
    }
    let printed = run(prony(["man"])).with(0).stdout;
    assert_eq!(printed.len(), all.len());
}
