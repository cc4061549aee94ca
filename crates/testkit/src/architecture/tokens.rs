//! Rust as words and signs, without comments and literals.

#[derive(Clone, Copy)]
pub(super) struct Token<'a> {
    /// A word, `::`, or one character.
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

impl Token<'_> {
    pub(super) fn is_word(&self) -> bool {
        self.text
            .starts_with(|first: char| first == '_' || first.is_alphabetic())
    }
}

pub(super) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut reader = Reader {
        source,
        at: 0,
        line: 1,
    };
    std::iter::from_fn(|| reader.next_token()).collect()
}

struct Reader<'a> {
    source: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Reader<'a> {
    fn next_token(&mut self) -> Option<Token<'a>> {
        loop {
            let rest = &self.source[self.at..];
            let length = match *rest.as_bytes() {
                [] => return None,
                [b'/', b'/', ..] => rest.find('\n').unwrap_or(rest.len()),
                [b'/', b'*', ..] => length_of_block_comment(rest),
                [b'"', ..] => length_of_text(rest),
                [b'\'', ..] => length_of_character(rest),
                [b'r', b'"' | b'#', ..] if is_raw_text(&rest[1..]) => {
                    1 + length_of_raw_text(&rest[1..])
                }
                [b'b' | b'c', b'r', b'"' | b'#', ..] if is_raw_text(&rest[2..]) => {
                    2 + length_of_raw_text(&rest[2..])
                }
                [first, ..] if first.is_ascii_whitespace() => 1,
                _ => return Some(self.take(length_of_token(rest))),
            };
            self.take(length);
        }
    }

    fn take(&mut self, length: usize) -> Token<'a> {
        let text = &self.source[self.at..self.at + length];
        let token = Token {
            text,
            line: self.line,
        };
        self.at += length;
        self.line += text.bytes().filter(|byte| *byte == b'\n').count();
        token
    }
}

fn length_of_token(rest: &str) -> usize {
    if rest.starts_with("::") {
        return 2;
    }
    let word = rest
        .find(|character: char| character != '_' && !character.is_alphanumeric())
        .unwrap_or(rest.len());
    if word > 0 {
        word
    } else {
        rest.chars().next().map_or(0, char::len_utf8)
    }
}

fn length_of_block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
        } else {
            at += 1;
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn length_of_text(rest: &str) -> usize {
    length_to_quote(rest, b'"')
}

/// The length of a character, or of the quote before a lifetime.
fn length_of_character(rest: &str) -> usize {
    let mut characters = rest.chars().skip(1);
    let first = characters.next();
    if first == Some('\\') {
        length_to_quote(rest, b'\'')
    } else if characters.next() == Some('\'') {
        2 + first.map_or(0, char::len_utf8)
    } else {
        1
    }
}

fn length_to_quote(rest: &str, quote: u8) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 1;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// Whether this, after an `r`, begins a raw text rather than a raw name.
fn is_raw_text(rest: &str) -> bool {
    rest.trim_start_matches('#').starts_with('"')
}

fn length_of_raw_text(rest: &str) -> usize {
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let end = format!("\"{}", &rest[..hashes]);
    let begin = hashes + 1;
    rest[begin..]
        .find(&end)
        .map_or(rest.len(), |found| begin + found + end.len())
}

#[test]
fn comments_and_literals_are_left_out() {
    let source = r####"a::b // c "
/* d /* e */ */ 'f' '\'' &'g "h\"" r#"i"# br##"j"# "## b"k" b'l' r#m"####;
    let words: Vec<_> = tokens(source)
        .iter()
        .map(|token| (token.line, token.text))
        .collect();
    let expected = [
        (1, "a"),
        (1, "::"),
        (1, "b"),
        (2, "&"),
        (2, "g"),
        (2, "b"),
        (2, "b"),
        (2, "r"),
        (2, "#"),
        (2, "m"),
    ];
    assert_eq!(words, expected);
}
