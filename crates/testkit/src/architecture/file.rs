//! What the text of one file says: its modules, what they import and export, and the paths that they name.

use std::collections::BTreeSet;

use crate::architecture::tokens::{Token, tokens};

/// A module of a file: the file itself, or `mod name { … }` in it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Section {
    /// Where it is in its file: nothing for the file itself.
    pub(crate) path: Vec<String>,
    /// Modules in files of their own: `mod name;`.
    pub(crate) children: Vec<String>,
    pub(crate) imports: Vec<Import>,
    /// Paths before `::*`.
    pub(crate) globs: Vec<Named>,
    pub(crate) defines: BTreeSet<String>,
    /// Paths other than those of imports.
    pub(crate) paths: Vec<Named>,
    /// All words outside of imports, but for names of fields.
    pub(crate) words: BTreeSet<String>,
}

#[derive(Debug, PartialEq)]
pub(super) struct Import {
    pub(crate) named: Named,
    pub(crate) is_public: bool,
    pub(crate) name: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Named {
    pub(crate) path: Vec<String>,
    pub(crate) line: usize,
}

/// The modules of a file, the file itself first. What only tests compile is left out.
pub(super) fn sections(source: &str) -> Vec<Section> {
    let mut parser = Parser {
        tokens: tokens(source),
        at: 0,
        sections: vec![Section::default()],
        open: vec![Open {
            section: 0,
            depth: 0,
        }],
        depth: 0,
    };
    while parser.at < parser.tokens.len() {
        parser.step();
    }
    parser.sections
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    sections: Vec<Section>,
    /// The modules around the next token.
    open: Vec<Open>,
    /// Of braces.
    depth: usize,
}

struct Open {
    section: usize,
    /// That of its content.
    depth: usize,
}

const BEFORE_NAMES: [&str; 9] = [
    "struct",
    "enum",
    "union",
    "fn",
    "trait",
    "type",
    "const",
    "static",
    "macro_rules",
];

impl<'a> Parser<'a> {
    fn step(&mut self) {
        match self.word(0) {
            "{" => {
                self.depth += 1;
                self.at += 1;
            }
            "}" => {
                self.depth = self.depth.saturating_sub(1);
                if self.open.len() > 1
                    && self.open.last().is_some_and(|open| open.depth > self.depth)
                {
                    self.open.pop();
                }
                self.at += 1;
            }
            "#" => self.attribute(),
            "mod" => self.module(),
            "use" => self.import(),
            _ => self.words(),
        }
    }

    /// The text of a token from here, or nothing at the end.
    fn word(&self, ahead: usize) -> &'a str {
        self.tokens
            .get(self.at + ahead)
            .map_or("", |token| token.text)
    }

    fn section(&mut self) -> &mut Section {
        let open = self.open.last().map_or(0, |open| open.section);
        &mut self.sections[open]
    }

    fn attribute(&mut self) {
        let test = ["#", "[", "cfg", "(", "test", ")", "]"];
        let test_and_more = ["#", "[", "cfg", "(", "all", "(", "test", ","];
        let begins_with = |words: &[&str]| {
            words
                .iter()
                .enumerate()
                .all(|(ahead, word)| self.word(ahead) == *word)
        };
        if begins_with(&test)
            || begins_with(&test_and_more)
            || begins_with(&["#", "[", "test", "]"])
        {
            self.skip_attributes();
            self.skip_item();
        } else {
            self.at += 1;
        }
    }

    fn skip_attributes(&mut self) {
        while self.word(0) == "#" {
            self.at += 1;
            self.skip_brackets();
        }
    }

    /// Skips an item, a field, a variant or a statement.
    fn skip_item(&mut self) {
        let is_item = matches!(
            self.word(usize::from(self.word(0) == "pub")),
            "(" | "fn"
                | "impl"
                | "mod"
                | "use"
                | "struct"
                | "enum"
                | "trait"
                | "type"
                | "const"
                | "static"
                | "unsafe"
        );
        loop {
            match self.word(0) {
                "(" | "[" => self.skip_brackets(),
                "{" => return self.skip_brackets(),
                "}" | "" => return,
                ";" => return self.at += 1,
                "," if !is_item => return self.at += 1,
                _ => self.at += 1,
            }
        }
    }

    fn skip_brackets(&mut self) {
        let mut depth = 0_usize;
        loop {
            match self.word(0) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                "" => return,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }

    fn module(&mut self) {
        let name = self.word(1).to_owned();
        match self.word(2) {
            ";" => self.section().children.push(name),
            "{" => {
                let mut path = self.section().path.clone();
                path.push(name);
                self.depth += 1;
                self.open.push(Open {
                    section: self.sections.len(),
                    depth: self.depth,
                });
                self.sections.push(Section {
                    path,
                    ..Section::default()
                });
            }
            _ => return self.words(),
        }
        self.at += 3;
    }

    fn import(&mut self) {
        let is_public = matches!(
            self.tokens[..self.at].last().map(|token| token.text),
            Some("pub" | ")")
        );
        self.at += 1;
        // `use<'a>` after `impl` imports nothing.
        if self.word(0) != "<" {
            self.tree(&[], is_public);
        }
    }

    /// A path, or paths in braces, after `above`.
    fn tree(&mut self, above: &[String], is_public: bool) {
        let mut path = above.to_vec();
        loop {
            let Some(token) = self.tokens.get(self.at).copied() else {
                return;
            };
            self.at += 1;
            match token.text {
                "::" => {}
                "*" => {
                    return self.section().globs.push(Named {
                        path,
                        line: token.line,
                    });
                }
                "{" => {
                    while !matches!(self.word(0), "}" | "") {
                        self.tree(&path, is_public);
                        if self.word(0) == "," {
                            self.at += 1;
                        }
                    }
                    return self.at += 1;
                }
                word => {
                    let is_self = word == "self" && !path.is_empty();
                    if !is_self {
                        path.push(word.to_owned());
                    }
                    if self.word(0) != "::" {
                        let name = self
                            .alias()
                            .unwrap_or_else(|| path.last().cloned().unwrap_or_default());
                        let named = Named {
                            path,
                            line: token.line,
                        };
                        return self.section().imports.push(Import {
                            named,
                            is_public,
                            name,
                        });
                    }
                }
            }
        }
    }

    fn alias(&mut self) -> Option<String> {
        if self.word(0) != "as" {
            return None;
        }
        let name = self.word(1).to_owned();
        self.at += 2;
        Some(name)
    }

    /// Whether the word that was just read names a field, after the token `before`.
    fn is_field(&self, before: &str) -> bool {
        before == "." || self.word(0) == ":"
    }

    /// A word or a path of words, or a sign.
    fn words(&mut self) {
        let first = self.tokens[self.at];
        let before = self.tokens[..self.at].last().map_or("", |token| token.text);
        self.at += 1;
        if !first.is_word() {
            return;
        }
        let word = first.text.to_owned();
        if BEFORE_NAMES.contains(&before)
            || (before == "!" && self.at > 2 && self.tokens[self.at - 3].text == "macro_rules")
        {
            self.section().defines.insert(word.clone());
        } else if !self.is_field(before) {
            self.section().words.insert(word.clone());
        }
        let mut path = vec![word];
        while self.word(0) == "::" && self.tokens.get(self.at + 1).is_some_and(Token::is_word) {
            path.push(self.word(1).to_owned());
            self.at += 2;
        }
        if path.len() > 1 && before != "::" {
            self.section().paths.push(Named {
                path,
                line: first.line,
            });
        }
    }
}
