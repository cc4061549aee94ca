//! A record of perf events is read or refused, whatever its lengths claim; what is read comes from inside it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_kernel::perf::{Layout, Record, SampleContent};

/// The identifiers are small numbers: event 0 has nothing, event 7 everything.
const EVENTS: usize = 8;

fuzz_target!(|input: (u8, u16, &[u8])| {
    let (kind, misc, body) = input;
    let contents = (0..EVENTS).map(|bits| SampleContent {
        call_chain: bits & 1 != 0,
        user_registers: bits & 2 != 0,
        user_stack_bytes: if bits & 4 != 0 { 512 } else { 0 },
    });
    let identifiers = (0..EVENTS).map(|event| (event as u64, event));
    let layout = Layout::new(contents.collect(), identifiers);
    let Ok(length) = u16::try_from(body.len() + 8) else {
        return;
    };
    let mut record = u32::from(kind).to_ne_bytes().to_vec();
    record.extend(misc.to_ne_bytes());
    record.extend(length.to_ne_bytes());
    record.extend(body);
    if let Ok(Some(Record::Sample(sample))) = layout.read(&record) {
        let chains = 8 * (sample.kernel_chain.len() + sample.user_chain.len());
        assert!(chains + sample.stack.len() <= body.len());
    }
    // With the length that the bytes themselves claim.
    let _ = layout.read(body);
});
