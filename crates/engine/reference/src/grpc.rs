//! The gRPC service `prony.echo.v1.Echo`: messages in, messages out. Touches neither streams nor sockets.

/// The longest message, in bytes: the default limit of most gRPC libraries.
pub(crate) const MAX_MESSAGE: usize = 4 << 20;
/// Bytes before each message: whether it is compressed, and its length.
const PREFIX: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// Returns the payload.
    Unary,
    /// Returns `count` messages, each with the payload.
    ServerStream,
    /// Returns the last payload and the number of messages received.
    ClientStream,
    /// Returns each payload as it arrives.
    BidiStream,
    /// The service does not have it.
    Unknown,
}

impl Method {
    /// The method of a request's path.
    pub(crate) fn of(path: &str) -> Self {
        match path.strip_prefix("/prony.echo.v1.Echo/") {
            Some("Unary") => Method::Unary,
            Some("ServerStream") => Method::ServerStream,
            Some("ClientStream") => Method::ClientStream,
            Some("BidiStream") => Method::BidiStream,
            _ => Method::Unknown,
        }
    }
}

/// Why a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    /// For people; it has no byte that needs percent-encoding.
    pub(crate) message: &'static str,
}

/// Failures by their codes.
pub(crate) mod failure {
    use super::Failure;

    macro_rules! failures {
        ($($name:ident = $code:literal, $message:literal;)*) => {
            $(#[doc = $message] pub(crate) const $name: Failure = Failure { code: $code, message: $message };)*
        };
    }

    failures! {
        NOT_PROTOBUF = 3, "the message is not a request of this method";
        TOO_LONG = 8, "a message is longer than 4 MiB";
        NO_ROOM = 8, "the unfinished calls of this connection hold too many bytes";
        NO_METHOD = 12, "no such method";
        COMPRESSED = 12, "compressed messages are not supported";
        PREFIX = 13, "a message has an invalid prefix";
        CUT = 13, "the call ends in the middle of a message";
        NOT_ONE = 13, "this method takes exactly one message";
    }
}

/// Responses to be sent: bytes, and how many times.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    /// One or more messages with their prefixes.
    pub(crate) bytes: Vec<u8>,
    /// How many more times the same bytes follow.
    pub(crate) repeats: u32,
}

#[derive(Debug)]
pub(crate) struct Call {
    method: Method,
    /// The beginning of a message.
    input: Vec<u8>,
    count: u32,
    /// The last payload, of a method that needs it at the end.
    last: Vec<u8>,
}

impl Call {
    /// A call without messages so far.
    pub(crate) fn new(method: Method) -> Result<Self, Failure> {
        match method {
            Method::Unknown => Err(failure::NO_METHOD),
            _ => Ok(Self {
                method,
                input: Vec::new(),
                count: 0,
                last: Vec::new(),
            }),
        }
    }

    /// Whether responses may leave before the last message has arrived.
    pub(crate) fn responds_at_once(&self) -> bool {
        self.method == Method::BidiStream
    }

    /// How many bytes it holds.
    pub(crate) fn held(&self) -> usize {
        self.input.len() + self.last.len()
    }

    /// Takes the next bytes, and appends the responses to `messages`.
    pub(crate) fn take(&mut self, data: &[u8], messages: &mut Messages) -> Result<(), Failure> {
        if self.input.is_empty() {
            let read = self.take_whole(data, messages)?;
            self.input.extend_from_slice(&data[read..]);
        } else {
            let mut input = std::mem::take(&mut self.input);
            input.extend_from_slice(data);
            let read = self.take_whole(&input, messages)?;
            input.drain(..read);
            self.input = input;
        }
        Ok(())
    }

    /// Takes the whole messages at the beginning of `bytes`; returns how many bytes they have.
    fn take_whole(&mut self, bytes: &[u8], messages: &mut Messages) -> Result<usize, Failure> {
        let mut read = 0;
        while let Some((&[flag, length @ ..], rest)) = bytes[read..].split_first_chunk::<PREFIX>() {
            let length = u32::from_be_bytes(length) as usize;
            match flag {
                0 => {}
                1 => return Err(failure::COMPRESSED),
                _ => return Err(failure::PREFIX),
            }
            if length > MAX_MESSAGE {
                return Err(failure::TOO_LONG);
            }
            let Some(message) = rest.get(..length) else {
                break;
            };
            self.on_message(message, messages)?;
            read += PREFIX + length;
        }
        Ok(read)
    }

    fn on_message(&mut self, message: &[u8], messages: &mut Messages) -> Result<(), Failure> {
        let request = Echo::read(message).ok_or(failure::NOT_PROTOBUF)?;
        self.count = self.count.saturating_add(1);
        match self.method {
            Method::BidiStream => append(request.payload, 0, &mut messages.bytes),
            Method::ClientStream => {
                self.last.clear();
                self.last.extend_from_slice(request.payload.as_bytes());
            }
            _ if self.count > 1 => return Err(failure::NOT_ONE),
            Method::ServerStream => {
                if let Some(repeats) = request.count.checked_sub(1) {
                    append(request.payload, 0, &mut messages.bytes);
                    messages.repeats = repeats;
                }
            }
            Method::Unary | Method::Unknown => append(request.payload, 0, &mut messages.bytes),
        }
        Ok(())
    }

    /// The last message has arrived: appends what only now can be sent.
    pub(crate) fn end(&self, messages: &mut Messages) -> Result<(), Failure> {
        if !self.input.is_empty() {
            return Err(failure::CUT);
        }
        match self.method {
            Method::Unary | Method::ServerStream if self.count != 1 => Err(failure::NOT_ONE),
            Method::ClientStream => {
                let payload = std::str::from_utf8(&self.last).unwrap_or_default();
                append(payload, self.count, &mut messages.bytes);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// A message of the service: all have a payload in field 1, and some a count in field 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Echo<'a> {
    payload: &'a str,
    count: u32,
}

impl<'a> Echo<'a> {
    /// Reads the known fields, the last of each if there are several, and skips the rest; `None` if it is broken.
    fn read(mut message: &'a [u8]) -> Option<Self> {
        let mut echo = Self::default();
        while !message.is_empty() {
            let tag = varint(&mut message)?;
            // The field number and the wire type.
            match (u32::try_from(tag >> 3).ok()?, tag & 7) {
                (0, _) => return None,
                (1, 2) => {
                    let payload = counted(&mut message)?;
                    echo.payload = std::str::from_utf8(payload).ok()?;
                }
                // A number for 32 bits is cut to them.
                (2, 0) => echo.count = varint(&mut message)? as u32,
                (_, 0) => drop(varint(&mut message)?),
                (_, 1) => drop(message.split_off(..8)?),
                (_, 2) => drop(counted(&mut message)?),
                (_, 5) => drop(message.split_off(..4)?),
                _ => return None,
            }
        }
        Some(echo)
    }
}

/// Takes a length and as many bytes.
fn counted<'a>(message: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(varint(message)?).ok()?;
    message.split_off(..length)
}

fn varint(message: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 0..10 {
        let &byte = message.split_off_first()?;
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Appends a message with its prefix. Fields with their default values are left out.
fn append(payload: &str, count: u32, bytes: &mut Vec<u8>) {
    let start = bytes.len();
    bytes.extend_from_slice(&[0; PREFIX]);
    if !payload.is_empty() {
        bytes.push(1 << 3 | 2);
        append_varint(payload.len() as u32, bytes);
        bytes.extend_from_slice(payload.as_bytes());
    }
    if count > 0 {
        bytes.push(2 << 3);
        append_varint(count, bytes);
    }
    let length = (bytes.len() - start - PREFIX) as u32;
    bytes[start + 1..start + PREFIX].copy_from_slice(&length.to_be_bytes());
}

fn append_varint(mut number: u32, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests;
