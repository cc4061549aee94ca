//! `[fleet]` of `prony.toml`.

use std::net::IpAddr;

use prony_fleet::{Kubernetes, Slurm, SshSettings};
use prony_load::MOST_AGENTS;
use prony_manifest::{FileError, Source};
use prony_server::{Layout, PROJECT_FILE};
use serde::Deserialize;
use toml::Spanned;

use super::agent_location::AgentLocation;

pub(super) fn agents(count: usize) -> Result<usize, String> {
    if (1..=MOST_AGENTS).contains(&count) {
        Ok(count)
    } else {
        Err(format!("it must be from 1 to {MOST_AGENTS}"))
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Where loads are generated, unless the command line says otherwise.
    pub(crate) on: Option<AgentLocation>,
    /// How many agents there are, unless the command line says otherwise.
    #[serde(default, deserialize_with = "some_agents")]
    pub(crate) agents: Option<usize>,
    /// The address of this machine at which agents reach servers that Prony starts.
    pub(crate) server_address: Option<Spanned<IpAddr>>,
    #[serde(default)]
    pub(crate) kubernetes: Kubernetes,
    #[serde(default)]
    pub(crate) slurm: Slurm,
    #[serde(default)]
    pub(crate) ssh: SshSettings,
}

/// The part of the file that is about the fleet. The others have a reader of their own.
#[derive(Deserialize)]
struct FleetOnly {
    #[serde(default)]
    fleet: Settings,
}

impl Settings {
    /// What the project file says; nothing if there is none.
    pub(super) fn read(layout: &Layout) -> Result<Self, FileError> {
        let path = layout.root().join(PROJECT_FILE);
        if path.is_file() {
            Self::of(&Source::open(&path)?)
        } else {
            Ok(Self::default())
        }
    }

    fn of(source: &Source) -> Result<Self, FileError> {
        Ok(source.parse::<FleetOnly>()?.fleet)
    }
}

fn some_agents<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<usize>, D::Error> {
    let count = usize::deserialize(deserializer)?;
    agents(count).map(Some).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use prony_testkit::starts_with;
    use prony_testkit::table::rows;

    use super::*;

    fn read(text: &str) -> Result<Settings, String> {
        Settings::of(&Source::new(Path::new("prony.toml"), text)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_project_file_says_where_loads_are_generated() {
        let settings = read(
            "rounds = 3\n[fleet]\non = \"ssh:a,b\"\nagents = 2\nserver_address = \"10.0.0.5\"\n\
             [fleet.slurm]\npartition = \"short\"\n[fleet.ssh]\ncopy = true\n",
        )
        .unwrap();
        assert_eq!(settings.on, Some("ssh:a,b".parse().unwrap()));
        assert_eq!(settings.agents, Some(2));
        let address = settings.server_address.unwrap();
        assert_eq!(*address.get_ref(), IpAddr::from([10, 0, 0, 5]));
        assert_eq!(settings.slurm.partition.as_deref(), Some("short"));
        assert!(settings.ssh.copy);
        assert!(read("[server.x]\nrun = 3\n").unwrap().on.is_none());
    }

    #[test]
    fn a_fault_has_its_line_and_the_nearest_name() {
        for [text, message] in rows(
            r#"
            [fleet]\nagent = 3 | 2: unknown field `agent`, expected one of `on`, `agents`, `server_address`, `kubernetes`, `slurm`, `ssh`; did you mean `agents`?
            \n[fleet]\non = "slrm" | 3: field `on`: it must be kubernetes, slurm, ssh:HOST,…, local or none; did you mean `slurm`?
            [fleet]\nagents = 0 | 2: field `agents`: it must be from 1 to 10000
            [fleet]\nserver_address = "shop" | 2: field `server_address`: invalid IP address syntax
        "#,
        ) {
            assert_eq!(read(text).unwrap_err(), format!("prony.toml:{message}"));
        }
        let message = read("[fleet.slurm]\npartitoin = \"x\"\n").unwrap_err();
        starts_with(&message, "prony.toml:2: unknown field `partitoin`");
        assert!(message.ends_with("did you mean `partition`?"), "{message}");
    }
}
