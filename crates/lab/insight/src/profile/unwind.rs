//! From a sample to a stack of places.

use framehop::{CacheNative, FrameAddress, MayAllocateDuringUnwind, UnwindRegsNative, Unwinder};
use prony_kernel::perf::{Sample, UserRegisters};

use crate::profile::module::Modules;
use crate::profile::place::Place;
use crate::profile::process::Processes;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Unwound {
    /// The innermost first.
    pub(crate) places: Vec<Place>,
    /// It reaches the first function of its thread.
    pub(crate) whole: bool,
}

#[derive(Default)]
pub(crate) struct Unwinding {
    cache: CacheNative<MayAllocateDuringUnwind>,
}

/// Deeper stacks lose their outermost frames.
const MOST_FRAMES: usize = 512;

impl Unwinding {
    pub(crate) fn unwind(
        &mut self,
        sample: &Sample,
        processes: &mut Processes,
        modules: &mut Modules,
    ) -> Unwound {
        let kernel = sample.kernel_chain.iter().enumerate();
        let mut places: Vec<Place> = kernel
            .map(|(depth, &address)| Place::Kernel(looked_up(depth, address)))
            .collect();
        let (addresses, whole) = self.user_frames(sample, processes, modules);
        let process = processes.get(sample.pid, modules);
        let user = addresses
            .into_iter()
            .map(|address| process.place(sample.pid, address));
        places.extend(user.take(MOST_FRAMES));
        Unwound { places, whole }
    }

    /// The addresses to look up for the frames in user mode, the innermost first, and whether they are all.
    fn user_frames(
        &mut self,
        sample: &Sample,
        processes: &mut Processes,
        modules: &mut Modules,
    ) -> (Vec<u64>, bool) {
        let by_frame_pointers = || {
            let chain = sample.user_chain.iter().enumerate();
            let chain = chain.map(|(depth, &address)| looked_up(depth, address));
            // Nothing tells whether it is whole.
            (chain.collect::<Vec<_>>(), false)
        };
        let Some(registers) = sample.registers else {
            // A thread of the kernel has no frames in user mode.
            let (chain, _) = by_frame_pointers();
            let whole = chain.is_empty();
            return (chain, whole);
        };
        let (frames, whole) = self.by_stack(sample, registers, processes, modules);
        match by_frame_pointers() {
            // The copy of the stack was too short for unwinding to get as far.
            (chain, _) if !whole && chain.len() > frames.len() => (chain, false),
            _ => (frames, whole),
        }
    }

    fn by_stack(
        &mut self,
        sample: &Sample,
        registers: UserRegisters,
        processes: &mut Processes,
        modules: &mut Modules,
    ) -> (Vec<u64>, bool) {
        let sp = registers.sp;
        let mut read = |address: u64| {
            let start = usize::try_from(address.checked_sub(sp).ok_or(())?).map_err(|_| ())?;
            let word = sample.stack.get(start..).and_then(<[u8]>::first_chunk);
            word.map(|word| u64::from_ne_bytes(*word)).ok_or(())
        };
        let process = processes.get(sample.pid, modules);
        process.prepare(sample.pid, modules);
        let Some(unwinder) = process.unwinder() else {
            return (Vec::new(), false);
        };
        let mut addresses = Vec::new();
        let mut registers = registers;
        let innermost = process.place(sample.pid, registers.ip);
        if let Some(caller) = caller_of_frameless(registers, innermost, modules, &mut read) {
            addresses.push(registers.ip);
            registers = caller;
        }
        let mut frames =
            unwinder.iter_frames(registers.ip, native(registers), &mut self.cache, &mut read);
        while addresses.len() < MOST_FRAMES {
            match frames.next() {
                Ok(Some(frame)) => {
                    let address = frame.address_for_lookup();
                    let returned = matches!(frame, FrameAddress::ReturnAddress(_));
                    // A caller that is no code means that unwinding went astray one frame before.
                    if returned && !process.is_code(address) {
                        return (addresses, false);
                    }
                    addresses.push(address);
                }
                Ok(None) => return (addresses, true),
                Err(_) => break,
            }
        }
        (addresses, false)
    }
}

/// The registers in the caller, if the code is a function of Go that has no frame. Go has no tables for unwinders, and by
/// frame pointers alone such a function's caller would be missing.
fn caller_of_frameless(
    registers: UserRegisters,
    innermost: Place,
    modules: &Modules,
    read: &mut impl FnMut(u64) -> Result<u64, ()>,
) -> Option<UserRegisters> {
    let Place::File { module, offset } = innermost else {
        return None;
    };
    let elf = modules.get(module)?.elf.as_ref()?;
    let table = elf.go_functions()?;
    let frameless = table.stack_bytes(elf.address_of(offset)?)? == 0;
    // On other processors the return address is in a register.
    (frameless && cfg!(target_arch = "x86_64")).then_some(())?;
    let return_address = read(registers.sp).ok()?;
    Some(UserRegisters {
        ip: return_address.checked_sub(1)?,
        sp: registers.sp.checked_add(8)?,
        ..registers
    })
}

#[cfg(target_arch = "x86_64")]
fn native(registers: UserRegisters) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.ip, registers.sp, registers.bp)
}

#[cfg(target_arch = "aarch64")]
fn native(registers: UserRegisters) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.lr.unwrap_or(0), registers.sp, registers.bp)
}

/// A return address is after the call, which may be the end of the function; so callers are looked up one byte before it.
fn looked_up(depth: usize, address: u64) -> u64 {
    match depth {
        0 => address,
        _ => address.saturating_sub(1),
    }
}
