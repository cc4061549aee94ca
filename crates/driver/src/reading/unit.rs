//! Figures with the unit written behind them.

/// How a time is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeUnit {
    /// In a unit of so many nanoseconds.
    Nanoseconds(f64),
    /// With its unit: `1.26ms`.
    Written,
}

/// How a number of bytes is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BytesUnit {
    /// In bytes.
    Bytes,
    /// With its unit, in steps of 1024: `5.16MB`.
    Written,
}

/// `1.26ms` in nanoseconds.
pub fn time(text: &str) -> Option<f64> {
    let (number, unit) = split(text)?;
    let nanoseconds = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        _ => return None,
    };
    Some(number * nanoseconds)
}

/// `5.16MB` in bytes, in steps of 1024.
pub fn bytes(text: &str) -> Option<f64> {
    let (number, unit) = split(text)?;
    let power = match unit {
        "B" => 0,
        "KB" | "KiB" => 1,
        "MB" | "MiB" => 2,
        "GB" | "GiB" => 3,
        "TB" | "TiB" => 4,
        _ => return None,
    };
    Some(number * 1024f64.powi(power))
}

fn split(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_with_their_unit() {
        assert_eq!(time("138.00us"), Some(138e3));
        assert_eq!(time("1.5m"), Some(90e9));
        assert_eq!(bytes("4.50KB"), Some(4608.0));
        for wrong in ["", "us", "12", "1.2.3s", "5 s", "3d"] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
        assert_eq!(bytes("3M"), None);
    }
}
