//! Texts that match a pattern.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

/// How many steps the texts of one sample may take: repetitions may be nested.
const MOST_STEPS: usize = 1_000_000;

/// How deep a pattern may be nested.
const MOST_NESTING: u32 = 64;

/// The characters that are taken of a class, if it has one of them.
const PREFERRED: [char; 8] = ['a', 'A', '0', '-', '_', '.', ' ', '/'];

pub(super) struct Matching {
    left: usize,
}

impl Default for Matching {
    fn default() -> Self {
        Self { left: MOST_STEPS }
    }
}

impl Matching {
    /// A short text that matches the pattern, of `least` to `most` characters, if there is a simple one.
    pub(super) fn text(&mut self, pattern: &str, least: usize, most: usize) -> Option<String> {
        let mut parser = ParserBuilder::new().nest_limit(MOST_NESTING).build();
        let pattern = parser.parse(pattern).ok()?;
        let mut before = None;
        for more in 0..=most {
            let mut text = String::new();
            self.add(&pattern, more, most, &mut text)?;
            let length = text.chars().count();
            if length >= least {
                return Some(text);
            }
            if before == Some(length) {
                return None;
            }
            before = Some(length);
        }
        None
    }

    /// Adds what matches, with `more` repetitions than there must be; `None` if it is too long.
    fn add(&mut self, pattern: &Hir, more: usize, most: usize, text: &mut String) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        if text.len() > most.saturating_mul(char::MAX.len_utf8()) {
            return None;
        }
        match pattern.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => text.push_str(str::from_utf8(&literal.0).ok()?),
            HirKind::Class(class) => text.push(one_of(class)?),
            HirKind::Capture(capture) => self.add(&capture.sub, more, most, text)?,
            HirKind::Alternation(choices) => self.add(choices.first()?, more, most, text)?,
            HirKind::Concat(parts) => {
                for part in parts {
                    self.add(part, more, most, text)?;
                }
            }
            HirKind::Repetition(repetition) => {
                let least = repetition.min as usize;
                let count = (least + more).min(repetition.max.unwrap_or(u32::MAX) as usize);
                for _ in 0..count {
                    self.add(&repetition.sub, more, most, text)?;
                }
            }
        }
        Some(())
    }
}

fn one_of(class: &Class) -> Option<char> {
    let Class::Unicode(class) = class else {
        return None;
    };
    let ranges = class.ranges();
    let has = |c: &char| ranges.iter().any(|it| (it.start()..=it.end()).contains(c));
    let preferred = PREFERRED.into_iter().find(has);
    preferred.or_else(|| Some(ranges.first()?.start()))
}

#[cfg(test)]
mod tests {
    use prony_testkit::table::rows;

    use super::*;

    #[test]
    fn a_text_matches_its_pattern() {
        for [pattern, least, most, expected] in rows(
            r"
            ^[A-Z]{3}$ | 0 | 9 | AAA
            ^\\+?[1-9]\\d{1,14}$ | 5 | 9 | +1000
            ^(foo|bar)-\\w+$ | 0 | 9 | foo-a
            ^[^a-zA-Z]+$ | 2 | 9 | 00
            ab | 0 | 9 | ab
            ^a$ | 2 | 9 | none
            ^(?=a)b$ | 0 | 9 | none
            ^[ | 0 | 9 | none
            ^a{1000}$ | 0 | 9 | none
            ^((((a?){999}){999}){999}){999}$ | 5 | 9 | none
            ",
        ) {
            let (least, most) = (least.parse().unwrap(), most.parse().unwrap());
            let text = Matching::default().text(pattern, least, most);
            assert_eq!(text.as_deref().unwrap_or("none"), expected, "{pattern}");
        }
    }
}
