//! What is sampled, and what a sample contains.

use super::attributes::{
    Attributes, COMM, COMM_EXEC, CONTEXT_SWITCH, DISABLED, EVERY_THREAD, EXCLUDE_CALL_CHAIN_KERNEL,
    EXCLUDE_KERNEL, FORMAT_ID, FORMAT_LOST, FREQUENCY, INHERIT, MMAP, MMAP2, SAMPLE_CALL_CHAIN,
    SAMPLE_ID_ALL, SAMPLE_IDENTIFIER, SAMPLE_RAW, SAMPLE_REGISTERS, SAMPLE_STACK,
    SAMPLE_THREAD_AND_TIME, SOFTWARE, TASK, TRACEPOINT, Target, USE_CLOCK,
};
use super::registers::REGISTERS;

/// Something that happens to threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Time on a CPU, by the kernel's own clock (`PERF_COUNT_SW_CPU_CLOCK`), which every machine has.
    CpuClock {
        /// Samples for each second that a thread runs.
        frequency_hz: u64,
    },
    /// A thread leaves the CPU (`PERF_COUNT_SW_CONTEXT_SWITCHES`).
    ContextSwitches {
        /// A sample for every `period` of them.
        period: u64,
    },
    /// A tracepoint of the kernel, each time that it is reached. Its samples have nothing except its fields.
    Tracepoint {
        /// From [`Tracefs::event_id`](crate::tracefs::Tracefs::event_id).
        id: u64,
    },
}

/// What a sample contains, beside its thread and its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleContent {
    /// The addresses of the functions that were being executed, by frame pointers.
    pub call_chain: bool,
    pub user_registers: bool,
    /// As much of the stack in user mode, from the stack pointer on. Rounded up to 8, at most 65,528.
    pub user_stack_bytes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledEvent {
    pub event: Event,
    pub content: SampleContent,
    /// Also a record whenever a thread comes to a CPU or leaves it. Set it for one event at most: each event that has it
    /// writes a record of its own.
    pub switches: bool,
    /// Also records of new executable mappings, names, threads and their ends. For one event at most, likewise.
    pub mappings: bool,
}

const CPU_CLOCK: u64 = 0;
const CONTEXT_SWITCHES: u64 = 3;
const MOST_STACK_BYTES: u32 = 65_528;

/// How events are opened, depending on what the kernel has and permits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Means {
    /// The kernel counts the records that an event has lost.
    pub(super) counts_lost: bool,
    /// Samples of the CPU clock may be taken in the kernel, and show its functions.
    pub(super) sees_kernel: bool,
}

impl SampledEvent {
    pub(super) fn attributes(&self, target: Target, means: Means) -> Attributes {
        let (kind, config, sample_period, mut flags) = match self.event {
            Event::CpuClock { frequency_hz } => (SOFTWARE, CPU_CLOCK, frequency_hz, FREQUENCY),
            Event::ContextSwitches { period } => (SOFTWARE, CONTEXT_SWITCHES, period, 0),
            Event::Tracepoint { id } => (TRACEPOINT, id, 1, 0),
        };
        flags |= DISABLED | SAMPLE_ID_ALL | USE_CLOCK;
        flags |= chosen(target.thread != EVERY_THREAD, INHERIT);
        flags |= chosen(self.switches, CONTEXT_SWITCH);
        flags |= chosen(self.mappings, MMAP | MMAP2 | COMM | COMM_EXEC | TASK);
        let excludes_kernel = self.works_without_kernel() && !means.sees_kernel;
        flags |= chosen(excludes_kernel, EXCLUDE_KERNEL | EXCLUDE_CALL_CHAIN_KERNEL);
        let content = self.content;
        let stack = content.user_stack_bytes.min(MOST_STACK_BYTES);
        Attributes {
            kind,
            config,
            sample_period,
            sample_type: self.sample_type(),
            read_format: FORMAT_ID | chosen(means.counts_lost, FORMAT_LOST),
            flags,
            user_registers: chosen(content.user_registers, REGISTERS.mask()),
            user_stack_bytes: stack.next_multiple_of(8),
            clock: libc::CLOCK_MONOTONIC,
            ..Attributes::default()
        }
    }

    pub(super) fn fields_of(tracepoint: u64) -> SampledEvent {
        SampledEvent {
            event: Event::Tracepoint { id: tracepoint },
            content: SampleContent::default(),
            switches: false,
            mappings: false,
        }
    }

    fn sample_type(&self) -> u64 {
        if let Event::Tracepoint { .. } = self.event {
            return SAMPLE_IDENTIFIER | SAMPLE_RAW;
        }
        SAMPLE_IDENTIFIER
            | SAMPLE_THREAD_AND_TIME
            | chosen(self.content.call_chain, SAMPLE_CALL_CHAIN)
            | chosen(self.content.user_registers, SAMPLE_REGISTERS)
            | chosen(self.content.user_stack_bytes > 0, SAMPLE_STACK)
    }

    /// It still means something if nothing in the kernel is sampled. The others happen in the kernel.
    pub(super) fn works_without_kernel(&self) -> bool {
        matches!(self.event, Event::CpuClock { .. })
    }
}

fn chosen(is_chosen: bool, bits: u64) -> u64 {
    if is_chosen { bits } else { 0 }
}
