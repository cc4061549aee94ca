//! What threads do, as the kernel writes it down while they run: samples of an event, context switches, mappings.
//!
//! A [`Sampler`] opens events with perf_event_open(2) and reads their [`Record`]s from one ring of memory for each CPU.
//! A [`Layout`] reads a record's bytes, and touches nothing else.

pub(crate) mod attributes;
mod error;
mod event;
mod layout;
mod record;
mod registers;
mod ring;
mod sampler;

pub use error::OpenError;
pub use event::{Event, SampleContent, SampledEvent};
pub use layout::{Layout, Malformed};
pub use record::{Record, Sample, UserRegisters};
pub use sampler::{Sampler, Total};

/// What tests do if the system forbids perf events.
#[cfg(test)]
pub(crate) mod testing {
    use std::io::{self, Write};

    use super::{OpenError, Sampler};

    /// A test must not be skipped.
    pub(crate) fn is_required() -> bool {
        std::env::var_os("PRONY_REQUIRE_PERF_EVENTS").is_some()
    }

    /// Writes to standard error directly: the test harness captures `eprintln!`.
    pub(crate) fn report_skipped(why: &str) {
        let test = std::thread::current();
        let name = test.name().unwrap_or_default();
        let _ = writeln!(io::stderr(), "skipped {name}: {why}");
    }

    /// The sampler; `None`, with a message, if the system forbids it. With `PRONY_REQUIRE_PERF_EVENTS` set that fails
    /// the test instead of skipping it.
    pub(crate) fn unless_forbidden(opened: Result<Sampler, OpenError>) -> Option<Sampler> {
        match opened {
            Ok(sampler) => Some(sampler),
            Err(OpenError::Forbidden { .. }) if !is_required() => {
                report_skipped("the kernel forbids sampling");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }
}
