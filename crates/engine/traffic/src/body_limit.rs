//! How much of a body is kept.

/// The longest body to keep whole. Of a longer one it keeps one byte more, to show that it is longer.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimit(pub usize);

impl BodyLimit {
    /// Adds the next piece to a body, as far as it is kept.
    #[inline]
    pub fn add(self, body: &mut Vec<u8>, piece: &[u8]) {
        let room = (self.0 + 1).saturating_sub(body.len());
        body.extend_from_slice(&piece[..room.min(piece.len())]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_more_shows_that_a_body_is_longer() {
        for (pieces, kept) in [
            (&["ab", "c"][..], "abc"),
            (&["ab", "", "cd"], "abcd"),
            (&["ab", "cde", "f"], "abcd"),
        ] {
            let mut body = Vec::new();
            for piece in pieces {
                BodyLimit(3).add(&mut body, piece.as_bytes());
            }
            assert_eq!(body, kept.as_bytes());
        }
    }
}
