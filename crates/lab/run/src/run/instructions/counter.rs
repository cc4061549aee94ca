//! What counts instructions.

use std::time::Duration;

use prony_insight::RuntimeVariable;
use prony_insight::instructions::{Emulator, Messages, NODE_OPTIONS, SETTINGS};
use prony_kernel::TreeCounters;
use prony_model::CountedBy;
use prony_server::{ProgramOptions, Wrapper, WrapperVariable};

/// How long a load may take: it has a number of requests and no end in time.
pub(in crate::run) const LONGEST_LOAD: Duration = Duration::from_secs(300);

/// What counts instructions on this machine.
#[derive(Clone, Debug)]
pub enum Counter {
    /// The processor.
    Counters,
    Emulator(Emulator),
}

impl Counter {
    /// The processor's counters if the machine has any, otherwise the emulator.
    ///
    /// # Errors
    /// If the machine has no counters, and the emulator is not installed; the text says how to install it.
    pub fn find() -> Result<Self, String> {
        if TreeCounters::are_available_in_user_mode() {
            return Ok(Self::Counters);
        }
        Emulator::find().map(Self::Emulator).map_err(|error| {
            let install = prony_server::install_line("valgrind");
            let install = install.unwrap_or_else(|| "https://valgrind.org".to_owned());
            format!(
                "this machine has no hardware counters that Prony may read, and {error}; to install it: {install}"
            )
        })
    }

    pub(super) fn recorded(&self) -> CountedBy {
        match self {
            Self::Counters => CountedBy::Counters,
            Self::Emulator(emulator) => CountedBy::Emulator {
                version: emulator.version().to_owned(),
            },
        }
    }

    /// What runs a server's command so that its instructions can be counted.
    pub(super) fn wrapper(&self, messages: &Messages) -> Wrapper {
        let variable = |setting: &RuntimeVariable| WrapperVariable {
            name: setting.name.to_owned(),
            value: setting.value.to_owned(),
            separator: setting.separator,
        };
        Wrapper {
            before: match self {
                Self::Counters => Vec::new(),
                Self::Emulator(emulator) => emulator.before(Wrapper::FOLDER, messages),
            },
            options: vec![node_options()],
            env: SETTINGS.iter().map(variable).collect(),
        }
    }
}

pub(super) fn node_options() -> ProgramOptions {
    ProgramOptions {
        program: "node".to_owned(),
        options: NODE_OPTIONS.map(str::to_owned).into(),
    }
}
