//! Text that stays within its line, with or without colour.

/// What may be coloured.
#[derive(Clone, Copy)]
pub(super) struct Paint {
    pub colour: bool,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        match self.colour {
            true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }
    pub fn bold(self, text: &str) -> String {
        self.with("1", text)
    }
    pub fn dim(self, text: &str) -> String {
        self.with("2", text)
    }
    pub fn warn(self, text: &str) -> String {
        self.with("33", text)
    }
    pub fn bad(self, text: &str) -> String {
        self.with("31", text)
    }
}

/// The first line, which says what happened, and the last one that says something: of what a program
/// printed that is often where the error is.
pub(super) fn ends(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let Some(first) = lines.next() else {
        return String::new();
    };
    let rest = lines.clone().count();
    match (lines.next_back(), rest) {
        (None, _) => first.to_owned(),
        (Some(last), 1) => format!("{first} {last}"),
        (Some(last), _) => format!("{first} … {last}"),
    }
}

/// The text in at most as many letters.
pub(super) fn cut(text: &str, letters: usize) -> String {
    let clean = text.chars().map(visible);
    match text.chars().count() > letters {
        true => clean.take(letters - 1).chain(['…']).collect(),
        false => clean.collect(),
    }
}

/// Control characters in a name or message would move the cursor.
fn visible(c: char) -> char {
    if c.is_control() { '�' } else { c }
}

/// The text in lines of at most `width` letters, broken at spaces where there are any.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line: Vec<char> = Vec::new();
    for word in text.split_whitespace() {
        let word: Vec<char> = word.chars().map(visible).collect();
        for (i, piece) in word.chunks(width).enumerate() {
            let fits = i == 0 && line.len() + 1 + piece.len() <= width;
            if !line.is_empty() {
                match fits {
                    true => line.push(' '),
                    false => lines.push(line.drain(..).collect()),
                }
            }
            line.extend(piece);
        }
    }
    lines.push(line.into_iter().collect());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_words_and_control_characters_stay_within_the_line() {
        assert_eq!(wrapped("a bc defghij k", 4), ["a bc", "defg", "hij", "k"]);
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("a\u{1b}[2J", 9), "a�[2J");
    }
}
