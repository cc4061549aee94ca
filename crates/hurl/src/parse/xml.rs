//! XML documents, of which Hurl only needs to know where they end.

use super::combine::{Parsed, fatal, soft};
use crate::error::ParseErrorKind;
use crate::position::Position;
use crate::reader::Reader;

/// A well-formed document: its declaration, comments and its root element.
pub(super) fn parse(reader: &mut Reader<'_>) -> Parsed<String> {
    if reader.peek() != Some('<') {
        return soft(reader.position(), ParseErrorKind::Xml);
    }
    let start = reader.cursor();
    let mut scanner = Scanner {
        last: reader.position(),
        reader,
        open: Vec::new(),
        declares_entities: false,
    };
    match scanner.document() {
        Some(()) => Ok(reader.since(start).to_owned()),
        None => fatal(scanner.last, ParseErrorKind::Xml),
    }
}

/// Reads markup. A method returns nothing if the document is not well-formed.
struct Scanner<'r, 'a> {
    reader: &'r mut Reader<'a>,
    /// The last character that was read, where an error is reported.
    last: Position,
    /// The elements that are open.
    open: Vec<&'a str>,
    declares_entities: bool,
}

impl<'a> Scanner<'_, 'a> {
    fn document(&mut self) -> Option<()> {
        let mut is_first = true;
        loop {
            if self.reader.peek()? == '<' {
                if self.markup(is_first)? {
                    return Some(());
                }
            } else {
                self.text()?;
            }
            is_first = false;
        }
    }

    /// Reads up to and with `end`, which it returns without.
    fn until(&mut self, end: &str) -> Option<&'a str> {
        let start = self.reader.cursor();
        while !self.reader.rest().starts_with(end) {
            self.read()?;
        }
        let text = self.reader.since(start);
        self.skip(end);
        Some(text)
    }

    fn read(&mut self) -> Option<char> {
        let position = self.reader.position();
        let character = self.reader.read()?;
        self.last = position;
        Some(character)
    }

    fn skip(&mut self, literal: &str) -> bool {
        let is_next = self.reader.rest().starts_with(literal);
        if is_next {
            for _ in literal.chars() {
                self.read();
            }
        }
        is_next
    }

    /// Reads what begins with `<`, and says whether the root element has ended.
    fn markup(&mut self, is_first: bool) -> Option<bool> {
        if self.skip("<?") {
            let instruction = self.until("?>")?;
            let target = instruction
                .split(|character: char| character.is_ascii_whitespace())
                .next()?;
            let is_declaration = target == "xml";
            (is_name(target) && (is_first || !target.eq_ignore_ascii_case("xml"))).then_some(())?;
            if is_declaration {
                instruction.contains("version").then_some(())?;
            }
        } else if self.skip("<!--") {
            let comment = self.until("-->")?;
            (!comment.contains("--") && !comment.ends_with('-')).then_some(())?;
        } else if self.skip("<![CDATA[") {
            self.until("]]>")?;
            (!self.open.is_empty()).then_some(())?;
        } else if self.skip("<!DOCTYPE") {
            self.open.is_empty().then_some(())?;
            self.document_type()?;
        } else if self.skip("</") {
            let name = self.until(">")?.trim_end_matches(is_white_space);
            return (self.open.pop()? == name).then_some(self.open.is_empty());
        } else {
            return self.start_tag();
        }
        Some(false)
    }

    fn document_type(&mut self) -> Option<()> {
        let mut is_inside = false;
        loop {
            match self.read()? {
                '[' => {
                    is_inside = true;
                    self.declares_entities = true;
                }
                ']' => is_inside = false,
                '>' if !is_inside => return Some(()),
                quote @ ('"' | '\'') => while self.read()? != quote {},
                _ => {}
            }
        }
    }

    fn start_tag(&mut self) -> Option<bool> {
        self.skip("<");
        let tag = self.tag()?;
        let (tag, is_empty) = match tag.strip_suffix('/') {
            Some(tag) => (tag, true),
            None => (tag, false),
        };
        let name_end = tag.find(is_white_space).unwrap_or(tag.len());
        let (name, attributes) = tag.split_at(name_end);
        (is_name(name) && self.are_attributes(attributes)).then_some(())?;
        if !is_empty {
            self.open.push(name);
        }
        Some(self.open.is_empty())
    }

    /// What is between `<` and `>`, which may be in quotes.
    fn tag(&mut self) -> Option<&'a str> {
        let start = self.reader.cursor();
        loop {
            match self.reader.peek()? {
                '>' => break,
                quote @ ('"' | '\'') => {
                    self.read();
                    while self.read()? != quote {}
                }
                _ => {
                    self.read();
                }
            }
        }
        let tag = self.reader.since(start);
        self.read();
        Some(tag)
    }

    /// Whether a text is a list of different attributes, each behind white space.
    fn are_attributes(&self, text: &str) -> bool {
        let mut names: Vec<&str> = Vec::new();
        let mut rest = text;
        loop {
            let trimmed = rest.trim_start_matches(is_white_space);
            if trimmed.is_empty() {
                return true;
            }
            let Some((name, value, next)) = attribute(trimmed) else {
                return false;
            };
            let is_separate = trimmed.len() < rest.len();
            if !is_separate
                || names.contains(&name)
                || value.contains('<')
                || !self.are_references(value)
            {
                return false;
            }
            names.push(name);
            rest = next;
        }
    }

    fn text(&mut self) -> Option<()> {
        let start = self.reader.cursor();
        while self.reader.peek()? != '<' {
            if self.read()? == '&' {
                let reference = self.until(";")?;
                self.is_reference(reference).then_some(())?;
            }
        }
        let text = self.reader.since(start);
        let is_allowed = match self.open.is_empty() {
            true => text.chars().all(is_white_space),
            false => !text.contains("]]>"),
        };
        is_allowed.then_some(())
    }

    fn are_references(&self, text: &str) -> bool {
        text.split('&')
            .skip(1)
            .all(|part| match part.split_once(';') {
                Some((reference, _)) => self.is_reference(reference),
                None => false,
            })
    }

    /// Whether a text is what stands between `&` and `;`.
    fn is_reference(&self, text: &str) -> bool {
        let number = match text.strip_prefix('#') {
            Some(digits) => match digits.strip_prefix('x') {
                Some(digits) => u32::from_str_radix(digits, 16).ok(),
                None => digits.parse().ok(),
            },
            None => {
                let is_known = matches!(text, "lt" | "gt" | "amp" | "quot" | "apos");
                return is_known || self.declares_entities && is_name(text);
            }
        };
        number
            .and_then(char::from_u32)
            .is_some_and(|character| character != '\0')
    }
}

/// The name and the value of the first attribute, and what is behind it.
fn attribute(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = text.split_once('=')?;
    let name = name.trim_end_matches(is_white_space);
    is_name(name).then_some(())?;
    let rest = rest.trim_start_matches(is_white_space);
    let quote = rest
        .chars()
        .next()
        .filter(|quote| matches!(quote, '"' | '\''))?;
    let (value, next) = rest[1..].split_once(quote)?;
    Some((name, value, next))
}

fn is_white_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

fn is_name(text: &str) -> bool {
    let is_start = |character: char| character.is_alphabetic() || matches!(character, '_' | ':');
    let is_part = |character: char| {
        is_start(character) || character.is_numeric() || matches!(character, '-' | '.' | '·')
    };
    text.starts_with(is_start) && text.chars().all(is_part)
}
