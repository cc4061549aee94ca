//! Names of the kernel's functions, from `/proc/kallsyms`.

use std::fs::File;
use std::io::{BufRead, BufReader};

use blazesym::MaybeDefault;
use blazesym::symbolize::source::{Kernel, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};
use prony_model::{FrameKind, Unavailable};

use super::Named;

const MODULE: &str = "[kernel]";

/// A name for each address, and what is missing if the kernel hides its names.
pub(super) fn names(addresses: &[u64]) -> (Vec<Named>, Vec<Unavailable>) {
    if addresses.is_empty() {
        return (Vec::new(), Vec::new());
    }
    if hidden() {
        let why = "the kernel hides the addresses of its functions from this user";
        let unknown = Named::unknown(MODULE, FrameKind::Kernel, why);
        let unavailable = Unavailable {
            what: "names of the kernel's functions".into(),
            why: why.into(),
            remedy: Some("sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1".into()),
        };
        return (vec![unknown; addresses.len()], vec![unavailable]);
    }
    // Its own list is enough, and always that of the running kernel.
    let kernel = Kernel {
        vmlinux: MaybeDefault::None,
        debug_syms: false,
        ..Kernel::default()
    };
    let symbolizer = Symbolizer::new();
    let symbols = symbolizer.symbolize(&Source::Kernel(kernel), Input::AbsAddr(addresses));
    let unknown = |why: String| Named::unknown(MODULE, FrameKind::Kernel, why);
    let names = match symbols {
        Ok(symbols) => symbols.into_iter().map(|symbol| match symbol {
            Symbolized::Sym(symbol) => {
                Named::function(symbol.name.into_owned(), MODULE, FrameKind::Kernel)
            }
            Symbolized::Unknown(reason) => unknown(reason.to_string()),
        }),
        Err(error) => {
            return (
                vec![unknown(error.to_string()); addresses.len()],
                Vec::new(),
            );
        }
    };
    (names.collect(), Vec::new())
}

/// Whether every address in the list is zero, as it is for users who may not see them.
fn hidden() -> bool {
    let Ok(file) = File::open("/proc/kallsyms") else {
        return true;
    };
    let first = BufReader::new(file).lines().map_while(Result::ok).take(64);
    let mut addresses = first.filter_map(|line| line.split(' ').next().map(str::to_owned));
    addresses.all(|address| address.bytes().all(|digit| digit == b'0'))
}
