//! Reads the bytes of a record. Nothing here trusts them: a length that does not fit makes the record malformed.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::event::SampleContent;
use super::record::{Record, Sample, UserRegisters};
use super::registers::REGISTERS;

const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const MAPPING: u32 = 10;
const LOST_SAMPLES: u32 = 13;
const SWITCH: u32 = 14;

const MISC_EXEC: u16 = 1 << 13;
const MISC_SWITCH_OUT: u16 = 1 << 13;

/// Addresses from here on are no addresses: each says to which mode the following ones belong.
const FIRST_CONTEXT: u64 = -4095_i64 as u64;
const CONTEXT_KERNEL: u64 = -128_i64 as u64;
const CONTEXT_USER: u64 = -512_i64 as u64;

/// The kernel writes the registers in the order of their numbers.
fn registers(reader: &mut Reader<'_>) -> Result<UserRegisters, Malformed> {
    let mut registers = UserRegisters::default();
    for number in (0..u64::BITS).filter(|number| REGISTERS.mask() & 1 << number != 0) {
        let value = reader.u64()?;
        if number == REGISTERS.ip {
            registers.ip = value;
        } else if number == REGISTERS.sp {
            registers.sp = value;
        } else if number == REGISTERS.bp {
            registers.bp = value;
        } else {
            registers.lr = Some(value);
        }
    }
    Ok(registers)
}

/// A record whose bytes contradict each other, or that belongs to no known event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the kernel wrote a record that Prony cannot read")]
pub struct Malformed;

/// How to read the records of some events.
#[derive(Clone, Debug)]
pub struct Layout {
    contents: Vec<SampleContent>,
    /// Which event has which identifier. An event has one for each thread and CPU for which it is open.
    events: HashMap<u64, usize>,
}

impl Layout {
    /// The layout of events with these contents. `identifiers` has pairs of the kernel's identifier and an index into
    /// `contents`.
    pub fn new(
        contents: Vec<SampleContent>,
        identifiers: impl IntoIterator<Item = (u64, usize)>,
    ) -> Layout {
        let known = identifiers
            .into_iter()
            .filter(|(_, event)| *event < contents.len());
        Layout {
            events: known.collect(),
            contents,
        }
    }

    /// Reads a record, header included; `None` for kinds of records that nobody needs.
    ///
    /// # Errors
    /// If its lengths do not fit into it, or it belongs to no event of this layout.
    pub fn read(&self, bytes: &[u8]) -> Result<Option<Record>, Malformed> {
        let (kind, misc, body) = header(bytes)?;
        if kind == SAMPLE {
            return self.sample(body).map(Some);
        }
        let start = body.0.len().checked_sub(TRAILER_BYTES).ok_or(Malformed)?;
        let (body, trailer) = body.0.split_at(start);
        let origin = Origin::read(&mut Reader(trailer))?;
        let mut body = Reader(body);
        match kind {
            LOST => {
                body.u64()?;
                Ok(Some(Record::Lost(body.u64()?)))
            }
            LOST_SAMPLES => Ok(Some(Record::Lost(body.u64()?))),
            COMM => comm(body, misc, origin),
            FORK | EXIT => thread(body, kind).map(Some),
            MAPPING => mapping(body, origin),
            SWITCH => Ok((misc & MISC_SWITCH_OUT == 0).then_some(Record::CameBack {
                tid: origin.tid,
                time_ns: origin.time_ns,
            })),
            _ => Ok(None),
        }
    }

    fn sample(&self, mut body: Reader<'_>) -> Result<Record, Malformed> {
        let event = *self.events.get(&body.u64()?).ok_or(Malformed)?;
        let content = *self.contents.get(event).ok_or(Malformed)?;
        let Origin { pid, tid, time_ns } = Origin::read(&mut body)?;
        let mut sample = Sample {
            event,
            pid,
            tid,
            time_ns,
            ..Sample::default()
        };
        if content.call_chain {
            body.call_chain(&mut sample)?;
        }
        if content.user_registers {
            let has_registers = body.u64()? != 0;
            if has_registers {
                sample.registers = Some(registers(&mut body)?);
            }
        }
        if content.user_stack_bytes > 0 {
            sample.stack = body.stack()?.to_vec();
        }
        Ok(Record::Sample(sample))
    }
}

/// The fields of a tracepoint, from a sample that has nothing else; `None` for other kinds of records.
pub(super) fn fields(bytes: &[u8]) -> Result<Option<&[u8]>, Malformed> {
    let (kind, _, mut body) = header(bytes)?;
    if kind != SAMPLE {
        return Ok(None);
    }
    // The identifier: there is one event only.
    body.u64()?;
    let length = body.u32()?;
    body.take(length as usize).map(Some)
}

/// The kind of a record, what it says besides, and its body.
fn header(bytes: &[u8]) -> Result<(u32, u16, Reader<'_>), Malformed> {
    let mut header = Reader(bytes);
    let (kind, misc) = (header.u32()?, header.u16()?);
    if usize::from(header.u16()?) != bytes.len() {
        return Err(Malformed);
    }
    Ok((kind, misc, header))
}

/// What every record but samples ends with, before the identifier, and what samples begin with, after it.
struct Origin {
    pid: i32,
    tid: i32,
    time_ns: u64,
}

/// An origin and an identifier.
const TRAILER_BYTES: usize = 24;

impl Origin {
    fn read(bytes: &mut Reader<'_>) -> Result<Origin, Malformed> {
        Ok(Origin {
            pid: bytes.id()?,
            tid: bytes.id()?,
            time_ns: bytes.u64()?,
        })
    }
}

/// A thread has a new name; `None` unless that is because its process executes another program.
fn comm(mut body: Reader<'_>, misc: u16, origin: Origin) -> Result<Option<Record>, Malformed> {
    let pid = body.id()?;
    Ok((misc & MISC_EXEC != 0).then_some(Record::Executed {
        pid,
        time_ns: origin.time_ns,
    }))
}

fn thread(mut body: Reader<'_>, kind: u32) -> Result<Record, Malformed> {
    let (pid, parent) = (body.id()?, body.id()?);
    let (tid, _parent_tid) = (body.id()?, body.id()?);
    let time_ns = body.u64()?;
    Ok(match kind {
        EXIT => Record::Ended { pid, tid, time_ns },
        _ => Record::Forked {
            pid,
            parent,
            time_ns,
        },
    })
}

fn mapping(mut body: Reader<'_>, origin: Origin) -> Result<Option<Record>, Malformed> {
    let (pid, _tid) = (body.id()?, body.id()?);
    let (address, length, offset) = (body.u64()?, body.u64()?, body.u64()?);
    // The device and the inode, or a build id.
    body.take(24)?;
    let protection = body.u32()?;
    body.u32()?;
    let executable = protection & libc::PROT_EXEC as u32 != 0;
    Ok(executable.then(|| Record::Mapped {
        pid,
        time_ns: origin.time_ns,
        address,
        length,
        offset,
        path: PathBuf::from(OsStr::from_bytes(body.text())),
    }))
}

/// What has not been read yet.
#[derive(Clone, Copy, Debug)]
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (array, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*array)
    }

    fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_ne_bytes)
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_ne_bytes)
    }

    /// The id of a process or thread.
    fn id(&mut self) -> Result<i32, Malformed> {
        self.array().map(i32::from_ne_bytes)
    }

    /// Reads a call chain into the sample: its addresses in the kernel and in user mode.
    fn call_chain(&mut self, sample: &mut Sample) -> Result<(), Malformed> {
        let length = usize::try_from(self.u64()?).map_err(|_| Malformed)?;
        let bytes = self.take(length.checked_mul(8).ok_or(Malformed)?)?;
        let mut context = CONTEXT_USER;
        for address in bytes.chunks_exact(8) {
            let address = u64::from_ne_bytes(address.try_into().map_err(|_| Malformed)?);
            match context {
                _ if address >= FIRST_CONTEXT => context = address,
                CONTEXT_KERNEL => sample.kernel_chain.push(address),
                CONTEXT_USER => sample.user_chain.push(address),
                // A hypervisor or its guests.
                _ => (),
            }
        }
        Ok(())
    }

    /// The part of a copied stack that the kernel could read.
    fn stack(&mut self) -> Result<&'a [u8], Malformed> {
        let room = usize::try_from(self.u64()?).map_err(|_| Malformed)?;
        if room == 0 {
            return Ok(&[]);
        }
        let bytes = self.take(room)?;
        let filled = usize::try_from(self.u64()?).map_err(|_| Malformed)?;
        bytes.get(..filled).ok_or(Malformed)
    }

    /// A text, up to the zero that ends it.
    fn text(self) -> &'a [u8] {
        let end = self.0.iter().position(|&byte| byte == 0);
        &self.0[..end.unwrap_or(self.0.len())]
    }
}

#[cfg(test)]
mod tests;
