//! Python's trampolines: one for each Python function, compiled while it runs, without a frame pointer.
//!
//! With `PYTHONPERFSUPPORT=1` Python calls each of its functions through a copy of a few instructions, so that a profiler
//! finds an address of its own for each (`Python/asm_trampoline.S`). Nothing says how to unwind through them; this does.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use framehop::{ExplicitModuleSectionInfo, Module};

use crate::profile::module::Bytes;

/// `sub $8, %rsp; call *%rcx; add $8, %rsp; ret`
const CODE: [u8; 11] = [
    0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3,
];
/// `endbr64`, which comes before it in some builds.
const BRANCH_TARGET: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

/// How to unwind the code in memory that belongs to no file; `None` if that code is not known.
pub(crate) fn in_memory_of(pid: i32, range: &Range<u64>) -> Option<Module<Bytes>> {
    let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
    let mut start = [0; BRANCH_TARGET.len() + CODE.len()];
    memory.read_exact_at(&mut start, range.start).ok()?;
    let code = start.strip_prefix(&BRANCH_TARGET).unwrap_or(&start);
    let known = cfg!(target_arch = "x86_64") && code.starts_with(&CODE);
    known.then(|| module(range))
}

fn module(range: &Range<u64>) -> Module<Bytes> {
    let table: Bytes = frame_table(range.end - range.start).into();
    let sections = ExplicitModuleSectionInfo {
        eh_frame_svma: Some(0..table.len() as u64),
        eh_frame: Some(table),
        ..ExplicitModuleSectionInfo::default()
    };
    Module::new("trampolines".into(), range.clone(), range.start, sections)
}

/// An `.eh_frame` that says, for addresses from 0 on: the caller's stack pointer is 16 above the stack pointer, and the
/// return address is just below it.
fn frame_table(code_bytes: u64) -> Vec<u8> {
    const VERSION: u8 = 1;
    const NO_AUGMENTATION: u8 = 0;
    const CODE_ALIGNMENT: u8 = 1;
    /// -8 as a signed LEB128 number.
    const DATA_ALIGNMENT: u8 = 0x78;
    const RETURN_ADDRESS: u8 = 16;
    const STACK_POINTER: u8 = 7;
    const DEFINE_CFA: u8 = 0x0c;
    const OFFSET: u8 = 0x80;
    let common = [
        VERSION,
        NO_AUGMENTATION,
        CODE_ALIGNMENT,
        DATA_ALIGNMENT,
        RETURN_ADDRESS,
        DEFINE_CFA,
        STACK_POINTER,
        16,
        OFFSET | RETURN_ADDRESS,
        1,
        0,
        0,
    ];
    let mut table = Vec::new();
    table.extend(entry(0, &common));
    let range = [0_u64.to_le_bytes(), code_bytes.to_le_bytes()].concat();
    // The distance back to the common part, from here.
    let distance = table.len() as u32 + 4;
    table.extend(entry(distance, &range));
    table.extend([0; 4]);
    table
}

fn entry(id: u32, content: &[u8]) -> Vec<u8> {
    let length = content.len() as u32 + 4;
    [&length.to_le_bytes(), &id.to_le_bytes(), content].concat()
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
    use framehop::{MayAllocateDuringUnwind, Unwinder};

    use super::*;

    #[test]
    fn a_trampoline_keeps_the_frame_pointer_of_its_caller() {
        let mut unwinder: UnwinderX86_64<Bytes, MayAllocateDuringUnwind> = UnwinderX86_64::new();
        unwinder.add_module(module(&(0x7000..0x8000)));
        let mut cache = CacheX86_64::<_>::new();
        // The return address is above the 8 bytes that the trampoline reserves; then follows a frame with a frame pointer.
        let stack = [0, 0x9000, 0, 0, 0, 0xa000];
        let mut read = |address: u64| stack.get(address as usize / 8).copied().ok_or(());
        let registers = UnwindRegsX86_64::new(0x7006, 0, 0x20);
        let mut frames = unwinder.iter_frames(0x7006, registers, &mut cache, &mut read);
        let mut addresses = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            addresses.push(frame.address());
        }
        assert_eq!(addresses, [0x7006, 0x9000, 0xa000]);
    }
}
