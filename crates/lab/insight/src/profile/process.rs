//! What processes have mapped, and how their stacks are unwound.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use framehop::{MayAllocateDuringUnwind, Module as UnwoundModule, Unwinder, UnwinderNative};
use procfs_core::FromRead;
use procfs_core::process::{MMPermissions, MMapPath, MemoryMaps, Status};

use crate::profile::module::{Bytes, Modules};
use crate::profile::place::Place;
use crate::profile::trampoline;

/// The processes that were seen.
#[derive(Default)]
pub(crate) struct Processes {
    known: HashMap<i32, Process>,
    parents: HashMap<i32, i32>,
    /// All that were seen, also those that have ended.
    seen: BTreeSet<i32>,
}

/// What a process has mapped that may be executed.
#[derive(Clone, Default)]
pub(crate) struct Process {
    /// By start.
    mappings: BTreeMap<u64, Mapping>,
    /// `None` until a stack has to be unwound after the mappings changed.
    unwinder: Option<ProcessUnwinder>,
}

/// Unwinds the stacks of a process.
pub(crate) type ProcessUnwinder = UnwinderNative<Bytes, MayAllocateDuringUnwind>;

/// Memory that may be executed.
#[derive(Clone, Debug)]
struct Mapping {
    end: u64,
    /// In bytes, into the file.
    offset: u64,
    /// `None` for memory without a file.
    module: Option<u32>,
}

/// With more processes at a time, those that ended are forgotten.
const MOST_PROCESSES: usize = 4096;
/// With more processes, further ones are not remembered once they have ended.
const MOST_SEEN: usize = 100_000;
/// With more mappings of a process, further ones have no names.
const MOST_MAPPINGS: usize = 16_384;

impl Processes {
    /// A process; what it has mapped is read if nothing is known of it yet.
    pub(crate) fn get(&mut self, pid: i32, modules: &mut Modules) -> &mut Process {
        if self.known.len() >= MOST_PROCESSES && !self.known.contains_key(&pid) {
            // The ones that ended go first.
            self.known
                .retain(|pid, _| Path::new(&format!("/proc/{pid}")).exists());
        }
        if !self.known.contains_key(&pid) {
            self.see(pid, parent_of(pid));
        }
        self.known
            .entry(pid)
            .or_insert_with(|| Process::read(pid, modules))
    }

    fn see(&mut self, pid: i32, parent: Option<i32>) {
        if self.seen.len() < MOST_SEEN {
            self.seen.insert(pid);
            self.parents.extend(parent.map(|parent| (pid, parent)));
        }
    }

    /// The processes that a process descends from, the nearest first.
    pub(crate) fn ancestors(&self, pid: i32) -> impl Iterator<Item = i32> {
        const MOST: usize = 16;
        let parent = move |pid: &i32| {
            let known = self.parents.get(pid).copied();
            known.or_else(|| parent_of(*pid))
        };
        std::iter::successors(parent(&pid), parent).take(MOST)
    }

    /// A process has mapped memory that may be executed.
    pub(crate) fn mapped(
        &mut self,
        pid: i32,
        range: Range<u64>,
        offset: u64,
        path: &Path,
        modules: &mut Modules,
    ) {
        // If nothing is known of it yet, this look may find the mapping too; the process may have ended by then.
        let process = self.get(pid, modules);
        process.map(pid, range, offset, path, modules);
    }

    /// A process executes another program, whose mappings follow.
    pub(crate) fn executed(&mut self, pid: i32) {
        self.known.insert(pid, Process::default());
    }

    /// A process has a child, which has mapped the same.
    pub(crate) fn forked(&mut self, pid: i32, parent: i32, modules: &mut Modules) {
        if pid != parent {
            let process = self.get(parent, modules).clone();
            self.see(pid, Some(parent));
            self.known.insert(pid, process);
        }
    }

    /// A process has ended. Its samples came before.
    pub(crate) fn ended(&mut self, pid: i32) {
        self.known.remove(&pid);
    }

    pub(crate) fn pids(&self) -> impl Iterator<Item = i32> {
        self.seen.iter().copied()
    }
}

impl Process {
    fn read(pid: i32, modules: &mut Modules) -> Process {
        let mut process = Process::default();
        let Ok(maps) = MemoryMaps::from_file(format!("/proc/{pid}/maps")) else {
            return process;
        };
        let executable = maps
            .into_iter()
            .filter(|map| map.perms.contains(MMPermissions::EXECUTE));
        for map in executable {
            let path = match map.pathname {
                MMapPath::Path(path) => path,
                MMapPath::Vdso => PathBuf::from("[vdso]"),
                MMapPath::Other(name) => PathBuf::from(name),
                _ => PathBuf::new(),
            };
            process.map(
                pid,
                map.address.0..map.address.1,
                map.offset,
                &path,
                modules,
            );
        }
        process
    }

    fn map(
        &mut self,
        pid: i32,
        range: Range<u64>,
        offset: u64,
        path: &Path,
        modules: &mut Modules,
    ) {
        if range.is_empty() || self.mappings.len() >= MOST_MAPPINGS {
            return;
        }
        let module = match Kind::of(path) {
            Kind::File => modules.number(pid, &range, path),
            Kind::Vdso => modules.vdso(),
            Kind::Memory => None,
        };
        self.unmap(&range);
        let mapping = Mapping {
            end: range.end,
            offset,
            module,
        };
        self.mappings.insert(range.start, mapping);
        self.unwinder = None;
    }

    /// Removes what a new mapping replaces, and keeps what is beside it.
    fn unmap(&mut self, range: &Range<u64>) {
        let overlapping: Vec<u64> = self
            .mappings
            .range(..range.end)
            .filter(|(_, mapping)| mapping.end > range.start)
            .map(|(&start, _)| start)
            .collect();
        for start in overlapping {
            let Some(old) = self.mappings.remove(&start) else {
                continue;
            };
            if old.end > range.end {
                let mut after = old.clone();
                after.offset += range.end - start;
                self.mappings.insert(range.end, after);
            }
            if start < range.start {
                let end = range.start;
                self.mappings.insert(start, Mapping { end, ..old });
            }
        }
    }

    /// Where the code at an address is.
    pub(crate) fn place(&self, pid: i32, address: u64) -> Place {
        let memory = Place::Memory { pid, address };
        let Some((&start, mapping)) = self.mappings.range(..=address).next_back() else {
            return memory;
        };
        match mapping.module {
            Some(module) if address < mapping.end => Place::File {
                module,
                offset: mapping.offset + (address - start),
            },
            _ => memory,
        }
    }

    /// Whether an address may be code at all.
    pub(crate) fn is_code(&self, address: u64) -> bool {
        let before = self.mappings.range(..=address).next_back();
        before.is_some_and(|(_, mapping)| address < mapping.end)
    }

    /// Makes [`unwinder`](Self::unwinder) current.
    pub(crate) fn prepare(&mut self, pid: i32, modules: &Modules) {
        let mappings = &self.mappings;
        self.unwinder
            .get_or_insert_with(|| unwinder_of(pid, mappings, modules));
    }

    /// `None` before it was prepared.
    pub(crate) fn unwinder(&self) -> Option<&ProcessUnwinder> {
        self.unwinder.as_ref()
    }
}

fn unwinder_of(pid: i32, mappings: &BTreeMap<u64, Mapping>, modules: &Modules) -> ProcessUnwinder {
    let mut unwinder = UnwinderNative::new();
    for (&start, mapping) in mappings {
        let range = start..mapping.end;
        let module = match mapping.module.and_then(|module| modules.get(module)) {
            Some(module) => module.elf.as_ref().and_then(|elf| {
                let part = mapping.offset..mapping.offset.checked_add(mapping.end - start)?;
                let base = start.checked_sub(elf.stated_address(part)?)?;
                Some(UnwoundModule::new(
                    module.name(),
                    range,
                    base,
                    elf.sections(),
                ))
            }),
            None => trampoline::in_memory_of(pid, &range),
        };
        if let Some(module) = module {
            unwinder.add_module(module);
        }
    }
    unwinder
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    /// The kernel's library, which every process has.
    Vdso,
    Memory,
}

impl Kind {
    fn of(path: &Path) -> Kind {
        const MEMORY: [&str; 6] = ["//", "[", "/memfd:", "/dev/", "/SYSV", "anon_inode:"];
        let text = path.as_os_str().to_string_lossy();
        match text.as_ref() {
            "[vdso]" => Kind::Vdso,
            "" => Kind::Memory,
            name if MEMORY.iter().any(|memory| name.starts_with(memory)) => Kind::Memory,
            _ => Kind::File,
        }
    }
}

fn parent_of(pid: i32) -> Option<i32> {
    let status = Status::from_file(format!("/proc/{pid}/status")).ok()?;
    Some(status.ppid)
}

/// The program that a process executes, by name.
pub(crate) fn program_of(pid: i32) -> Option<String> {
    let path = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    Some(path.file_name()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(process: &Process) -> impl Iterator<Item = (u64, u64, u64)> {
        let mappings = process.mappings.iter();
        mappings.map(|(&start, mapping)| (start, mapping.end, mapping.offset))
    }

    #[test]
    fn a_new_mapping_replaces_what_it_covers() {
        let mut modules = Modules::default();
        let mut process = Process::default();
        let mut map = |range, offset| process.map(1, range, offset, Path::new(""), &mut modules);
        map(0x1000..0x9000, 0);
        map(0x3000..0x4000, 0x70);
        map(0x8000..0xa000, 0x80);
        let expected = [
            (0x1000, 0x3000, 0),
            (0x3000, 0x4000, 0x70),
            (0x4000, 0x8000, 0x3000),
            (0x8000, 0xa000, 0x80),
        ];
        assert_eq!(ranges(&process).collect::<Vec<_>>(), expected);
        let is_code = [0xfff, 0x9fff, 0xa000].map(|at| process.is_code(at));
        assert_eq!(is_code, [false, true, false]);
    }

    #[test]
    fn this_process_has_its_own_program() {
        let mut modules = Modules::default();
        let mut processes = Processes::default();
        let pid = std::process::id() as i32;
        let process = processes.get(pid, &mut modules);
        let here = this_process_has_its_own_program as *const () as u64;
        let Place::File { module, .. } = process.place(pid, here) else {
            panic!("{:?}", process.mappings);
        };
        let module = modules.get(module).unwrap();
        assert_eq!(module.path, std::env::current_exe().unwrap());
        assert!(module.elf.is_some());
    }
}
