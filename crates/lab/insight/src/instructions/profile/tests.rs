use prony_testkit::contains;
use prony_testkit::table::refused;
use proptest::prelude::*;

use super::*;

/// What callgrind 3.19 wrote for `tests/program.c`, without debug information.
const REAL: &str = include_str!("../../../tests/real.callgrind");

fn read(text: &str) -> Result<InstructionCount, ProfileError> {
    InstructionCount::read(text.as_bytes())
}

fn small(body: &str, totals: u64) -> String {
    format!("version: 1\npositions: line\nevents: Ir\n{body}totals: {totals}\n")
}

fn functions(text: &str) -> Vec<(String, u64)> {
    let count = read(text).unwrap();
    let functions = count.functions.into_iter();
    functions.map(|one| (one.name, one.instructions)).collect()
}

#[test]
fn a_real_file_adds_up() {
    let count = read(REAL).unwrap();
    let sum: u64 = count.functions.iter().map(|one| one.instructions).sum();
    assert_eq!(count.total, sum);
    let of = |name: &str| count.functions.iter().find(|one| one.name == name).unwrap();
    let (inner, outer) = (of("inner"), of("outer"));
    assert_eq!(inner.object.as_deref(), Some("program"));
    // The program calls both as often as it says, and `inner` does ten times the work.
    let is_heavier = inner.instructions > 9 * outer.instructions;
    assert!(is_heavier, "{inner:?} {outer:?}");
}

#[test]
fn a_file_cut_at_any_line_is_not_read() {
    let mut parser = Parser::default();
    let mut end = 0;
    for line in REAL.split_inclusive('\n') {
        let cut = parser.check();
        assert!(cut.is_err(), "cut after {} lines", parser.line);
        // The same from outside, now and then, because it reads all lines again.
        if parser.line.is_multiple_of(500) {
            let error = read(&REAL[..end]).unwrap_err();
            assert_eq!(error.to_string(), cut.unwrap_err().to_string());
        }
        parser.line(line).unwrap();
        end += line.len();
    }
    parser.check().unwrap();
}

#[test]
fn calls_and_jumps_are_not_costs_of_the_function() {
    let text = small(
        "ob=(1) /bin/a\nfn=(1) caller\n1 5\ncfn=(2) called\ncalls=2 7\n+1 1000\njump=3 9\n9\njcnd=1/2 4\n4\n2 6\nfn=(2)\n7 1000\n",
        1011,
    );
    let expected = [("called".to_owned(), 1000), ("caller".to_owned(), 11)];
    assert_eq!(functions(&text), expected);
}

#[test]
fn positions_of_instructions_and_other_events_are_skipped() {
    let text = "version: 1\ncreator: callgrind-3.19.0\npositions: instr line\nevents: Bc Ir\nfn=a\n0x12 3 7 5\n+2 * 1 2\n* +1 9\ntotals: 17 7\n";
    assert_eq!(functions(text), [("a".to_owned(), 7)]);
}

#[test]
fn several_parts_are_added() {
    let one = small("fn=(1) a\n1 5\n", 5);
    let two = "part: 2\nfn=(1)\n1 3\ntotals: 3\n";
    assert_eq!(functions(&(one.clone() + two)), [("a".to_owned(), 8)]);
    let open = one + "part: 2\n";
    assert!(matches!(read(&open), Err(ProfileError::CutShort)));
}

#[test]
fn the_same_name_in_two_objects_is_two_functions() {
    let count = read(&small(
        "ob=(1) /lib/a.so\nfn=(1) f\n1 5\nob=(2) /lib/b.so\n1 6\nob=(3) ???\nfn=(2) 0x1f00\n0 1\nfn=(3) 0x2f00\n0 2\n",
        14,
    ))
    .unwrap();
    let object = |at: usize| count.functions[at].object.as_deref();
    assert_eq!([0, 1, 2].map(object), [Some("b.so"), Some("a.so"), None]);
    assert_eq!(count.functions[2].name, names::COMPILED_AT_RUN_TIME);
    assert_eq!(count.functions[2].instructions, 3);
}

#[test]
fn files_that_lie_are_refused() {
    refused(
        read,
        r#"
        "" | cut short
        hello\n | line 1
        events: Ir\nfn=a\n1 5\ntotals: 5\n | header
        version: 2\n | version 2
        version: 1\nevents: Dr Dw\n | Dr Dw
    "#,
    );
    refused(
        |body| read(&small(body, 5)),
        r#"
        fn=a\n1 6\n | its total is 5
        // A cost before any function, and a number without a name.
        1 5\n | line 4
        fn=(7)\n1 5\n | line 4
        fn=a\n1 -5\n | line 5
        fn=a\n1 99999999999999999999\n | line 5
        what=a\n | line 4
        fn=a\n1 18446744073709551615\n2 1\n | larger
    "#,
    );
    let long = format!("version: 1\ncmd: {}\n", "x".repeat(2 << 20));
    contains(&read(&long).unwrap_err().to_string(), "1 MiB");
}

#[test]
fn counts_of_processes_are_added() {
    let mut sum = InstructionCount::default();
    sum.add(read(&small("fn=a\n1 5\nfn=b\n1 1\n", 6)).unwrap());
    sum.add(read(&small("fn=b\n1 7\n", 7)).unwrap());
    assert_eq!((sum.total, sum.processes), (13, 2));
    let functions = sum.functions.iter();
    let counts = functions.map(|one| (&*one.name, one.instructions));
    assert!(counts.eq([("b", 8), ("a", 5)]), "{sum:?}");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text: String, lines in prop::collection::vec("(fn|ob|cfn|calls|totals|part|events)[=:] ?\\(?[0-9]{0,3}\\)?[a-c]?|[+*-]?[0-9]{1,3} [0-9]{1,20}", 0..20)) {
        let _ = read(&text);
        let _ = read(&small(&(lines.join("\n") + "\n"), 0));
    }
}
