//! Responses whose parts arrive one after another.

use super::*;

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";

#[test]
fn responses_that_wait_once_for_a_delayed_acknowledgement_are_counted() {
    for (head_ms, parts_ms, is_counted) in [
        (1, &[41, 0][..], true),
        (41, &[0, 44], true),
        // Not as long as the kernel delays an acknowledgement.
        (41, &[0, 0], false),
        (1, &[30, 5], false),
        (1, &[0, 60], false),
        // A server that sends something every 40 ms.
        (1, &[40, 40], false),
    ] {
        let (server, clock) = SimulatedServer::new(Box::new(move |_| {
            let mut after = head_ms * MS;
            let mut parts = vec![ResponsePart { after, bytes: HEAD }];
            for (pause_ms, bytes) in parts_ms.iter().zip([b"o", b"k"]) {
                after += pause_ms * MS;
                parts.push(ResponsePart { after, bytes });
            }
            parts
        }));
        let plan = plan(LoadShape::Closed, 2, ms(1000));
        let result = run(&plan, (server, clock));
        let expected = if is_counted {
            result.outcomes[Outcome::Ok]
        } else {
            0
        };
        assert_eq!(result.ack_waits, expected, "{head_ms} {parts_ms:?}");
        assert_eq!(result.share_of_ack_waits(), is_counted.then_some(1.0));
    }
}
