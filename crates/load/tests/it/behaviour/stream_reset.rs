//! An HTTP/2 server that resets each stream: each request is a reset, and its connection is still replaced.

use std::io::Write;
use std::net::TcpStream;
use std::num::NonZeroU64;

use prony_load::{EventLoopChoice, LoadPlan};
use prony_model::{Ended, Outcome};

use crate::h2_frames::{HEADERS, read_frame, read_preface, server};
use crate::plans::{assert_outcome, http2_plan_to, load};

over_each_loop!(a_connection_whose_last_request_is_reset_is_replaced);

const RST_STREAM: u8 = 3;
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
/// INTERNAL_ERROR.
const CODE: [u8; 4] = [0, 0, 0, 2];

fn converse(mut stream: TcpStream) -> Option<()> {
    read_preface(&mut stream)?;
    stream.write_all(&SETTINGS).ok()?;
    loop {
        let (kind, number) = read_frame(&mut stream)?;
        if kind == HEADERS {
            let reset = [&[0, 0, 4, RST_STREAM, 0][..], &number, &CODE].concat();
            stream.write_all(&reset).ok()?;
        }
    }
}

fn a_connection_whose_last_request_is_reset_is_replaced(event_loop: EventLoopChoice) {
    let address = server(converse);
    for per_connection in [None, NonZeroU64::new(1), NonZeroU64::new(2)] {
        let plan = LoadPlan {
            requests_per_connection: per_connection,
            ..http2_plan_to(event_loop, address, 10)
        };
        let result = load(&plan);
        assert_eq!(result.ended, Ended::Requests);
        assert_outcome(&result, Outcome::Reset, 10);
        let least = per_connection.map_or(1, |most| 10 / most.get());
        assert!(result.connections_opened >= least, "{per_connection:?}");
    }
}
