//! Counts what the records say.

use std::collections::{BTreeMap, HashMap, HashSet};

use prony_kernel::tracefs::Field;

use crate::trace::names::name_of;

/// Where the fields are that matter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    /// The number of the system call.
    pub(crate) number: Field,
    /// The thread that makes it, by its id in the kernel, whatever the PID namespace.
    pub(crate) caller: Field,
    /// The thread that is woken, likewise.
    pub(crate) woken: Field,
}

/// Counts of records.
#[derive(Debug)]
pub(crate) struct Tally {
    fields: Fields,
    calls: HashMap<i64, u64>,
    /// Threads of the tree, by their ids in the kernel: those of the start, and those that have made a system call, as one
    /// does that waits.
    threads: HashSet<i32>,
    /// How often each thread of the machine was woken, by its id in the kernel.
    wakes: HashMap<i32, u64>,
    /// Records of system calls, and of wake-ups.
    pub(crate) calls_seen: u64,
    pub(crate) wakes_seen: u64,
}

impl Tally {
    /// `threads` are those of the tree at the start, as far as the kernel's ids are known.
    pub(crate) fn new(fields: Fields, threads: impl IntoIterator<Item = i32>) -> Tally {
        Tally {
            fields,
            calls: HashMap::new(),
            threads: threads.into_iter().collect(),
            wakes: HashMap::new(),
            calls_seen: 0,
            wakes_seen: 0,
        }
    }

    /// Takes the fields of a system call of the tree.
    pub(crate) fn take_call(&mut self, raw: &[u8]) {
        // A field outside a record would be the kernel's mistake. The record then counts as lost.
        if let Some(caller) = thread(raw, self.fields.caller)
            && let Some(number) = integer(raw, self.fields.number)
        {
            *self.calls.entry(number).or_default() += 1;
            self.threads.insert(caller);
            self.calls_seen += 1;
        }
    }

    /// Takes the fields of a wake-up of any thread of the machine.
    pub(crate) fn take_wake(&mut self, raw: &[u8]) {
        if let Some(woken) = thread(raw, self.fields.woken) {
            *self.wakes.entry(woken).or_default() += 1;
            self.wakes_seen += 1;
        }
    }

    /// System calls by name.
    pub(crate) fn calls(&self) -> BTreeMap<String, u64> {
        let named = self.calls.iter();
        named
            .map(|(&number, &count)| (name_of(number), count))
            .collect()
    }

    /// How often a thread of the tree was woken.
    pub(crate) fn wake_ups(&self) -> u64 {
        let wakes = self.wakes.iter();
        let of_tree = wakes.filter(|(woken, _)| self.threads.contains(woken));
        of_tree.map(|(_, count)| count).sum()
    }
}

fn thread(raw: &[u8], field: Field) -> Option<i32> {
    i32::try_from(integer(raw, field)?).ok()
}

/// A signed number in the raw data of a tracepoint.
fn integer(raw: &[u8], field: Field) -> Option<i64> {
    let bytes = raw.get(field.offset..)?.get(..field.size)?;
    match field.size {
        4 => Some(i32::from_ne_bytes(bytes.try_into().ok()?).into()),
        8 => Some(i64::from_ne_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: Fields = Fields {
        number: Field { offset: 4, size: 8 },
        caller: Field { offset: 0, size: 4 },
        woken: Field { offset: 0, size: 4 },
    };

    fn call(tally: &mut Tally, thread: i32, number: i64) {
        let raw = [&thread.to_ne_bytes()[..], &number.to_ne_bytes()].concat();
        tally.take_call(&raw);
    }

    fn wake(tally: &mut Tally, woken: i32) {
        tally.take_wake(&woken.to_ne_bytes());
    }

    #[test]
    fn calls_are_counted_by_name() {
        let mut tally = Tally::new(FIELDS, []);
        for number in [100_000, 100_001, 100_000] {
            call(&mut tally, 7, number);
        }
        let expected = [("syscall_100000", 2), ("syscall_100001", 1)];
        let expected = expected.map(|(name, count)| (name.to_owned(), count));
        assert_eq!(tally.calls(), BTreeMap::from(expected));
        assert_eq!(tally.calls_seen, 3);
    }

    #[test]
    fn a_record_without_its_field_is_not_counted() {
        let mut tally = Tally::new(FIELDS, [1]);
        tally.take_call(&[0; 11]);
        tally.take_wake(&[0; 3]);
        assert_eq!((tally.calls_seen, tally.wakes_seen), (0, 0));
        assert!(tally.calls().is_empty());
    }

    #[test]
    fn only_threads_of_the_tree_count_as_woken() {
        let mut tally = Tally::new(FIELDS, [1, 2]);
        for woken in [1, 90, 2, 1, 91] {
            wake(&mut tally, woken);
        }
        assert_eq!((tally.wake_ups(), tally.wakes_seen), (3, 5));
        // The tally learns only later that 90 belongs to the tree.
        call(&mut tally, 90, 0);
        assert_eq!(tally.wake_ups(), 4);
    }
}
