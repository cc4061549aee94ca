//! Records as the kernel writes them, and records that contradict themselves.

use proptest::prelude::*;

use super::*;

const EVERYTHING: SampleContent = SampleContent {
    call_chain: true,
    user_registers: true,
    user_stack_bytes: 16,
};

fn layout() -> Layout {
    let nothing = SampleContent::default();
    Layout::new(vec![nothing, EVERYTHING], [(70, 0), (71, 1), (72, 9)])
}

/// The bytes of a record.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn u32s<const N: usize>(mut self, values: [u32; N]) -> Bytes {
        self.0.extend(values.map(u32::to_ne_bytes).as_flattened());
        self
    }

    fn u64s<const N: usize>(mut self, values: [u64; N]) -> Bytes {
        self.0.extend(values.map(u64::to_ne_bytes).as_flattened());
        self
    }

    /// Filled with zeros to a multiple of 8, as the kernel does.
    fn text(mut self, text: &str) -> Bytes {
        self.0.extend(text.bytes());
        self.0.push(0);
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        self
    }

    fn thread(self) -> Bytes {
        self.u32s([1000, 1001]).u64s([5_000_000_000])
    }

    fn trailer(self) -> Bytes {
        self.thread().u64s([70])
    }

    /// The beginning of a sample of this event.
    fn sample(event: u64) -> Bytes {
        Bytes::default().u64s([event]).thread()
    }

    fn record(self, kind: u32, misc: u16) -> Vec<u8> {
        let length = u16::try_from(self.0.len() + 8).unwrap();
        let mut record = kind.to_ne_bytes().to_vec();
        record.extend(misc.to_ne_bytes());
        record.extend(length.to_ne_bytes());
        record.extend(self.0);
        record
    }
}

/// A sample with everything; the addresses of its chain are between the markers of the kernel and of user mode.
fn full_sample() -> Vec<u8> {
    let kernel = [5, CONTEXT_KERNEL, 0xffff_0001];
    let chain = Bytes::sample(71)
        .u64s(kernel)
        .u64s([CONTEXT_USER, 0x1001, 0x1002]);
    let chain = chain.u64s([2]);
    let registers = 0..u64::from(REGISTERS.mask().count_ones());
    let registers = registers.fold(chain, |bytes, number| bytes.u64s([0x2000 + number]));
    registers.u64s([16, 0xabc, 0, 8]).record(SAMPLE, 2)
}

fn records() -> Vec<Vec<u8>> {
    let new = Bytes::default;
    let fork = || new().u32s([8, 7, 81, 71]).u64s([99]).trailer();
    let mapping = new()
        .u32s([1000, 1001])
        .u64s([0x4000, 0x1000, 0x200, 0, 0, 0]);
    let mapping = mapping.u32s([5, 2]).text("/usr/lib/libc.so.6");
    vec![
        full_sample(),
        Bytes::sample(70).record(SAMPLE, 1),
        new().trailer().record(SWITCH, 0),
        new().u64s([70, 12]).trailer().record(LOST, 0),
        new().u64s([13]).trailer().record(LOST_SAMPLES, 0),
        new()
            .u32s([8, 81])
            .text("worker")
            .trailer()
            .record(COMM, MISC_EXEC),
        fork().record(FORK, 0),
        fork().record(EXIT, 0),
        mapping.trailer().record(MAPPING, 2),
    ]
}

fn read(bytes: &[u8]) -> Record {
    layout().read(bytes).unwrap().unwrap()
}

#[test]
fn a_sample_has_what_its_event_asks_for() {
    let bytes = full_sample();
    let Record::Sample(sample) = read(&bytes) else {
        panic!("no sample");
    };
    assert_eq!((sample.event, sample.pid, sample.tid), (1, 1000, 1001));
    assert_eq!(sample.time_ns, 5_000_000_000);
    assert_eq!(sample.kernel_chain, [0xffff_0001]);
    assert_eq!(sample.user_chain, [0x1001, 0x1002]);
    assert_eq!(sample.stack, 0xabc_u64.to_ne_bytes());
    let registers = sample.registers.unwrap();
    // In the order of their numbers: bp, (lr,) sp, ip.
    assert_eq!(registers.bp, 0x2000);
    let rest = u64::from(REGISTERS.lr.is_some());
    assert_eq!(registers.sp, 0x2001 + rest);
    assert_eq!(registers.ip, 0x2002 + rest);
}

#[test]
fn every_kind_of_record_is_read() {
    let records = records();
    let time_ns = 5_000_000_000;
    let read: Vec<_> = records.iter().map(|bytes| read(bytes)).collect();
    assert!(matches!(&read[1], Record::Sample(Sample { event: 0, .. })));
    let expected = [
        Record::CameBack { tid: 1001, time_ns },
        Record::Lost(12),
        Record::Lost(13),
        Record::Executed { pid: 8, time_ns },
        Record::Forked {
            pid: 8,
            parent: 7,
            time_ns: 99,
        },
        Record::Ended {
            pid: 8,
            tid: 81,
            time_ns: 99,
        },
        Record::Mapped {
            pid: 1000,
            time_ns,
            address: 0x4000,
            length: 0x1000,
            offset: 0x200,
            path: "/usr/lib/libc.so.6".into(),
        },
    ];
    assert_eq!(read[2..], expected);
}

#[test]
fn a_thread_that_leaves_and_a_new_name_are_left_out() {
    let left = Bytes::default().trailer().record(SWITCH, MISC_SWITCH_OUT);
    assert_eq!(layout().read(&left), Ok(None));
    let named = Bytes::default().u32s([8, 81]).text("worker").trailer();
    assert_eq!(layout().read(&named.record(COMM, 0)), Ok(None));
}

#[test]
fn unknown_kinds_are_left_out_and_unknown_events_are_malformed() {
    let unknown = Bytes::default().trailer().record(77, 0);
    assert_eq!(layout().read(&unknown), Ok(None));
    for identifier in [69, 72] {
        let sample = Bytes::sample(identifier).u64s([0]);
        assert_eq!(layout().read(&sample.record(SAMPLE, 0)), Err(Malformed));
    }
}

/// The length in the header may be right for the bytes that are there, or wrong.
#[test]
fn a_record_cut_anywhere_is_malformed() {
    for record in records() {
        for length in 0..record.len() {
            let cut = &record[..length];
            assert_eq!(layout().read(cut), Err(Malformed), "{length} of {record:?}");
            // With a header that fits, some records are only shorter: a text has any length.
            if length >= 8 {
                let mut lying = cut.to_vec();
                lying[6..8].copy_from_slice(&u16::try_from(length).unwrap().to_ne_bytes());
                let _ = layout().read(&lying);
            }
        }
    }
}

#[test]
fn lengths_inside_a_sample_may_not_exceed_it() {
    let good = full_sample();
    let chain_at = 8 + 24;
    let registers = REGISTERS.mask().count_ones() as usize * 8;
    let stack_at = chain_at + 8 + 5 * 8 + 8 + registers;
    let filled_at = stack_at + 8 + 16;
    for (at, value) in [
        (chain_at, u64::MAX),
        (chain_at, u64::MAX / 8),
        (chain_at, 1000),
        (stack_at, u64::MAX),
        (stack_at, 24),
        (filled_at, 17),
        (filled_at, u64::MAX),
    ] {
        let mut lying = good.clone();
        lying[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        assert_eq!(layout().read(&lying), Err(Malformed), "{value} at {at}");
    }
}

#[test]
fn a_thread_of_the_kernel_has_no_registers_and_no_stack() {
    let sample = Bytes::sample(71).u64s([0, 0, 0]);
    let bytes = sample.record(SAMPLE, 1);
    let Record::Sample(sample) = read(&bytes) else {
        panic!("no sample");
    };
    assert_eq!((sample.registers, sample.stack), (None, Vec::new()));
}

/// A sample that has nothing but the fields of its tracepoint.
#[test]
fn samples_may_have_fields_only() {
    let sample = Bytes::default().u64s([70]).u32s([4, 7]).record(SAMPLE, 1);
    assert_eq!(fields(&sample), Ok(Some(&7_u32.to_ne_bytes()[..])));
    let lost = Bytes::default().u64s([70, 12, 70]).record(LOST, 0);
    assert_eq!(fields(&lost), Ok(None));
    for length in 0..sample.len() {
        assert_eq!(fields(&sample[..length]), Err(Malformed));
    }
    let mut lying = sample.clone();
    lying[16..20].copy_from_slice(&5_u32.to_ne_bytes());
    assert_eq!(fields(&lying), Err(Malformed));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = layout().read(&bytes);
        let _ = fields(&bytes);
    }

    /// Random bytes seldom have a known kind, the right length and a known event.
    #[test]
    fn any_body_is_read_or_refused(
        kind in 1_u32..16,
        misc in any::<u16>(),
        words in proptest::collection::vec(prop_oneof![0_u64..80, any::<u64>()], 0..40),
    ) {
        let body = words.iter().fold(Bytes::default(), |bytes, &word| bytes.u64s([word]));
        let _ = layout().read(&body.record(kind, misc));
    }

    #[test]
    fn a_changed_byte_is_read_or_refused(which in 0_usize..9, at in 0_usize..300, to in any::<u8>()) {
        let mut record = records().swap_remove(which);
        let at = at % record.len();
        record[at] = to;
        let _ = layout().read(&record);
    }
}
