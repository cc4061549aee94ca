//! What the words of a manifest may name in braces.

use prony_manifest::{Placeholder, Template};

/// A placeholder of a server's manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// `{out}`: the folder for what the build makes.
    Out,
    /// `{cargo_target}`: Cargo's target folder.
    CargoTarget,
    /// `{packages}`: the folder for what package managers fetch, shared by all builds.
    Packages,
    /// `{workloads}`: the project's workloads.
    Workloads,
    /// `{prony}`: Prony's own program.
    Prony,
    /// `{host}`: the address to listen on.
    Host,
    /// `{port}`: the port to listen on.
    Port,
    /// `{cpus}`: how many CPUs the server has.
    Cpus,
    /// `{assets}`: the folder of the files that it responds with.
    Assets,
    /// `{tmp}`: an empty folder of its own, removed when it has ended.
    Tmp,
}

/// A word of a command or the value of a variable.
pub type Word = Template<Place>;

impl Place {
    /// All places, which the command that runs a server, and its variables, may name.
    #[rustfmt::skip]
    pub const ALL: &[Place] = &[
        Place::Out, Place::CargoTarget, Place::Packages, Place::Workloads, Place::Prony,
        Place::Host, Place::Port, Place::Cpus, Place::Assets, Place::Tmp,
    ];
    /// Those that are known before the build. The others are known only when a server starts.
    pub const OF_BUILD: &[Place] = Self::ALL.split_at(5).0;
}

impl Placeholder for Place {
    fn name(self) -> &'static str {
        match self {
            Place::Out => "out",
            Place::CargoTarget => "cargo_target",
            Place::Packages => "packages",
            Place::Workloads => "workloads",
            Place::Prony => "prony",
            Place::Host => "host",
            Place::Port => "port",
            Place::Cpus => "cpus",
            Place::Assets => "assets",
            Place::Tmp => "tmp",
        }
    }
}
