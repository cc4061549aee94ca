//! Cases of a test that differ in data, one a line.

use std::fmt::Display;

/// The rows of a table: one a line, with cells between ` | `. A cell is written as in a string literal of Rust, but for its
/// quotes; an empty one is `""`. A line that begins with `// ` is a comment.
///
/// # Panics
///
/// If there is no row, a row has another number of cells, or an escape is not one of Rust's.
#[track_caller]
pub fn rows<const N: usize>(table: &str) -> Vec<[&'static str; N]> {
    let lines = table.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("// "));
    let row = |line: &str| -> [&'static str; N] {
        let cells: Vec<&str> = line.split(" | ").map(cell).collect();
        let count = cells.len();
        cells
            .try_into()
            .unwrap_or_else(|_| panic!("{count} cells instead of {N}: {line}"))
    };
    let rows: Vec<_> = lines.map(row).collect();
    assert!(!rows.is_empty(), "a table without rows");
    rows
}

/// Reads the first cell of each row, and expects an error that contains the second.
///
/// # Panics
///
/// If a row is accepted, or its error is another one.
#[track_caller]
pub fn refused<T, E: Display>(read: impl Fn(&str) -> Result<T, E>, table: &str) {
    for [text, expected] in rows(table) {
        fails(text, read(text), expected);
    }
}

/// Reads `text` with one change for each row, whose first cell is replaced by the second, and expects an error that contains
/// the third.
///
/// # Panics
///
/// If there is nothing to replace, a change is accepted, or its error is another one.
#[track_caller]
pub fn refused_changes<T, E: Display>(
    text: &str,
    read: impl Fn(&str) -> Result<T, E>,
    table: &str,
) {
    for [from, to, expected] in rows(table) {
        assert!(text.contains(from), "no `{from}` to change");
        fails(to, read(&text.replacen(from, to, 1)), expected);
    }
}

#[track_caller]
fn fails<T, E: Display>(what: &str, read: Result<T, E>, expected: &str) {
    match read {
        Ok(_) => panic!("`{what}` is accepted instead of: {expected}"),
        Err(error) => {
            let error = error.to_string();
            assert!(
                error.contains(expected),
                "`{what}`: no `{expected}` in {error}"
            );
        }
    }
}

/// It lives as long as the test program, as a literal does.
fn cell(written: &str) -> &'static str {
    if written == "\"\"" {
        return "";
    }
    let mut text = String::new();
    let mut rest = written.chars();
    while let Some(next) = rest.next() {
        text.push(match next {
            '\\' => escaped(&mut rest).unwrap_or_else(|| panic!("an escape in `{written}`")),
            plain => plain,
        });
    }
    text.leak()
}

fn escaped(rest: &mut std::str::Chars<'_>) -> Option<char> {
    Some(match rest.next()? {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        '0' => '\0',
        same @ ('\\' | '"' | '\'') => same,
        'x' => {
            let digits: String = rest.by_ref().take(2).collect();
            char::from(u8::from_str_radix(&digits, 16).ok()?)
        }
        'u' => {
            let digits: String = rest.by_ref().skip(1).take_while(|&c| c != '}').collect();
            char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_cells_as_literals_have_them() {
        let table = rows(
            r#"
                a "b" | c\n\\d
                // No case.
                "" | \u{20}e|f\x41
            "#,
        );
        assert_eq!(table, [["a \"b\"", "c\n\\d"], ["", " e|fA"]]);
    }

    #[test]
    #[should_panic(expected = "1 cells instead of 2: a")]
    fn a_row_that_is_too_short_is_refused() {
        let _: Vec<[&str; 2]> = rows("a");
    }

    #[test]
    #[should_panic(expected = "a table without rows")]
    fn a_table_without_rows_is_refused() {
        let _: Vec<[&str; 2]> = rows("// Nothing | else");
    }

    #[test]
    #[should_panic(expected = "`7` is accepted instead of: digit")]
    fn a_row_that_is_accepted_fails() {
        refused(str::parse::<u8>, "x | digit\n7 | digit");
    }

    #[test]
    #[should_panic(expected = "`x`: no `digits` in invalid digit")]
    fn a_change_with_another_error_fails() {
        refused_changes("17", str::parse::<u8>, "7 | x | digit\n1 | x | digits");
    }
}
