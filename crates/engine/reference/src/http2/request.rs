//! What a header block requests.

use prony_http::hpack::{Decoder, Fields, HpackError};

use crate::framing::{Link, Method, content_length};
use crate::grpc;
use crate::route::{Reply, What};

/// How many header blocks a connection remembers.
const RECENT: usize = 8;
/// Longer blocks are not remembered, in bytes.
const LONGEST_RECENT: usize = 1024;

/// What a header block requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// A response with this status and body.
    Http {
        reply: Reply,
        /// The length of the request's body, if the client says it.
        length: Option<u64>,
    },
    Grpc(grpc::Method),
    /// It breaks the rules for requests (RFC 9113, section 8.1.1).
    Malformed,
}

/// Decodes the header blocks of a connection.
#[derive(Debug, Default)]
pub(super) struct Requests {
    decoder: Decoder,
    fields: Fields,
    /// Most clients send the same few blocks over and over.
    recent: Vec<Recent>,
    /// Which of `recent` is replaced next.
    oldest: usize,
}

#[derive(Debug)]
struct Recent {
    block: Vec<u8>,
    /// The decoder's number of changes: while it stays, the block means the same.
    changes: u64,
    request: Request,
}

impl Requests {
    /// What a whole header block requests. After an error no further block of the connection can be decoded.
    pub(super) fn read(&mut self, block: &[u8]) -> Result<Request, HpackError> {
        let changes = self.decoder.changes();
        let mut recent = self.recent.iter();
        if let Some(known) =
            recent.find(|recent| recent.changes == changes && recent.block == block)
        {
            return Ok(known.request);
        }
        self.decoder.decode(block, &mut self.fields)?;
        let request = interpret(&self.fields).unwrap_or(Request::Malformed);
        if self.decoder.changes() == changes && block.len() <= LONGEST_RECENT {
            self.remember(Recent {
                block: block.to_vec(),
                changes,
                request,
            });
        }
        Ok(request)
    }

    fn remember(&mut self, recent: Recent) {
        if self.recent.len() < RECENT {
            return self.recent.push(recent);
        }
        self.recent[self.oldest] = recent;
        self.oldest = (self.oldest + 1) % RECENT;
    }
}

/// The fields that the response depends on.
#[derive(Default)]
struct Parts<'a> {
    method: Option<&'a [u8]>,
    scheme: Option<&'a [u8]>,
    path: Option<&'a [u8]>,
    authority: Option<&'a [u8]>,
    content_type: &'a [u8],
    length: Option<u64>,
}

/// `None` if the request is malformed.
fn interpret(fields: &Fields) -> Option<Request> {
    let mut parts = Parts::default();
    let mut may_be_pseudo = true;
    for (name, value) in fields.iter() {
        if name.starts_with(b":") {
            parts.take_pseudo(name, value).filter(|()| may_be_pseudo)?;
        } else {
            may_be_pseudo = false;
            parts.take(name, value)?;
        }
    }
    parts.request()
}

impl<'a> Parts<'a> {
    fn take_pseudo(&mut self, name: &[u8], value: &'a [u8]) -> Option<()> {
        let part = match name {
            b":method" => &mut self.method,
            b":scheme" => &mut self.scheme,
            b":path" => &mut self.path,
            b":authority" => &mut self.authority,
            _ => return None,
        };
        part.replace(value).is_none().then_some(())
    }

    fn take(&mut self, name: &[u8], value: &'a [u8]) -> Option<()> {
        match name {
            b"content-type" => self.content_type = value,
            b"content-length" => {
                let length = content_length(value)?;
                let other = self.length.replace(length);
                other.is_none_or(|other| other == length).then_some(())?;
            }
            b"te" if value != b"trailers" => return None,
            // They concern one connection, which has other means in HTTP/2 (section 8.2.2).
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding"
            | b"upgrade" => return None,
            _ if name.is_empty() || name.iter().any(u8::is_ascii_uppercase) => return None,
            _ => {}
        }
        Some(())
    }

    fn request(&self) -> Option<Request> {
        let name = self.method?;
        let is_connect = name == b"CONNECT";
        if !is_connect && (self.scheme.is_none() || self.path.is_none_or(<[u8]>::is_empty)) {
            return None;
        }
        let path = std::str::from_utf8(self.path.unwrap_or_default()).unwrap_or_default();
        if let Some(format) = self.content_type.strip_prefix(b"application/grpc")
            && name == b"POST"
        {
            return Some(match format {
                b"" | b"+proto" | [b';', ..] => Request::Grpc(grpc::Method::of(path)),
                _ => self.http(What::MediaType, Method::Other),
            });
        }
        let method = Method::of(name);
        Some(self.http(What::of(method, path), method))
    }

    fn http(&self, what: What, method: Method) -> Request {
        Request::Http {
            reply: Reply {
                what,
                head_only: method == Method::Head,
                link: Link::Stays,
            },
            length: self.length,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::Route;

    const GET: [(&str, &str); 3] = [(":method", "GET"), (":scheme", "http"), (":path", "/hello")];

    fn read(fields: &[(&str, &str)]) -> Request {
        let mut block = Vec::new();
        prony_http::hpack::encode(fields, &mut block);
        Requests::default().read(&block).unwrap()
    }

    fn what(request: Request) -> What {
        match request {
            Request::Http { reply, .. } => reply.what,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn requests_have_the_routes_of_http_1() {
        let hello = What::Route(Route::Hello);
        assert_eq!(what(read(&GET)), hello);
        let with = |index: usize, value| {
            let mut fields = GET;
            fields[index].1 = value;
            what(read(&fields))
        };
        assert_eq!(with(0, "HEAD"), hello);
        assert_eq!(with(0, "POST"), What::NotAllowed);
        assert_eq!(with(2, "/hello?a"), hello);
        assert_eq!(with(2, "/nothing"), What::NotFound);
        assert_eq!(with(2, "*"), What::NotFound);
    }

    #[test]
    fn malformed_requests_are_recognised() {
        for extra in [
            (":method", "GET"),
            (":status", "200"),
            ("Upper", ""),
            ("", ""),
            ("connection", "close"),
            ("te", "gzip"),
            ("content-length", "-1"),
        ] {
            let request = read(&[&GET[..], &[extra]].concat());
            assert_eq!(request, Request::Malformed, "{extra:?}");
        }
        for missing in 0..GET.len() {
            let mut fields = GET.to_vec();
            fields.remove(missing);
            assert_eq!(read(&fields), Request::Malformed, "without {missing}");
        }
        let late = [("te", "trailers"), GET[0], GET[1], GET[2]];
        assert_eq!(read(&late), Request::Malformed);
        let no_path = [GET[0], GET[1], (":path", "")];
        assert_eq!(read(&no_path), Request::Malformed);
        let lengths = [("content-length", "1"), ("content-length", "2")];
        assert_eq!(read(&[&GET[..], &lengths].concat()), Request::Malformed);
    }

    #[test]
    fn grpc_is_told_by_the_media_type() {
        let with = |content_type| {
            read(&[
                (":method", "POST"),
                (":scheme", "http"),
                (":path", "/prony.echo.v1.Echo/Unary"),
                ("content-type", content_type),
            ])
        };
        let unary = Request::Grpc(grpc::Method::Unary);
        assert_eq!(with("application/grpc"), unary);
        assert_eq!(with("application/grpc+proto"), unary);
        assert_eq!(with("application/grpc;a=b"), unary);
        for (content_type, expected) in [
            ("application/grpc+json", What::MediaType),
            ("application/grpc-web", What::MediaType),
            ("text/plain", What::NotFound),
        ] {
            assert_eq!(what(with(content_type)), expected, "{content_type}");
        }
    }

    #[test]
    fn a_remembered_block_is_read_again_once_the_table_has_changed() {
        let mut requests = Requests::default();
        let mut path_in_table = |path: &str| {
            let mut block = vec![0x82, 0x86, 0x44, path.len() as u8];
            block.extend_from_slice(path.as_bytes());
            requests.read(&block).unwrap();
            // The newest entry of the dynamic table, three times.
            [(); 3].map(|()| requests.read(&[0x82, 0x86, 0xbe]).unwrap())
        };
        for (path, route) in [("/byte", Route::Byte), ("/log", Route::PageLog)] {
            for request in path_in_table(path) {
                assert_eq!(what(request), What::Route(route));
            }
        }
    }

    #[test]
    fn the_number_of_remembered_blocks_is_bounded() {
        let mut requests = Requests::default();
        for number in 0..100 {
            let mut block = Vec::new();
            let path = format!("/{number}");
            prony_http::hpack::encode(&[GET[0], GET[1], (":path", &path)], &mut block);
            requests.read(&block).unwrap();
        }
        assert_eq!(requests.recent.len(), RECENT);
    }
}
