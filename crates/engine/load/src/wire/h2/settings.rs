//! SETTINGS (RFC 9113, section 6.5): the limits of either side.

use prony_http::hpack::TABLE_SIZE;
use prony_http::{DEFAULT_WINDOW, MAX_FRAME, SETTING, Setting, encode_settings, read_settings};

use super::Malformed;
use super::flow::ReceiveWindow;
use super::malformed::MAX_BLOCK;

/// The settings that the client sends first. The sizes of the HPACK table and of frames stay at their defaults.
pub(super) fn client() -> [[u8; SETTING]; 3] {
    encode_settings([
        (Setting::ENABLE_PUSH, 0),
        (Setting::INITIAL_WINDOW_SIZE, ReceiveWindow::SIZE),
        (Setting::MAX_HEADER_LIST_SIZE, MAX_BLOCK as u32),
    ])
}

/// How many streams to open at most before the server has said how many it takes: the least that RFC 9113 recommends.
const STREAMS_BEFORE_SETTINGS: u32 = 100;

/// The server's settings that matter to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PeerSettings {
    /// The send window of a new stream, in bytes.
    pub(super) initial_window: u32,
    /// The longest frame that it accepts, in bytes.
    pub(super) max_frame: usize,
    /// How many streams may be open at a time.
    pub(super) max_streams: u32,
    /// The smallest size, in bytes, that the server has ever allowed for the HPACK table of the client's blocks.
    pub(super) table_size: u32,
    /// Whether a SETTINGS frame has arrived.
    received: bool,
}

impl Default for PeerSettings {
    fn default() -> Self {
        Self {
            initial_window: DEFAULT_WINDOW,
            max_frame: MAX_FRAME,
            max_streams: STREAMS_BEFORE_SETTINGS,
            table_size: TABLE_SIZE as u32,
            received: false,
        }
    }
}

impl PeerSettings {
    /// Takes the payload of a SETTINGS frame.
    pub(super) fn take(&mut self, payload: &[u8]) -> Result<(), Malformed> {
        let settings = read_settings(payload)?;
        if !self.received {
            self.received = true;
            self.max_streams = u32::MAX;
        }
        for setting in settings {
            let (setting, value) = setting?;
            match setting {
                // Nobody can push to a server (section 6.5.2).
                Setting::ENABLE_PUSH if value != 0 => return Err(Malformed::Setting(setting)),
                Setting::INITIAL_WINDOW_SIZE => self.initial_window = value,
                Setting::MAX_FRAME_SIZE => self.max_frame = value as usize,
                Setting::MAX_CONCURRENT_STREAMS => self.max_streams = value,
                // The encoder must follow every decrease, even one that a later value takes back.
                Setting::HEADER_TABLE_SIZE => self.table_size = self.table_size.min(value),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use prony_http::{FRAME_HEADER, Kind, MAX_WINDOW};

    use super::*;
    use crate::wire::h2::tests::frames;

    fn take(settings: &[(Setting, u32)]) -> Result<PeerSettings, Malformed> {
        let settings: Vec<_> = settings
            .iter()
            .map(|(setting, value)| (setting.0, *value))
            .collect();
        let frame = frames::settings(&settings);
        let mut peer = PeerSettings::default();
        peer.take(&frame[FRAME_HEADER..]).map(|()| peer)
    }

    #[test]
    fn the_last_value_counts_and_unknown_settings_do_not() {
        let settings = [
            (Setting::INITIAL_WINDOW_SIZE, 1),
            (Setting(0xffff), 0xffff_ffff),
            (Setting::INITIAL_WINDOW_SIZE, MAX_WINDOW),
            (Setting::MAX_FRAME_SIZE, 16_777_215),
        ];
        let expected = PeerSettings {
            initial_window: MAX_WINDOW,
            max_frame: 16_777_215,
            max_streams: u32::MAX,
            table_size: 4096,
            received: true,
        };
        assert_eq!(take(&settings), Ok(expected));
    }

    #[test]
    fn the_smallest_table_counts() {
        let table = |sizes: &[u32]| {
            let settings = sizes.iter().map(|&size| (Setting::HEADER_TABLE_SIZE, size));
            take(&settings.collect::<Vec<_>>()).unwrap().table_size
        };
        assert_eq!(table(&[]), 4096);
        assert_eq!(table(&[100, 65_536]), 100);
        assert_eq!(table(&[65_536]), 4096);
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for (setting, value) in [
            (Setting::ENABLE_PUSH, 1),
            (Setting::INITIAL_WINDOW_SIZE, MAX_WINDOW + 1),
            (Setting::MAX_FRAME_SIZE, 16_383),
            (Setting::MAX_FRAME_SIZE, 16_777_216),
        ] {
            assert_eq!(take(&[(setting, value)]), Err(Malformed::Setting(setting)));
        }
        let mut peer = PeerSettings::default();
        let torn = peer.take(&[0; SETTING + 1]);
        assert_eq!(torn, Err(Malformed::FrameLength(Kind::SETTINGS)));
    }
}
