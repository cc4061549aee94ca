//! `[fleet]` of `prony.toml`.

use std::net::IpAddr;

use prony_fleet::{SlurmSettings, SshSettings};
use prony_manifest::{FileError, Source};
use prony_server::{Layout, PROJECT_FILE};
use serde::Deserialize;
use toml::Spanned;

use super::place::Place;

/// Where agents run, and how they are started there.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where loads are generated, unless the command line says otherwise.
    pub on: Option<Place>,
    /// How many agents there are, unless the command line says otherwise.
    #[serde(default, deserialize_with = "some_agents")]
    pub agents: Option<usize>,
    /// The address of this machine at which agents reach servers that Prony starts.
    pub server_address: Option<Spanned<IpAddr>>,
    #[serde(default)]
    pub kubernetes: toml::Table,
    #[serde(default)]
    pub slurm: SlurmSettings,
    #[serde(default)]
    pub ssh: SshSettings,
}

/// The part of the file that is about the fleet. The others have a reader of their own.
#[derive(Deserialize)]
struct FleetOnly {
    #[serde(default)]
    fleet: Settings,
}

impl Settings {
    /// What the project file says; nothing if there is none.
    pub fn read(layout: &Layout) -> Result<Self, FileError> {
        let path = layout.root().join(PROJECT_FILE);
        match path.is_file() {
            true => Self::of(&Source::open(&path)?),
            false => Ok(Self::default()),
        }
    }

    fn of(source: &Source) -> Result<Self, FileError> {
        let FleetOnly { fleet } = source.parse()?;
        Ok(fleet)
    }
}

fn some_agents<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<usize>, D::Error> {
    let count = usize::deserialize(deserializer)?;
    super::agents(count)
        .map(Some)
        .map_err(serde::de::Error::custom)
}
