//! Calls without streams: messages in, messages out.

use proptest::prelude::*;

use super::*;

fn framed(message: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0];
    bytes.extend_from_slice(&(message.len() as u32).to_be_bytes());
    bytes.extend_from_slice(message);
    bytes
}

fn echo(payload: &str, count: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    append(payload, count, &mut bytes);
    bytes
}

/// Makes a whole call whose data arrives in these pieces.
fn call<'a>(
    method: Method,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<(Vec<u8>, u32), Failure> {
    let mut call = Call::new(method)?;
    let mut messages = Messages::default();
    for piece in pieces {
        call.take(piece, &mut messages)?;
    }
    call.end(&mut messages)?;
    Ok((messages.bytes, messages.repeats))
}

fn whole(method: Method, data: &[u8]) -> Result<(Vec<u8>, u32), Failure> {
    call(method, [data])
}

#[test]
fn each_kind_of_call_has_its_responses() {
    // Encoded by hand: field 1 is `hi`, field 2 is 300.
    let hi = framed(b"\x0a\x02hi");
    let hi_300 = framed(b"\x0a\x02hi\x10\xac\x02");
    assert_eq!(whole(Method::Unary, &hi), Ok((hi.clone(), 0)));
    assert_eq!(whole(Method::ServerStream, &hi_300), Ok((hi.clone(), 299)));
    assert_eq!(whole(Method::ServerStream, &hi), Ok((Vec::new(), 0)));
    let three = [framed(b""), framed(b"\x0a\x01a"), hi].concat();
    assert_eq!(whole(Method::BidiStream, &three), Ok((three.clone(), 0)));
    let summary = framed(b"\x0a\x02hi\x10\x03");
    assert_eq!(whole(Method::ClientStream, &three), Ok((summary, 0)));
    assert_eq!(whole(Method::ClientStream, &[]), Ok((framed(b""), 0)));
    assert_eq!(whole(Method::BidiStream, &[]), Ok((Vec::new(), 0)));
}

#[test]
fn broken_calls_fail_with_their_status() {
    let hi = echo("hi", 0);
    let two = [&hi[..], &hi].concat();
    let compressed = [&[1][..], &hi[1..]].concat();
    let unknown_flag = [&[2][..], &hi[1..]].concat();
    for (method, data, expected) in [
        (Method::Unknown, &hi[..], failure::NO_METHOD),
        (Method::Unary, &[], failure::NOT_ONE),
        (Method::Unary, &two, failure::NOT_ONE),
        (Method::ServerStream, &[], failure::NOT_ONE),
        (Method::Unary, &hi[..hi.len() - 1], failure::CUT),
        (Method::Unary, &[0, 0], failure::CUT),
        (Method::Unary, &compressed, failure::COMPRESSED),
        (Method::Unary, &unknown_flag, failure::PREFIX),
        (Method::Unary, &[0, 0, 0x40, 0, 1], failure::TOO_LONG),
    ] {
        assert_eq!(whole(method, data), Err(expected), "{method:?} {data:?}");
    }
    for message in [
        &b"\x0a\x03hi"[..],
        b"\x0a\x01\xff",
        b"\x02\x00",
        b"\x0b",
        &[0xff; 11],
    ] {
        let result = whole(Method::Unary, &framed(message));
        assert_eq!(result, Err(failure::NOT_PROTOBUF), "{message:?}");
    }
}

#[test]
fn unknown_fields_are_skipped_and_the_last_of_a_field_counts() {
    let message = b"\x0a\x01a\x18\x05\x21\x01\x02\x03\x04\x05\x06\x07\x08\x2a\x02xy\x35\x01\x02\x03\x04\x0a\x01b";
    let Echo { payload, count } = Echo::read(message).unwrap();
    assert_eq!((payload, count), ("b", 0));
}

#[test]
fn the_longest_message_is_accepted() {
    // The tag and the length of the payload take five bytes.
    let longest = echo(&"a".repeat(MAX_MESSAGE - 5), 0);
    assert_eq!(longest.len(), PREFIX + MAX_MESSAGE);
    let pieces = longest.chunks(16_384);
    assert!(call(Method::Unary, pieces).is_ok_and(|(bytes, _)| bytes == longest));
}

proptest! {
    #[test]
    fn the_cuts_of_the_data_do_not_matter(
        payloads in prop::collection::vec("\\PC{0,40}", 0..5),
        cut in 1usize..50,
    ) {
        let data: Vec<u8> = payloads.iter().flat_map(|payload| echo(payload, 0)).collect();
        let pieces = || data.chunks(cut);
        prop_assert_eq!(call(Method::BidiStream, pieces()), Ok((data.clone(), 0)));
        let last = payloads.last().map_or("", String::as_str);
        let summary = echo(last, payloads.len() as u32);
        prop_assert_eq!(call(Method::ClientStream, pieces()), Ok((summary, 0)));
    }

    /// Any bytes give the same result however they are cut, and none a longer response than the request.
    #[test]
    fn any_bytes_have_one_result(
        data in prop::collection::vec(prop_oneof![3 => 0u8..12, 1 => any::<u8>()], 0..60),
        cut in 1usize..20,
    ) {
        for method in [Method::Unary, Method::ServerStream, Method::BidiStream] {
            let result = whole(method, &data);
            prop_assert_eq!(call(method, data.chunks(cut)), result.clone());
            if let Ok((bytes, _)) = result {
                prop_assert!(bytes.len() <= data.len());
            }
        }
    }
}
