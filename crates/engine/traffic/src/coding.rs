//! Content codings of responses (RFC 9110, section 8.4): which ones a request accepts, and bodies without them.

use std::borrow::Cow;
use std::io::{self, Read};

use brotli_decompressor::Decompressor;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use serde::{Deserialize, Serialize};

use crate::response::{LONGEST_BODY, Mismatch, Response};

/// The codings of [`Accepted::all`], as the value of `accept-encoding`.
pub const ALL_CODINGS: &str = "gzip, br, zstd, deflate";

/// The most codings of one body, one after the other. Servers apply one.
const MOST_CODINGS: usize = 4;

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Coding {
    Gzip,
    Deflate,
    #[serde(rename = "br")]
    Brotli,
    Zstd,
}

impl Coding {
    const ALL: [Self; 4] = [Self::Gzip, Self::Brotli, Self::Zstd, Self::Deflate];

    fn of(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        let name = match name.to_ascii_lowercase().as_str() {
            "x-gzip" => "gzip".to_owned(),
            other => other.to_owned(),
        };
        all.find(|coding| coding.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }
}

/// The codings that a request accepts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted(Vec<Coding>);

impl Accepted {
    /// Those of [`ALL_CODINGS`].
    pub fn all() -> Self {
        Self(Coding::ALL.to_vec())
    }

    /// Those that the value of `accept-encoding` names, except with a weight of 0. `*` means all others.
    pub fn of(accept_encoding: &str) -> Self {
        let mut named = Vec::new();
        let mut accepts_others = false;
        for entry in accept_encoding.split(',') {
            let (name, parameters) = entry.split_once(';').unwrap_or((entry, ""));
            let weight = parameters.trim().strip_prefix("q=");
            let accepts = weight.is_none_or(|weight| weight.trim().parse() != Ok(0.0));
            match (name.trim(), Coding::of(name.trim())) {
                ("*", _) => accepts_others = accepts,
                (_, Some(coding)) => named.push((coding, accepts)),
                (_, None) => {}
            }
        }
        let accepts = |coding: &Coding| {
            let own = named.iter().find(|(one, _)| one == coding);
            own.map_or(accepts_others, |(_, accepts)| *accepts)
        };
        Self(Coding::ALL.into_iter().filter(accepts).collect())
    }

    /// Whether the body of a response must come as it is.
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// The body of `response` without its codings, if it takes at most `longest` bytes.
    ///
    /// # Errors
    ///
    /// If the response has a coding that the request does not accept, its data are broken, or they are longer.
    pub fn decoded<'a>(
        &self,
        response: &'a Response,
        longest: u64,
    ) -> Result<Cow<'a, [u8]>, Mismatch> {
        let fields = response.headers.iter();
        let fields = fields.filter(|(name, _)| name == "content-encoding");
        self.decoded_body(fields.map(|(_, value)| &value[..]), &response.body, longest)
    }

    /// A body without its codings, which these values of `content-encoding` name, if it takes at most `longest` bytes.
    ///
    /// # Errors
    ///
    /// If the request does not accept one of them, the data are broken, or they are longer.
    pub(crate) fn decoded_body<'a>(
        &self,
        content_encodings: impl Iterator<Item = &'a [u8]>,
        body: &'a [u8],
        longest: u64,
    ) -> Result<Cow<'a, [u8]>, Mismatch> {
        let mut body = Cow::Borrowed(body);
        // The last one was applied last. The response to a HEAD names the codings of a body that it does not have.
        for coding in self.codings(content_encodings)?.into_iter().rev() {
            if body.is_empty() {
                break;
            }
            body = Cow::Owned(decode(coding, &body, longest)?);
        }
        Ok(body)
    }

    fn codings<'a>(
        &self,
        content_encodings: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Vec<Coding>, Mismatch> {
        let mut codings = Vec::new();
        for value in content_encodings {
            let value = String::from_utf8_lossy(value);
            let names = value.split(',').map(str::trim);
            let names = names.filter(|name| !name.is_empty());
            for name in names.filter(|name| !name.eq_ignore_ascii_case("identity")) {
                let coding = Coding::of(name).filter(|coding| self.0.contains(coding));
                codings.push(coding.ok_or_else(|| self.unasked(name))?);
            }
        }
        match codings.len() {
            0..=MOST_CODINGS => Ok(codings),
            count => Err(Mismatch {
                expected: format!("at most {MOST_CODINGS} content codings"),
                received: format!("{count}"),
            }),
        }
    }

    fn unasked(&self, name: &str) -> Mismatch {
        let names: Vec<&str> = self.0.iter().map(|coding| coding.name()).collect();
        let received = format!("content-encoding {}", name.escape_default());
        let expected = if names.is_empty() {
            "no content-encoding, because the request accepts none".to_owned()
        } else {
            format!(
                "a content-encoding that the request accepts ({})",
                names.join(", ")
            )
        };
        Mismatch { expected, received }
    }
}

fn decode(coding: Coding, body: &[u8], longest: u64) -> Result<Vec<u8>, Mismatch> {
    let name = coding.name();
    let decoded = match coding {
        Coding::Gzip => read(MultiGzDecoder::new(body), longest),
        Coding::Deflate if is_zlib(body) => inflated(body, longest),
        // RFC 9110 requires the zlib format, and some servers send the bare data, which browsers accept.
        Coding::Deflate => read(DeflateDecoder::new(body), longest),
        Coding::Brotli => read(Decompressor::new(body, 4096), longest),
        Coding::Zstd => zstd_decoded(body, longest),
    };
    let decoded = decoded.map_err(|error| Mismatch {
        expected: format!("a body that {name} can decode"),
        received: format!("{} bytes of broken {name}: {error}", body.len()),
    })?;
    if decoded.len() as u64 > longest {
        Err(Mismatch {
            expected: format!("a body of at most {longest} bytes, decoded"),
            received: format!("more than that from {} bytes of {name}", body.len()),
        })
    } else {
        Ok(decoded)
    }
}

/// Reads at most one byte more than `longest`.
fn read(decoder: impl Read, longest: u64) -> io::Result<Vec<u8>> {
    let mut decoded = Vec::new();
    let most = longest.saturating_add(1);
    decoder.take(most).read_to_end(&mut decoded)?;
    Ok(decoded)
}

/// Whether it begins with the head of the zlib format (RFC 1950).
fn is_zlib(body: &[u8]) -> bool {
    matches!(body, [first, second, ..]
        if first & 0x0f == 8 && (u16::from(*first) << 8 | u16::from(*second)).is_multiple_of(31))
}

fn inflated(body: &[u8], longest: u64) -> io::Result<Vec<u8>> {
    let mut decoder = ZlibDecoder::new(body);
    let decoded = read(&mut decoder, longest)?;
    let is_whole = decoded.len() as u64 <= longest;
    if is_whole && decoder.total_in() < body.len() as u64 {
        Err(io::Error::other("bytes follow its end"))
    } else {
        Ok(decoded)
    }
}

/// Decodes all frames, and checks their checksums.
fn zstd_decoded(body: &[u8], longest: u64) -> io::Result<Vec<u8>> {
    let mut decoded = Vec::new();
    let mut rest = body;
    while !rest.is_empty() && decoded.len() as u64 <= longest {
        let start = rest;
        match StreamingDecoder::new_with_max_window_size(&mut rest, LONGEST_BODY) {
            Ok(mut decoder) => {
                let left = longest - decoded.len() as u64;
                decoded.extend(read(&mut decoder, left)?);
                check_sum(&decoder.into_frame_decoder())?;
            }
            Err(error) => rest = after_skippable(&error, start).ok_or(io::Error::other(error))?,
        }
    }
    Ok(decoded)
}

fn check_sum(decoder: &FrameDecoder) -> io::Result<()> {
    match decoder.get_checksum_from_data() {
        Some(sum) if decoder.is_finished() && decoder.get_calculated_checksum() != Some(sum) => {
            Err(io::Error::other("its checksum is wrong"))
        }
        _ => Ok(()),
    }
}

/// What follows a frame that decoders skip (RFC 8878, section 3.1.2): it has a magic number and a length.
fn after_skippable<'a>(error: &FrameDecoderError, frame: &'a [u8]) -> Option<&'a [u8]> {
    let FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. }) =
        error
    else {
        return None;
    };
    frame.get(8 + *length as usize..)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::Compression;
    use flate2::read::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use prony_testkit::{contains, starts_with};
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    const TEXT: &[u8] = b"hello hello hello hello\n";
    /// `TEXT` in Brotli's format: a block that is not compressed.
    const BROTLI: &[u8] = b"\x8b\x0b\x80hello hello hello hello\n\x03";

    fn all_of(mut encoder: impl Read) -> Vec<u8> {
        let mut encoded = Vec::new();
        encoder.read_to_end(&mut encoded).unwrap();
        encoded
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        all_of(GzEncoder::new(bytes, Compression::default()))
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        all_of(ZlibEncoder::new(bytes, Compression::default()))
    }

    fn deflate(bytes: &[u8]) -> Vec<u8> {
        all_of(DeflateEncoder::new(bytes, Compression::default()))
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        compress_to_vec(bytes, CompressionLevel::Fastest)
    }

    fn each(bytes: &[u8]) -> [(&'static str, Vec<u8>); 4] {
        [
            ("gzip", gzip(bytes)),
            ("deflate", zlib(bytes)),
            ("deflate", deflate(bytes)),
            ("zstd", zstd(bytes)),
        ]
    }

    fn response(coding: &str, body: &[u8]) -> Response {
        Response {
            status: 200,
            headers: vec![("content-encoding".into(), coding.into())],
            body: body.to_vec(),
        }
    }

    fn decoded(coding: &str, body: &[u8], longest: u64) -> Result<Vec<u8>, String> {
        let response = response(coding, body);
        let decoded = Accepted::all().decoded(&response, longest);
        let decoded = decoded.map(|body| body.into_owned());
        decoded.map_err(|mismatch| mismatch.to_string())
    }

    #[test]
    fn every_coding_is_decoded() {
        let (first, rest) = TEXT.split_at(6);
        let skipped = b"\x50\x2a\x4d\x18\x02\0\0\0no".to_vec();
        let others = [
            ("X-GZIP", gzip(TEXT)),
            ("br", BROTLI.to_vec()),
            ("identity", TEXT.to_vec()),
            ("gzip, zstd", zstd(&gzip(TEXT))),
            ("gzip", [gzip(first), gzip(rest)].concat()),
            ("zstd", [zstd(first), skipped, zstd(rest)].concat()),
        ];
        for (coding, body) in each(TEXT).into_iter().chain(others) {
            assert_eq!(
                decoded(coding, &body, 1000).as_deref(),
                Ok(TEXT),
                "{coding}"
            );
        }
        assert_eq!(decoded("gzip", b"", 1000), Ok(Vec::new()));
    }

    #[test]
    fn broken_data_are_mismatches() {
        for (coding, body) in [
            ("gzip", gzip(TEXT)),
            ("deflate", zlib(TEXT)),
            ("br", BROTLI.to_vec()),
            ("zstd", zstd(TEXT)),
        ] {
            for broken in [&body[..body.len() - 3], TEXT] {
                let error = decoded(coding, broken, 1000).unwrap_err();
                let expected = format!("expected a body that {coding} can decode, got ");
                starts_with(&error, &expected);
                contains(&error, &format!(" bytes of broken {coding}: "));
            }
            for end in 1..body.len() {
                let _ = decoded(coding, &body[..end], 1000);
            }
        }
        for (coding, mut body) in [("gzip", gzip(TEXT)), ("deflate", zlib(TEXT))] {
            body.extend(b"more");
            assert!(decoded(coding, &body, 1000).is_err(), "{coding}");
        }
    }

    proptest! {
        #[test]
        fn any_data_are_decoded_or_broken(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        ) {
            let encoded = each(&bytes).into_iter().chain([("br", BROTLI.to_vec())]);
            for (coding, mut changed) in encoded {
                for (at, byte) in &changes {
                    let at = at.index(changed.len());
                    changed[at] = *byte;
                }
                for data in [&changed, &bytes] {
                    if let Ok(decoded) = decoded(coding, data, 1000) {
                        prop_assert!(decoded.len() <= 1000);
                    }
                }
            }
        }
    }

    #[test]
    fn a_bomb_is_a_mismatch() {
        let zeros = vec![0; 1 << 20];
        for (coding, body) in each(&zeros) {
            let expected = format!(
                "expected a body of at most 1000 bytes, decoded, got more than that from {} bytes of {coding}",
                body.len()
            );
            assert_eq!(decoded(coding, &body, 1000), Err(expected));
            assert_eq!(decoded(coding, &body, 1 << 20), Ok(zeros.clone()));
        }
    }

    #[test]
    fn a_coding_must_be_accepted() {
        for (accepted, coding, refusal) in [
            (
                Accepted::default(),
                "gzip",
                "expected no content-encoding, because the request accepts none, got content-encoding gzip",
            ),
            (
                Accepted::of("gzip;q=1, br"),
                "zstd",
                "expected a content-encoding that the request accepts (gzip, br), got content-encoding zstd",
            ),
            (
                Accepted::all(),
                "compress",
                "expected a content-encoding that the request accepts (gzip, br, zstd, deflate), got content-encoding compress",
            ),
            (
                Accepted::all(),
                "gzip, gzip, gzip, gzip, gzip",
                "expected at most 4 content codings",
            ),
        ] {
            let refused = accepted.decoded(&response(coding, b"x"), 10).unwrap_err();
            starts_with(&refused.to_string(), refusal);
        }
        let identity = response("identity", b"x");
        assert!(Accepted::default().decoded(&identity, 10).is_ok());
    }

    #[test]
    fn accept_encoding_is_read() {
        use Coding::*;
        for (value, codings) in [
            ("", vec![]),
            ("gzip", vec![Gzip]),
            ("GZIP ; q=0.5 , deflate", vec![Gzip, Deflate]),
            ("gzip;q=0, br;q=0.000", vec![]),
            ("*", vec![Gzip, Brotli, Zstd, Deflate]),
            ("*, br;q=0", vec![Gzip, Zstd, Deflate]),
            ("identity, compress", vec![]),
            (ALL_CODINGS, Coding::ALL.to_vec()),
        ] {
            assert_eq!(Accepted::of(value), Accepted(codings), "{value}");
        }
        assert_eq!(Accepted::of(ALL_CODINGS), Accepted::all());
    }
}
