//! The parser of callgrind's files: any bytes are counts that add up, or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_insight::instructions::InstructionCount;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(count) = InstructionCount::read(bytes) {
        let sum: u64 = count.functions.iter().map(|one| one.instructions).sum();
        assert_eq!(sum, count.total);
    }
});
