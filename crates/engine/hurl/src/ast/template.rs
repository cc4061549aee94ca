//! Texts with placeholders.

use crate::position::Position;

/// A text in which `{{name}}` stands for the value of a variable.
#[derive(Clone, Debug)]
pub struct Template {
    pub elements: Vec<TemplateElement>,
    /// Where it is, with its quotes.
    pub position: Position,
}

impl Template {
    /// The text, if there is no placeholder in it.
    pub fn literal(&self) -> Option<&str> {
        match self.elements.as_slice() {
            [] => Some(""),
            [TemplateElement::Text(text)] => Some(text),
            _ => None,
        }
    }

    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.elements.iter().filter_map(|element| match element {
            TemplateElement::Text(_) => None,
            TemplateElement::Placeholder(placeholder) => Some(placeholder),
        })
    }
}

#[derive(Clone, Debug)]
pub enum TemplateElement {
    /// A text, without escapes.
    Text(String),
    Placeholder(Placeholder),
}

/// The content of `{{` and `}}`.
#[derive(Clone, Debug)]
pub struct Placeholder {
    pub expression: Expression,
    pub position: Position,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    Variable(String),
    NewDate,
    NewUuid,
}
