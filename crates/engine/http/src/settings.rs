//! SETTINGS (RFC 9113, section 6.5): the limits of either side.

use std::fmt;

use super::{FrameError, Kind, MAX_FRAME, MAX_WINDOW};

/// Bytes of one setting: its number and its value.
pub const SETTING: usize = 6;

/// The number of a setting; displayed by its name. Unknown ones are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting(pub u16);

#[expect(
    missing_docs,
    reason = "the names are those of RFC 9113, section 6.5.2"
)]
impl Setting {
    pub const HEADER_TABLE_SIZE: Self = Self(0x1);
    pub const ENABLE_PUSH: Self = Self(0x2);
    pub const MAX_CONCURRENT_STREAMS: Self = Self(0x3);
    pub const INITIAL_WINDOW_SIZE: Self = Self(0x4);
    pub const MAX_FRAME_SIZE: Self = Self(0x5);
    pub const MAX_HEADER_LIST_SIZE: Self = Self(0x6);

    fn allows(self, value: u32) -> bool {
        match self {
            Self::ENABLE_PUSH => value <= 1,
            Self::INITIAL_WINDOW_SIZE => value <= MAX_WINDOW,
            Self::MAX_FRAME_SIZE => (MAX_FRAME as u32..1 << 24).contains(&value),
            _ => true,
        }
    }
}

/// By number, from 1 on.
const NAMES: [&str; 6] = [
    "HEADER_TABLE_SIZE",
    "ENABLE_PUSH",
    "MAX_CONCURRENT_STREAMS",
    "INITIAL_WINDOW_SIZE",
    "MAX_FRAME_SIZE",
    "MAX_HEADER_LIST_SIZE",
];

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        super::display(f, "setting", self.0.into(), 1, &NAMES)
    }
}

/// The payload of a SETTINGS frame, setting by setting.
pub fn encode_settings<const COUNT: usize>(
    settings: [(Setting, u32); COUNT],
) -> [[u8; SETTING]; COUNT] {
    settings.map(|(setting, value)| {
        let [a, b] = setting.0.to_be_bytes();
        let [c, d, e, f] = value.to_be_bytes();
        [a, b, c, d, e, f]
    })
}

/// The settings in the payload of a SETTINGS frame, in their order; an error for each that has a value which neither
/// side may give it.
///
/// # Errors
///
/// If the last setting is cut short.
pub fn read_settings(
    payload: &[u8],
) -> Result<impl Iterator<Item = Result<(Setting, u32), FrameError>>, FrameError> {
    let (settings, []) = payload.as_chunks::<SETTING>() else {
        return Err(FrameError::Length(Kind::SETTINGS));
    };
    Ok(settings.iter().map(|&[a, b, c, d, e, f]| {
        let setting = Setting(u16::from_be_bytes([a, b]));
        let value = u32::from_be_bytes([c, d, e, f]);
        if setting.allows(value) {
            Ok((setting, value))
        } else {
            Err(FrameError::Setting(setting))
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCode;

    #[test]
    fn settings_are_read_as_written() {
        let settings = [
            (Setting::MAX_FRAME_SIZE, 16_777_215),
            (Setting(0xffff), 0xffff_ffff),
            (Setting::INITIAL_WINDOW_SIZE, MAX_WINDOW),
        ];
        let payload = encode_settings(settings);
        assert_eq!(payload[0], [0, 5, 0, 0xff, 0xff, 0xff]);
        let read: Vec<_> = read_settings(payload.as_flattened()).unwrap().collect();
        assert_eq!(read, settings.map(Ok));
    }

    #[test]
    fn values_out_of_range_are_errors() {
        for (setting, value, code) in [
            (Setting::ENABLE_PUSH, 2, ErrorCode::PROTOCOL_ERROR),
            (
                Setting::INITIAL_WINDOW_SIZE,
                MAX_WINDOW + 1,
                ErrorCode::FLOW_CONTROL_ERROR,
            ),
            (Setting::MAX_FRAME_SIZE, 16_383, ErrorCode::PROTOCOL_ERROR),
            (Setting::MAX_FRAME_SIZE, 1 << 24, ErrorCode::PROTOCOL_ERROR),
        ] {
            let payload = encode_settings([(setting, value)]);
            let mut read = read_settings(payload.as_flattened()).unwrap();
            let error = read.next().unwrap().unwrap_err();
            assert_eq!(error, FrameError::Setting(setting));
            assert_eq!(ErrorCode::from(error), code);
        }
        let torn = read_settings(&[0; SETTING + 1]).err();
        assert_eq!(torn, Some(FrameError::Length(Kind::SETTINGS)));
    }
}
