//! Unary calls on one connection, one after the other.

use super::response::ResponseReader;
use super::{Call, Malformed};
use crate::wire::h1::Collect;
use crate::wire::h2::{Connection, ErrorCode, FrameReader, StreamEvent};
use crate::wire::{Eaten, Fault, OnClose, Which, Whole, Wire};

/// How many bytes of a GOAWAY's debug data to pass on.
const MOST_DEBUG: usize = 200;

/// The client's side of a connection that repeats the same unary call.
///
/// A response whose status is not 200, or that is not gRPC, is still a response: it has its status and no RPC status. A
/// gRPC response without an RPC status has 2 (`UNKNOWN`).
#[derive(Debug)]
pub struct CallWire {
    call: Call,
    frames: FrameReader,
    connection: Connection,
    response: ResponseReader,
    /// A call has begun, and its response is not whole.
    awaiting: bool,
    /// Whether the last call was fully sent before its response.
    was_sent: bool,
}

impl CallWire {
    /// A wire that sends `call` repeatedly, initially open.
    pub fn new(call: &Call) -> Self {
        Self {
            call: call.clone(),
            frames: FrameReader::default(),
            connection: Connection::default(),
            response: ResponseReader::default(),
            awaiting: false,
            was_sent: true,
        }
    }

    fn take(
        &mut self,
        bytes: &mut &[u8],
        keep: Option<&mut Collect>,
    ) -> Result<Option<Step>, Fault> {
        let call = self.connection.stream();
        let Some(frame) = self.frames.next(bytes).map_err(Malformed::from)? else {
            return Ok(None);
        };
        let event = self.connection.take(frame).map_err(Malformed::from)?;
        // There is one stream: whatever concerns a stream concerns the call.
        let end = match event {
            StreamEvent::Control => false,
            StreamEvent::Fields { fields, end, .. } => {
                self.response.fields(fields, end, keep)?;
                end
            }
            StreamEvent::Data { bytes, end, .. } => {
                self.response.data(bytes, keep)?;
                end
            }
            StreamEvent::Reset { code, .. } => {
                return Err(Fault::Ended(format!("reset the call: {code}")));
            }
            StreamEvent::GoAway {
                last_stream,
                code,
                debug,
            } => {
                let responses =
                    code == ErrorCode::NO_ERROR && call.is_some_and(|call| call <= last_stream);
                if !responses {
                    return Ok(Some(Step::Gone(going_away(code, debug))));
                }
                false
            }
        };
        Ok(Some(if end { Step::End } else { Step::On }))
    }

    fn end(&mut self) -> Result<Whole, Malformed> {
        self.awaiting = false;
        let whole = self.response.end()?;
        self.was_sent = self.connection.body_is_sent();
        if whole.rpc_status == Some(0) && !self.was_sent {
            return Err(Malformed::TooEarly);
        }
        self.connection.end();
        Ok(whole)
    }
}

/// What a frame means for the call.
enum Step {
    On,
    /// The response is whole.
    End,
    /// The server is going away and takes no more calls; the reason in words.
    Gone(String),
}

impl Wire for CallWire {
    fn open(&mut self) {
        self.frames.restart();
        self.connection.open();
        self.awaiting = false;
    }

    /// Every request is the same call, and the server decides when the connection ends.
    fn request(&mut self, _: Which) {
        self.response = ResponseReader::default();
        self.awaiting = true;
        // If not, the last response said so.
        if self.connection.takes_streams() {
            self.connection.begin(self.call.head());
            self.connection.fill(self.call.body());
        }
    }

    fn unsent(&self) -> &[u8] {
        self.connection.unsent()
    }

    fn sent(&mut self, length: usize) {
        self.connection.sent(length);
    }

    fn was_sent_before_response(&self) -> bool {
        self.was_sent
    }

    fn eat(&mut self, mut bytes: &[u8], mut keep: Option<&mut Collect>) -> Result<Eaten, Fault> {
        let length = bytes.len();
        let mut whole = None;
        while let Some(step) = self.take(&mut bytes, keep.as_deref_mut())? {
            match step {
                Step::On => {}
                Step::End => whole = Some(self.end()?),
                // After the last response it only means that no further one follows.
                Step::Gone(_) if whole.is_some() => {}
                Step::Gone(going) => return Err(Fault::Ended(going)),
            }
        }
        self.connection.fill(self.call.body());
        let keep_alive = self.connection.takes_streams();
        Ok(Eaten {
            bytes: length,
            whole: whole.map(|whole| Whole {
                keep_alive,
                ..whole
            }),
        })
    }

    /// Nothing: the wire must see the header of each frame of the body.
    fn skippable(&self) -> u64 {
        0
    }

    fn skip(&mut self, _: u64) -> Option<Whole> {
        None
    }

    fn close(&mut self) -> OnClose {
        let in_frame = self.frames.in_frame() || self.connection.in_block();
        let in_response = in_frame || (self.awaiting && self.response.begun());
        if in_response {
            OnClose::Truncated
        } else {
            OnClose::BeforeResponse
        }
    }
}

/// `is going away: ENHANCE_YOUR_CALM (too_many_pings)`
fn going_away(code: ErrorCode, debug: &[u8]) -> String {
    let debug = &debug[..debug.len().min(MOST_DEBUG)];
    match String::from_utf8_lossy(debug).escape_debug().to_string() {
        debug if debug.is_empty() => format!("is going away: {code}"),
        debug => format!("is going away: {code} ({debug})"),
    }
}
