//! What serde and the TOML parser say is wrong, in the words of those who write TOML.

/// The message, without names of Rust's types.
pub(crate) fn plain(message: &str) -> String {
    let part = |start| {
        let parts: Option<(&str, &str)> = message.strip_prefix(start)?.rsplit_once(", expected ");
        parts
    };
    if let Some((found, expected)) = part("invalid value: ") {
        return out_of_range(found, expected).unwrap_or_else(|| mismatch(found, expected));
    }
    if let Some((found, expected)) = part("invalid type: ") {
        return mismatch(found, expected);
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        return format!("unknown name {rest}");
    }
    if message.starts_with("cannot extend value of type ") {
        return "a part of this name already has a value, so it cannot be a table as well"
            .to_owned();
    }
    let plain = match message {
        "invalid unquoted key, expected letters, numbers, `-`, `_`" => {
            "put a name in quotation marks if it has anything else than letters (a to z), digits, `-` and `_`"
        }
        "wanted string or table" => "expected text in quotation marks, or a table with one field",
        "wanted exactly 1 element, found 0 elements" => "the table is empty; it needs one field",
        "wanted exactly 1 element, more than 1 element" => {
            "the table has several fields; it may have only one"
        }
        other => other,
    };
    plain.to_owned()
}

/// `integer 0`, if a number is expected that is not as small or not as large.
fn out_of_range(found: &str, expected: &str) -> Option<String> {
    let number = found.strip_prefix("integer `")?.strip_suffix('`')?;
    let number: i128 = number.parse().ok()?;
    let (least, kind) = match expected.strip_prefix("a nonzero ") {
        Some(kind) => (1, kind),
        None => (0, expected),
    };
    let most: i128 = match kind {
        "u8" => u8::MAX.into(),
        "u16" => u16::MAX.into(),
        "u32" => u32::MAX.into(),
        "u64" | "usize" => u64::MAX.into(),
        _ => return None,
    };
    Some(if number < least {
        format!("it must be at least {least}")
    } else {
        format!("it must be at most {most}")
    })
}

fn mismatch(found: &str, expected: &str) -> String {
    let hint = match (expected, found) {
        ("a sequence", "map") => {
            "; the header of a table in a list has two pairs of brackets, as in [[measure]]"
        }
        ("a map", "sequence") => {
            "; the header of a table has one pair of brackets, as in [server.web]"
        }
        _ => "",
    };
    format!("expected {}, not {}{hint}", kind(expected), value(found))
}

/// What serde expects.
fn kind(expected: &str) -> &str {
    match expected {
        "a string" => "text in quotation marks",
        "a boolean" => "`true` or `false`",
        "a sequence" => "a list",
        "a map" => "a table",
        "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" | "isize" => {
            "a whole number"
        }
        "f32" | "f64" => "a number",
        _ if expected.starts_with("a nonzero ") => "a whole number of at least 1",
        _ if expected.starts_with("struct ") => "a table",
        other => other,
    }
}

/// What serde found.
fn value(found: &str) -> String {
    let number = found
        .strip_prefix("integer ")
        .or(found.strip_prefix("floating point "));
    if let Some(number) = number {
        return format!("the number {}", number.trim_matches('`'));
    }
    if let Some(text) = found.strip_prefix("string ") {
        return format!("the text {text}");
    }
    match found {
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        other => other.trim_start_matches("boolean ").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::table::rows;

    #[test]
    fn messages_name_what_people_write() {
        for [from, to] in rows(
            r#"
            invalid value: integer `0`, expected a nonzero u32 | it must be at least 1
            invalid value: integer `-1`, expected usize | it must be at least 0
            invalid value: integer `70000`, expected u16 | it must be at most 65535
            invalid type: floating point `2.5`, expected a nonzero usize | expected a whole number of at least 1, not the number 2.5
            invalid type: string "a, expected b", expected u64 | expected a whole number, not the text "a, expected b"
            invalid type: integer `3`, expected a string | expected text in quotation marks, not the number 3
            invalid type: string "yes", expected a boolean | expected `true` or `false`, not the text "yes"
            invalid type: boolean `true`, expected f64 | expected a number, not `true`
            invalid type: integer `3`, expected struct Fields | expected a table, not the number 3
            invalid type: map, expected a sequence | expected a list, not a table; the header of a table in a list has two pairs of brackets, as in [[measure]]
            invalid type: sequence, expected a map | expected a table, not a list; the header of a table has one pair of brackets, as in [server.web]
            invalid type: integer `3`, expected a command | expected a command, not the number 3
            unknown variant `x`, expected `a` or `b` | unknown name `x`, expected `a` or `b`
            `x` is not a duration | `x` is not a duration
        "#,
        ) {
            assert_eq!(plain(from), to);
        }
    }
}
