//! SETTINGS (RFC 9113, section 6.5): the limits of either side.

use super::Malformed;
use super::flow::{DEFAULT_WINDOW, MAX_WINDOW, ReceiveWindow};
use super::frame::{Kind, MAX_FRAME};
use super::header_block::MAX_BLOCK;

const ENABLE_PUSH: u16 = 0x2;
const INITIAL_WINDOW_SIZE: u16 = 0x4;
const MAX_FRAME_SIZE: u16 = 0x5;
const MAX_HEADER_LIST_SIZE: u16 = 0x6;

/// Bytes of one setting: its number and its value.
const SETTING: usize = 6;

/// The payload of the SETTINGS frame that the client sends first. The sizes of the HPACK table and of frames stay at
/// their defaults.
pub(super) fn client() -> [u8; 3 * SETTING] {
    let mut payload = [0; 3 * SETTING];
    let settings = [
        (ENABLE_PUSH, 0),
        (INITIAL_WINDOW_SIZE, ReceiveWindow::SIZE),
        (MAX_HEADER_LIST_SIZE, MAX_BLOCK as u32),
    ];
    for (place, (number, value)) in payload.chunks_exact_mut(SETTING).zip(settings) {
        place[..2].copy_from_slice(&number.to_be_bytes());
        place[2..].copy_from_slice(&value.to_be_bytes());
    }
    payload
}

/// The server's settings that matter to a client that sends small requests one by one and never uses the HPACK table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PeerSettings {
    /// The send window of a new stream, in bytes.
    pub(super) initial_window: u32,
    /// The longest frame that it accepts, in bytes.
    pub(super) max_frame: usize,
}

impl Default for PeerSettings {
    fn default() -> Self {
        Self {
            initial_window: DEFAULT_WINDOW,
            max_frame: MAX_FRAME,
        }
    }
}

impl PeerSettings {
    /// Takes the payload of a SETTINGS frame.
    pub(super) fn take(&mut self, payload: &[u8]) -> Result<(), Malformed> {
        let (settings, []) = payload.as_chunks::<SETTING>() else {
            return Err(Malformed::FrameLength(Kind::Settings));
        };
        for &[n0, n1, v0, v1, v2, v3] in settings {
            let value = u32::from_be_bytes([v0, v1, v2, v3]);
            match u16::from_be_bytes([n0, n1]) {
                // Nobody can push to a server (section 6.5.2).
                ENABLE_PUSH if value != 0 => return Err(Malformed::Setting("ENABLE_PUSH")),
                INITIAL_WINDOW_SIZE if value > MAX_WINDOW => {
                    return Err(Malformed::Setting("INITIAL_WINDOW_SIZE"));
                }
                INITIAL_WINDOW_SIZE => self.initial_window = value,
                MAX_FRAME_SIZE if !(MAX_FRAME as u32..1 << 24).contains(&value) => {
                    return Err(Malformed::Setting("MAX_FRAME_SIZE"));
                }
                MAX_FRAME_SIZE => self.max_frame = value as usize,
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(settings: &[(u16, u32)]) -> Result<PeerSettings, Malformed> {
        let mut payload = Vec::new();
        for (number, value) in settings {
            payload.extend_from_slice(&number.to_be_bytes());
            payload.extend_from_slice(&value.to_be_bytes());
        }
        let mut peer = PeerSettings::default();
        peer.take(&payload).map(|()| peer)
    }

    #[test]
    fn the_last_value_counts_and_unknown_settings_do_not() {
        let settings = [
            (INITIAL_WINDOW_SIZE, 1),
            (0xffff, 0xffff_ffff),
            (INITIAL_WINDOW_SIZE, MAX_WINDOW),
            (MAX_FRAME_SIZE, 16_777_215),
        ];
        let expected = PeerSettings {
            initial_window: MAX_WINDOW,
            max_frame: 16_777_215,
        };
        assert_eq!(take(&settings), Ok(expected));
        assert_eq!(take(&[]), Ok(PeerSettings::default()));
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for (number, value, name) in [
            (ENABLE_PUSH, 1, "ENABLE_PUSH"),
            (INITIAL_WINDOW_SIZE, MAX_WINDOW + 1, "INITIAL_WINDOW_SIZE"),
            (MAX_FRAME_SIZE, 16_383, "MAX_FRAME_SIZE"),
            (MAX_FRAME_SIZE, 16_777_216, "MAX_FRAME_SIZE"),
        ] {
            assert_eq!(take(&[(number, value)]), Err(Malformed::Setting(name)));
        }
        let mut peer = PeerSettings::default();
        let torn = peer.take(&[0; SETTING + 1]);
        assert_eq!(torn, Err(Malformed::FrameLength(Kind::Settings)));
    }
}
