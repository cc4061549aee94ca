//! The help of all commands, and the schemas of what they write.

mod schemas;

use super::*;

/// Clap wraps paragraphs, but in a wrapped column nobody finds what belongs together.
#[test]
fn examples_fit_a_terminal_of_80_columns() {
    let cli = definition();
    let commands = cli.get_subcommands();
    for command in commands.filter(|command| !command.is_hide_set()) {
        let helps = [command.get_after_help(), command.get_after_long_help()];
        for help in helps.into_iter().flatten().map(ToString::to_string) {
            for line in help.lines().filter(|line| line.starts_with("  ")) {
                assert!(line.chars().count() <= 80, "{line}");
            }
        }
    }
}

fn command_of<'a>(definition: &'a clap::Command, name: &str) -> &'a clap::Command {
    definition.find_subcommand(name).unwrap()
}

#[test]
fn commands_that_measure_have_the_same_flags_of_output() {
    let definition = definition();
    for name in ["run", "load", "capacity", "ab", "explain", "generators"] {
        let command = command_of(&definition, name);
        for id in ["no_tui", "quiet", "json", "markdown"] {
            // The result of a search has no Markdown.
            let is_expected = (name, id) != (CAPACITY, "markdown");
            let mut flags = command.get_arguments();
            let flag = flags.find(|flag| flag.get_id() == id && !flag.is_hide_set());
            assert_eq!(flag.is_some(), is_expected, "{name}: {id}");
        }
    }
}

#[test]
fn the_help_of_capacity_is_its_own() {
    let help = CapacityWords::help(&"-h".into()).unwrap().to_string();
    for part in [
        "Usage: prony capacity [OPTIONS]",
        "prony capacity shop",
        "--objective",
        "p99<100ms,errors<0.1%",
        "--no-tui",
    ] {
        assert!(help.contains(part), "{part} in {help}");
    }
    for part in [
        "prony load",
        "  --find-capacity",
        "--slo",
        "exit with status 5",
        "--rate",
        "--trace",
    ] {
        let lines: Vec<&str> = help.lines().filter(|line| line.contains(part)).collect();
        assert!(lines.is_empty(), "{lines:?}");
    }
}
