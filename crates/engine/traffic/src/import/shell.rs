//! The words of a command as bash reads them, without its variables and substitutions.

use std::iter::Peekable;
use std::str::Chars;

use super::{ImportError, refuse};

/// The words of a command. They are bytes, because `$'\xff'` is one.
pub(crate) fn words(text: &str) -> Result<Vec<Vec<u8>>, ImportError> {
    let read = bash_words(text);
    let is_for_windows = match &read {
        // `^` continues lines there, and is before quotes.
        Ok(words) => words
            .iter()
            .any(|word| word == b"^" || word.starts_with(b"^http")),
        Err(_) => text.contains(" ^\"") || text.lines().any(|line| line.trim_end().ends_with(" ^")),
    };
    if is_for_windows {
        return refuse(
            "this is a command for the Windows command prompt; copy it from the browser as cURL (bash) or cURL (POSIX)",
        );
    }
    read
}

fn bash_words(text: &str) -> Result<Vec<Vec<u8>>, ImportError> {
    let mut reader = Reader {
        rest: text.chars().peekable(),
        word: None,
        words: Vec::new(),
    };
    while let Some(c) = reader.rest.next() {
        reader.unquoted(c)?;
    }
    reader.end_word();
    Ok(reader.words)
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    /// The word so far, if one has begun: `''` is an empty word.
    word: Option<Vec<u8>>,
    words: Vec<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    Single,
    Double,
    /// `$'…'`, with the escapes of C.
    AnsiC,
}

impl Reader<'_> {
    fn push(&mut self, c: char) {
        let mut buffer = [0; 4];
        self.bytes(c.encode_utf8(&mut buffer).as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.word
            .get_or_insert_with(Vec::new)
            .extend_from_slice(bytes);
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn unquoted(&mut self, c: char) -> Result<(), ImportError> {
        match c {
            ' ' | '\t' | '\n' | '\r' => self.end_word(),
            '\\' => self.escaped(),
            '\'' => self.quoted(Quote::Single)?,
            '"' => self.quoted(Quote::Double)?,
            '$' => match self.rest.peek() {
                Some('\'') => {
                    self.rest.next();
                    self.quoted(Quote::AnsiC)?;
                }
                // A translated text, which has no translation here.
                Some('"') => {}
                _ => self.dollar()?,
            },
            '`' => return Err(expansion("`")),
            '|' | '&' | ';' | '<' | '>' | '(' | ')' => {
                return refuse(format!(
                    "`{c}` is for the shell; give only the curl command, or quote it"
                ));
            }
            '#' if self.word.is_none() => while self.rest.next_if(|c| *c != '\n').is_some() {},
            c => self.push(c),
        }
        Ok(())
    }

    /// Behind a backslash outside of quotes.
    fn escaped(&mut self) {
        match self.rest.next() {
            Some('\r') if self.rest.peek() == Some(&'\n') => {
                self.rest.next();
            }
            Some('\n') | None => {}
            Some(c) => self.push(c),
        }
    }

    /// Behind an opening quote.
    fn quoted(&mut self, kind: Quote) -> Result<(), ImportError> {
        let quote = if kind == Quote::Double { '"' } else { '\'' };
        self.bytes(b"");
        loop {
            let next = self.rest.next().ok_or_else(|| unclosed(quote))?;
            match (next, kind) {
                (c, _) if c == quote => return Ok(()),
                ('\\', Quote::Double) => self.escaped_in_double()?,
                ('\\', Quote::AnsiC) => self.ansi_c_escape()?,
                ('$', Quote::Double) => self.dollar()?,
                ('`', Quote::Double) => return Err(expansion("`")),
                (c, _) => self.push(c),
            }
        }
    }

    fn escaped_in_double(&mut self) -> Result<(), ImportError> {
        match self.rest.next().ok_or_else(|| unclosed('"'))? {
            c @ ('$' | '`' | '"' | '\\') => self.push(c),
            '\n' => {}
            c => {
                self.push('\\');
                self.push(c);
            }
        }
        Ok(())
    }

    /// A dollar sign, which must not begin the name of a variable.
    fn dollar(&mut self) -> Result<(), ImportError> {
        let next = self.rest.peek().copied();
        let expands = |c: char| c.is_ascii_alphanumeric() || "_{(@*#?$!-".contains(c);
        if !next.is_some_and(expands) {
            self.push('$');
            return Ok(());
        }
        let mut name = String::from("$");
        name.extend(self.rest.next());
        while let Some(c) = self
            .rest
            .next_if(|c| c.is_ascii_alphanumeric() || *c == '_')
        {
            name.push(c);
        }
        Err(expansion(&name))
    }

    fn ansi_c_escape(&mut self) -> Result<(), ImportError> {
        let Some(c) = self.rest.next() else {
            return Err(unclosed('\''));
        };
        let byte = match c {
            'a' => 7,
            'b' => 8,
            'e' | 'E' => 27,
            'f' => 12,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 11,
            '\\' | '\'' | '"' | '?' => c as u8,
            'x' => match self.digits(16, 2, "") {
                Some(value) => value as u8,
                None => return Err(no_character("\\x")),
            },
            '0'..='7' => {
                let mut first = [0; 4];
                let value = self.digits(8, 2, c.encode_utf8(&mut first));
                value.unwrap_or_default() as u8
            }
            'c' => match self.rest.next() {
                Some(c) if c.is_ascii() => c.to_ascii_uppercase() as u8 ^ 64,
                _ => return Err(no_character("\\c")),
            },
            'u' => return self.unicode(4),
            'U' => return self.unicode(8),
            other => {
                self.push('\\');
                self.push(other);
                return Ok(());
            }
        };
        self.bytes(&[byte]);
        Ok(())
    }

    /// Up to `most` digits behind those of `first`.
    fn digits(&mut self, radix: u32, most: usize, first: &str) -> Option<u32> {
        let mut digits = first.to_owned();
        for _ in 0..most {
            digits.extend(self.rest.next_if(|c| c.is_digit(radix)));
        }
        u32::from_str_radix(&digits, radix).ok()
    }

    fn unicode(&mut self, most: usize) -> Result<(), ImportError> {
        let wrong = |value| no_character(&format!("\\u{value:x}"));
        let value = self.digits(16, most, "").ok_or_else(|| wrong(0))?;
        // Browsers write a character beyond 0xffff as two surrogates.
        let value = match value {
            0xd800..0xdc00 => {
                let is_pair = self.rest.next() == Some('\\') && self.rest.next() == Some('u');
                let low = self.digits(16, 4, "").filter(|_| is_pair);
                match low {
                    Some(low @ 0xdc00..0xe000) => {
                        0x10000 + ((value - 0xd800) << 10) + (low - 0xdc00)
                    }
                    _ => return Err(wrong(value)),
                }
            }
            value => value,
        };
        let c = char::from_u32(value).ok_or_else(|| wrong(value))?;
        self.push(c);
        Ok(())
    }
}

fn unclosed(quote: char) -> ImportError {
    format!("the quote {quote} is not closed; is the command complete?").into()
}

fn expansion(text: &str) -> ImportError {
    format!(
        "`{text}` is for the shell, which Prony does not run; write the value itself, or quote it with '…'"
    )
    .into()
}

fn no_character(escape: &str) -> ImportError {
    format!("`{escape}` is not a character").into()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use prony_testkit::table::rows;
    use proptest::prelude::*;

    use super::*;

    fn texts(text: &str) -> Result<Vec<String>, ImportError> {
        let words = words(text)?;
        let text = |word| String::from_utf8(word).expect("a text");
        Ok(words.into_iter().map(text).collect())
    }

    #[test]
    fn words_are_those_of_bash() {
        for (text, expected) in [
            ("a  b\tc\nd", &["a", "b", "c", "d"][..]),
            ("a\\\n  b \\\r\n c", &["a", "b", "c"]),
            ("'a b'\"c d\"e\\ f", &["a bc de f"]),
            ("'' \"\" a''", &["", "", "a"]),
            (r#"'\n"' "\n\"\\\$'""#, &["\\n\"", "\\n\"\\$'"]),
            (
                r#"$'\'\"\\\n\t\x41\101\u00e9\u0021\q'"#,
                &["'\"\\\n\tAAé!\\q"],
            ),
            (r"$'\ud83d\ude00\U0001f600'", &["😀😀"]),
            (
                "a$ \"$\" $\"a\" a#b # a comment\nc",
                &["a$", "$", "a", "a#b", "c"],
            ),
            ("", &[]),
        ] {
            let expected = expected.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(texts(text), Ok(expected), "{text}");
        }
        assert_eq!(words(r"$'\xff\377a'"), Ok(vec![b"\xff\xffa".to_vec()]));
    }

    #[test]
    fn what_only_a_shell_can_read_is_refused() {
        for [text, message] in rows(
            r#"
            a 'b | the quote ' is not closed
            a "b | the quote " is not closed
            a $'b | the quote ' is not closed
            a $'\\ | the quote ' is not closed
            a $TOKEN_1/b | `$TOKEN_1` is for the shell
            a "${x}" | `${x` is for the shell
            a $(b) | `$(b` is for the shell
            a `b` | is for the shell
            a |jq | `|` is for the shell; give only the curl command
            a > b | `>` is for the shell
            a $'\\ud800b' | `\\ud800` is not a character
            a $'\\U00110000' | `\\u110000` is not a character
            curl ^"http://a^" -H ^"b: ^\\^"c^" | Windows command prompt
            curl ^"http://a^" | Windows command prompt
            curl "http://a" ^\r\n  -H "b" | Windows command prompt
        "#,
        ) {
            let error = texts(text).map_err(|error| error.to_string());
            let error = error.expect_err("not words");
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    /// Pieces of words without what starts a command, expands or redirects.
    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            " ", "\n", "\t", "'", "\"", "\\", "$'", "$\"", "a", "é", "#", "=", "%", "\\n", "\\x41",
            "\\xe9", "\\u00e9", "\\U1f600", "\\101", "\\cA", "\\'", "\\\"", "\\\\", "\\\n",
        ]);
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn bash_reads_the_same_words(text in pieces()) {
            let Ok(own) = words(&text) else { return Ok(()) };
            // Line feeds separate the words of an array, too.
            let script = format!("words=(first {text}\n)\nprintf '%s\\0' \"${{words[@]}}\"");
            // Without bash there is nothing to compare with.
            let Ok(output) = Command::new("bash").args(["-c", &script]).env("LC_ALL", "C.UTF-8").output() else {
                return Ok(());
            };
            let mut read: Vec<_> = output.stdout.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
            read.pop();
            let mut expected = vec![b"first".to_vec()];
            expected.extend(own);
            prop_assert_eq!(read, expected, "{}", script);
        }
    }
}
