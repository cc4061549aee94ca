//! Text for a terminal: colours, cutting and wrapping.

/// A text that has less room than this beside its heading is put below it.
const LEAST_TEXT: usize = 30;

/// Writes ANSI colours, or none.
///
/// ```
/// use prony_present::terminal::Paint;
/// assert_eq!(Paint { colour: false }.bad("worse"), "worse");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    pub colour: bool,
}

impl Paint {
    /// The text with the attributes of an ANSI code, such as `"1;31"`.
    pub fn with(self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub fn warn(self, text: &str) -> String {
        self.with("33", text)
    }

    pub fn bad(self, text: &str) -> String {
        self.with("31", text)
    }
}

/// The text cut to `letters` characters, without control characters, which would move the cursor.
pub fn cut(text: &str, letters: usize) -> String {
    let clean = text.chars().map(visible);
    if text.chars().count() > letters {
        clean.take(letters.saturating_sub(1)).chain(['…']).collect()
    } else {
        clean.collect()
    }
}

/// The same, without what is in the middle: the ends of names tell them apart.
pub fn cut_middle(text: &str, letters: usize) -> String {
    let count = text.chars().count();
    if count <= letters || letters < 3 {
        return cut(text, letters);
    }
    let first = (letters - 1) / 2;
    let clean = || text.chars().map(visible);
    let last = clean().skip(count - (letters - 1 - first));
    clean().take(first).chain(['…']).chain(last).collect()
}

fn visible(c: char) -> char {
    if c.is_control() { '�' } else { c }
}

/// The text in lines of at most `width` characters, broken at spaces; only a word longer than a line is split.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut line: Vec<char> = Vec::new();
    for word in text
        .split([' ', '\n', '\t', '\r'])
        .filter(|word| !word.is_empty())
    {
        let word: Vec<char> = word.chars().map(visible).collect();
        for (i, piece) in word.chunks(width).enumerate() {
            let fits = i == 0 && line.len() + 1 + piece.len() <= width;
            if !line.is_empty() {
                if fits {
                    line.push(' ');
                } else {
                    lines.push(line.drain(..).collect());
                }
            }
            line.extend(piece);
        }
    }
    lines.push(line.into_iter().collect());
    lines
}

/// Headings and texts in two columns. A long text is wrapped at words, below its heading if there is little room.
pub fn listing(rows: &[(impl AsRef<str>, String)], width: usize) -> String {
    let heads = rows.iter().map(|(head, _)| head.as_ref().chars().count());
    let head_width = heads.max().unwrap_or(0);
    let indent = if width < head_width + 4 + LEAST_TEXT {
        6
    } else {
        head_width + 4
    };
    let mut out = String::new();
    for (head, text) in rows {
        let head = head.as_ref();
        let lines = wrapped(text, width.saturating_sub(indent));
        let mut lines = lines.iter();
        if indent == head_width + 4 {
            let first = lines.next().map_or("", String::as_str);
            out += format!("  {head:<head_width$}  {first}").trim_end();
            out.push('\n');
        } else if !head.is_empty() {
            out += &format!("  {head}\n");
        }
        for line in lines {
            out += &format!("{:indent$}{line}\n", "");
        }
    }
    out
}

/// The first line of some output, which usually says what happened, and the last, which often names the error.
pub fn ends(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let Some(first) = lines.next() else {
        return String::new();
    };
    let rest = lines.clone().count();
    match (lines.next_back(), rest) {
        (None, _) => first.to_owned(),
        (Some(last), 1) => format!("{first} / {last}"),
        (Some(last), _) => format!("{first} … {last}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::table::rows;

    #[test]
    fn long_words_and_control_characters_stay_within_the_line() {
        assert_eq!(wrapped("a bc defghij k", 4), ["a bc", "defg", "hij", "k"]);
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(cut("abcdef", 4), "abc…");
        for (letters, shown) in [
            (6, "abcdef"),
            (5, "ab…ef"),
            (4, "a…ef"),
            (3, "a…f"),
            (2, "a…"),
        ] {
            assert_eq!(cut_middle("abcdef", letters), shown);
        }
        assert_eq!(cut_middle("a\u{1b}bcde", 4), "a…de");
        assert_eq!(cut("a\u{1b}[2J", 9), "a�[2J");
    }

    #[test]
    fn a_non_breaking_space_keeps_a_figure_and_its_unit_together() {
        assert_eq!(wrapped("at 5\u{a0}ms", 5), ["at", "5\u{a0}ms"]);
    }

    #[test]
    fn a_listing_breaks_lines_at_words() {
        let listed = [
            ("go", "a server written in the language Go".to_owned()),
            ("python", "another".to_owned()),
        ];
        for [width, expected] in rows(
            r"
            80 |   go      a server written in the language Go\n  python  another\n
            40 |   go      a server written in the\n          language Go\n  python  another\n
            30 |   go\n      a server written in the\n      language Go\n  python\n      another\n
        ",
        ) {
            assert_eq!(listing(&listed, width.parse().unwrap()), expected);
        }
    }
}
