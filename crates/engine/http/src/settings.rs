//! SETTINGS (RFC 9113, section 6.5): the limits of either side.

use super::{FrameError, Kind, MAX_FRAME, MAX_WINDOW, Setting};

/// Bytes of one setting: its number and its value.
pub const SETTING: usize = 6;

fn allows(setting: Setting, value: u32) -> bool {
    match setting {
        Setting::ENABLE_PUSH => value <= 1,
        Setting::INITIAL_WINDOW_SIZE => value <= MAX_WINDOW,
        Setting::MAX_FRAME_SIZE => (MAX_FRAME as u32..1 << 24).contains(&value),
        _ => true,
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
        if allows(setting, value) {
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
