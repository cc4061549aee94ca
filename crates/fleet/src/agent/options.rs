//! The command line of an agent.

use crate::is_fleet_id;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub fleet: String,
    /// The number of the agent, from 0 on.
    pub index: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Run(Options),
    ShowVersion,
}

/// Where schedulers put the number of a process.
const INDEX_VARIABLES: [&str; 2] = ["SLURM_PROCID", "JOB_COMPLETION_INDEX"];

const USAGE: &str = "usage: prony agent --fleet ID [--index N]; Prony starts agents itself, with `prony load --on …`";

impl Task {
    /// Reads the words after the program's name; `agent` may be the first of them. `variable` reads the environment.
    pub(crate) fn of(
        words: impl IntoIterator<Item = String>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let mut words = words.into_iter().peekable();
        words.next_if(|word| word == "agent");
        let (mut fleet, mut index) = (None, None);
        while let Some(word) = words.next() {
            let to_set = match word.as_str() {
                "--version" => return Ok(Self::ShowVersion),
                "--fleet" => &mut fleet,
                "--index" => &mut index,
                _ => return Err(format!("unexpected `{word}`; {USAGE}")),
            };
            let value = words.next();
            *to_set = Some(value.ok_or_else(|| format!("{word} needs a value; {USAGE}"))?);
        }
        let fleet = fleet.ok_or_else(|| format!("--fleet is missing; {USAGE}"))?;
        if !is_fleet_id(&fleet) {
            return Err(format!(
                "`{fleet}` is not the id of a fleet: lower-case letters, digits and hyphens, at most 64"
            ));
        }
        let from_scheduler = || INDEX_VARIABLES.iter().find_map(|name| variable(name));
        let index = index.or_else(from_scheduler).ok_or_else(|| {
            let names = INDEX_VARIABLES.join(" nor ");
            format!("--index is missing, and neither {names} is set; {USAGE}")
        })?;
        let index = index
            .parse()
            .map_err(|_| format!("`{index}` is not the number of an agent"))?;
        Ok(Self::Run(Options { fleet, index }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(line: &str, environment: &[(&str, &str)]) -> Result<Task, String> {
        let words = line.split_whitespace().map(String::from);
        Task::of(words, |name| {
            let mut environment = environment.iter();
            let found = environment.find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).into())
        })
    }

    fn agent(index: usize) -> Result<Task, String> {
        let fleet = "k-1".into();
        Ok(Task::Run(Options { fleet, index }))
    }

    #[test]
    fn the_index_comes_from_the_flag_or_from_the_scheduler() {
        let slurm = ("SLURM_PROCID", "5");
        assert_eq!(task("agent --fleet k-1 --index 3", &[slurm]), agent(3));
        assert_eq!(task("--fleet k-1", &[slurm]), agent(5));
        assert_eq!(
            task("--fleet k-1", &[("JOB_COMPLETION_INDEX", "7")]),
            agent(7)
        );
        assert_eq!(task("agent --version", &[]), Ok(Task::ShowVersion));
    }

    #[test]
    fn a_wrong_command_line_is_named() {
        for (line, wrong) in [
            ("--index 3", "--fleet is missing"),
            (
                "--fleet k",
                "--index is missing, and neither SLURM_PROCID nor",
            ),
            ("--fleet k --index x", "`x` is not the number"),
            ("--fleet K! --index 1", "`K!` is not the id"),
            ("--fleet", "--fleet needs a value"),
            ("--port 80", "unexpected `--port`"),
        ] {
            let error = task(line, &[]).unwrap_err();
            assert!(error.starts_with(wrong), "{line}: {error}");
        }
    }
}
