//! Names for places.

pub(crate) mod jit_dump;
mod kernel;
pub(crate) mod named;
mod native;
pub(crate) mod perf_map;

use std::collections::{BTreeMap, HashMap};

use prony_model::{FrameKind, Unavailable};

use crate::profile::module::Modules;
use crate::profile::place::Place;
use crate::profile::process::Processes;
use crate::profile::runtimes;

use named::Named;

/// The names of all places, in their order, and what names could not be read.
pub(crate) fn name_all(
    places: &[Place],
    modules: &Modules,
    processes: &Processes,
) -> (Vec<Named>, Vec<Unavailable>) {
    let mut kernel = Vec::new();
    let mut files: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let mut memory: BTreeMap<i32, Vec<u64>> = BTreeMap::new();
    for &place in places {
        match place {
            Place::Kernel(address) => kernel.push(address),
            Place::File { module, offset } => files.entry(module).or_default().push(offset),
            Place::Memory { pid, address } => memory.entry(pid).or_default().push(address),
        }
    }
    let (kernel_names, unavailable) = kernel::names(&kernel);
    let mut named: HashMap<Place, Named> = HashMap::new();
    let kernel = kernel.into_iter().map(Place::Kernel);
    named.extend(kernel.zip(kernel_names));
    for (module, offsets) in files {
        let Some(file) = modules.get(module) else {
            continue;
        };
        let names = native::names(file, &offsets);
        let offsets = offsets.into_iter();
        named.extend(
            offsets
                .map(|offset| Place::File { module, offset })
                .zip(names),
        );
    }
    for (pid, addresses) in memory {
        let names = runtimes::names(pid, &addresses, processes);
        let addresses = addresses.into_iter();
        named.extend(
            addresses
                .map(|address| Place::Memory { pid, address })
                .zip(names),
        );
    }
    let unread = || Named::unknown("[unknown]", FrameKind::Native, "there are too many files");
    let in_order = places
        .iter()
        .map(|place| named.remove(place).unwrap_or_else(unread));
    (in_order.collect(), unavailable)
}
