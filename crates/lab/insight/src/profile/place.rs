//! Where the code of a frame is, before it has a name.

use std::collections::HashMap;

/// Where the code of a frame is. The same function of the same file is the same place in every process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Kernel(u64),
    /// An offset in a file.
    File {
        /// The file, as [`Modules`](crate::profile::module::Modules) numbers it.
        module: u32,
        /// In bytes.
        offset: u64,
    },
    /// An address of a process that belongs to no file: code that was compiled while the process ran.
    Memory {
        pid: i32,
        address: u64,
    },
}

/// Numbers places, so that a stack is a path of small numbers.
#[derive(Debug, Default)]
pub(crate) struct Places {
    list: Vec<Place>,
    numbers: HashMap<Place, u32>,
}

/// With more places, stacks that need new ones are left out.
const MOST_PLACES: usize = 500_000;

impl Places {
    /// The number of a place; `None` if there are too many.
    pub(crate) fn number(&mut self, place: Place) -> Option<u32> {
        if let Some(&number) = self.numbers.get(&place) {
            return Some(number);
        }
        let number = u32::try_from(self.list.len()).ok()?;
        if self.list.len() >= MOST_PLACES {
            return None;
        }
        self.list.push(place);
        self.numbers.insert(place, number);
        Some(number)
    }

    /// All places, in the order of their numbers.
    pub(crate) fn all(&self) -> &[Place] {
        &self.list
    }
}
