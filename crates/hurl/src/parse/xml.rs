//! XML documents, of which Hurl only needs to know where they end.

use std::collections::HashSet;

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
            let target_end = instruction
                .find(is_white_space)
                .unwrap_or(instruction.len());
            let (target, content) = instruction.split_at(target_end);
            let is_instruction = is_name(target) && !target.eq_ignore_ascii_case("xml");
            (is_instruction || is_first && target == "xml" && is_declaration(content))
                .then_some(())?;
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
            // Quotes and brackets in comments and instructions mean nothing.
            if self.skip("<!--") {
                self.until("-->")?;
                continue;
            }
            if self.skip("<?") {
                self.until("?>")?;
                continue;
            }
            match self.read()? {
                '[' => is_inside = true,
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
        (is_name(name) && Self::are_attributes(attributes)).then_some(())?;
        if !is_empty {
            self.open.push(name);
        }
        Some(self.open.is_empty())
    }

    /// What is between `<` and `>`, which may be in the value of an attribute.
    fn tag(&mut self) -> Option<&'a str> {
        let start = self.reader.cursor();
        let mut before = ' ';
        loop {
            match self.reader.peek()? {
                '>' => break,
                quote @ ('"' | '\'') if before == '=' => {
                    self.read();
                    while self.read()? != quote {}
                    before = quote;
                }
                character => {
                    self.read();
                    if !is_white_space(character) {
                        before = character;
                    }
                }
            }
        }
        let tag = self.reader.since(start);
        self.read();
        Some(tag)
    }

    /// Whether a text is a list of different attributes, each behind white space.
    fn are_attributes(text: &str) -> bool {
        let mut names = HashSet::new();
        let mut rest = text;
        loop {
            let trimmed = rest.trim_start_matches(is_white_space);
            if trimmed.is_empty() {
                return true;
            }
            let Some(Attribute {
                name,
                value,
                behind,
            }) = attribute(trimmed)
            else {
                return false;
            };
            let is_separate = trimmed.len() < rest.len();
            if !is_separate
                || !names.insert(name)
                || value.contains('<')
                || !value.chars().all(is_character)
                || !are_references(value)
            {
                return false;
            }
            rest = behind;
        }
    }

    fn text(&mut self) -> Option<()> {
        let start = self.reader.cursor();
        while self.reader.peek()? != '<' {
            let character = self.read()?;
            let is_allowed =
                is_character(character) && (is_white_space(character) || !self.open.is_empty());
            is_allowed.then_some(())?;
            if character == '&' {
                let reference = self.until(";")?;
                is_reference(reference).then_some(())?;
            }
            (!self.reader.since(start).ends_with("]]>")).then_some(())?;
        }
        Some(())
    }
}

fn are_references(text: &str) -> bool {
    text.split('&').skip(1).all(|part| {
        part.split_once(';')
            .is_some_and(|(reference, _)| is_reference(reference))
    })
}

/// Whether a text is what stands between `&` and `;`. The document declares no entities of its own.
fn is_reference(text: &str) -> bool {
    let number = match text.strip_prefix('#') {
        Some(digits) => match digits.strip_prefix('x') {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => digits.parse().ok(),
        },
        None => return matches!(text, "lt" | "gt" | "amp" | "quot" | "apos"),
    };
    number.and_then(char::from_u32).is_some_and(is_character)
}

/// Whether a character may be in a document.
fn is_character(character: char) -> bool {
    is_white_space(character) || character >= ' ' && !matches!(character, '\u{fffe}' | '\u{ffff}')
}

/// Whether a text is what follows `<?xml`: a version, then maybe an encoding, then maybe `standalone`.
fn is_declaration(text: &str) -> bool {
    let mut allowed = ["version", "encoding", "standalone"].iter();
    let mut rest = text;
    let mut is_first = true;
    while !rest.trim_start_matches(is_white_space).is_empty() {
        let trimmed = rest.trim_start_matches(is_white_space);
        let Some(Attribute {
            name,
            value,
            behind,
        }) = attribute(trimmed)
        else {
            return false;
        };
        let is_known = match name {
            "version" => value
                .strip_prefix("1.")
                .is_some_and(|minor| minor.bytes().all(|byte| byte.is_ascii_digit())),
            "encoding" => is_encoding(value),
            "standalone" => matches!(value, "yes" | "no"),
            _ => false,
        };
        let is_in_order =
            allowed.any(|allowed| *allowed == name) && (name == "version") == is_first;
        if trimmed.len() == rest.len() || !is_known || !is_in_order {
            return false;
        }
        is_first = false;
        rest = behind;
    }
    !is_first
}

/// Whether a text is the name of an encoding that a document in UTF-8 may claim to have.
fn is_encoding(name: &str) -> bool {
    let known = [
        "utf-8",
        "utf8",
        "us-ascii",
        "ascii",
        "iso-8859-1",
        "iso-latin-1",
        "latin1",
        "iso-8859-15",
        "windows-1252",
    ];
    known.contains(&name.to_ascii_lowercase().as_str())
}

struct Attribute<'a> {
    name: &'a str,
    value: &'a str,
    /// What follows it.
    behind: &'a str,
}

/// The first attribute.
fn attribute(text: &str) -> Option<Attribute<'_>> {
    let (name, rest) = text.split_once('=')?;
    let name = name.trim_end_matches(is_white_space);
    is_name(name).then_some(())?;
    let rest = rest.trim_start_matches(is_white_space);
    let quote = rest
        .chars()
        .next()
        .filter(|quote| matches!(quote, '"' | '\''))?;
    let (value, behind) = rest[1..].split_once(quote)?;
    Some(Attribute {
        name,
        value,
        behind,
    })
}

fn is_white_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

fn is_name(text: &str) -> bool {
    let is_start = |character: char| character.is_alphabetic() || matches!(character, '_' | ':');
    let is_part = |character: char| {
        is_start(character)
            || character.is_numeric()
            || matches!(character, '-' | '.' | '·' | '\u{300}'..='\u{36f}')
    };
    text.starts_with(is_start) && text.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Option<String> {
        parse(&mut Reader::new(text)).ok()
    }

    #[test]
    fn a_document_ends_with_its_root_element() {
        let whole = [
            "<a/>",
            "<a b='>' c=\"'\"></a >",
            "<?xml version=\"1.0\" encoding='utf-8'?>\n<!-- c --><!DOCTYPE a [<!ENTITY e \"v\">]><a><b/>&lt;&#65;</a>",
            "<a><![CDATA[ <>& ]]> x > y<?pi ?></a>",
            "<!DOCTYPE a [<!-- it's ] --><?pi \"]> ?><!ENTITY e ']>'>]><a/>",
        ];
        for text in whole {
            assert_eq!(
                document(&format!("{text}\nHTTP 200")).as_deref(),
                Some(text)
            );
        }
    }

    #[test]
    fn many_attributes_and_elements_take_linear_time() {
        let attributes: String = (0..100_000)
            .map(|number| format!(" a{number}='{number}'"))
            .collect();
        let elements = "<b>".repeat(100_000) + &"</b>".repeat(100_000);
        let text = format!("<a{attributes}>{elements}</a>");
        assert_eq!(document(&text).as_deref(), Some(text.as_str()));
    }

    #[test]
    fn a_document_that_is_not_well_formed_is_refused() {
        let broken = [
            "<a>",
            "<a></b>",
            "<a",
            "<1/>",
            "<a b=1/>",
            "<a b/>",
            "<a b='1' b='2'/>",
            "<a b='1'c='2'/>",
            "<a>&x;</a>",
            "<a>& </a>",
            "<a>]]></a>",
            "<a><!-- -- --></a>",
            "</a>",
            "<!-- c -->x<a/>",
            "<?xml encoding='utf-8'?><a/>",
            "<a><?xml version='1.0'?></a>",
            "<a>\u{1}</a>",
        ];
        for text in broken {
            assert_eq!(document(text), None, "{text}");
        }
    }
}
