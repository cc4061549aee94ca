//! The values that options give to variables, as far as they are known before the load.

use std::collections::HashMap;

use prony_hurl::ast::{
    Entry, EntryOption, Expression, OptionValue, Placeholder, Template, VariableDefinition,
    VariableValue,
};
use prony_hurl::evaluate::Value;

use crate::constants::{Constants, put_into};

/// What the options `variable` of the entries up to one set, if no capture may have changed it since.
pub(crate) struct OptionValues<'a> {
    constants: &'a Constants<'a>,
    texts: HashMap<String, String>,
}

impl<'a> OptionValues<'a> {
    pub(crate) fn new(constants: &'a Constants<'a>) -> Self {
        Self {
            constants,
            texts: HashMap::new(),
        }
    }

    /// Goes on to the request of the next entry.
    pub(crate) fn request(&mut self, entry: &Entry) {
        for EntryOption { value, .. } in &entry.request.options {
            let OptionValue::Variable(VariableDefinition { name, value }) = value else {
                continue;
            };
            match self.text_of(value) {
                Some(text) => drop(self.texts.insert(name.clone(), text)),
                None => drop(self.texts.remove(name)),
            }
        }
    }

    /// Goes on to the response of that entry.
    pub(crate) fn response(&mut self, entry: &Entry) {
        for capture in entry.response.iter().flat_map(|it| &it.captures) {
            match capture.name.literal() {
                Some(name) => drop(self.texts.remove(name)),
                // It may set any variable.
                None => self.texts.clear(),
            }
        }
    }

    pub(crate) fn put_into(&self, template: &Template) -> Template {
        let mut template = template.clone();
        put_into(&mut template, |placeholder| self.text(placeholder));
        template
    }

    fn text(&self, placeholder: &Placeholder) -> Option<String> {
        let Expression::Variable(name) = &placeholder.expression else {
            return None;
        };
        let text = self.texts.get(name).cloned();
        text.or_else(|| self.constants.text(placeholder))
    }

    fn text_of(&self, value: &VariableValue) -> Option<String> {
        match value {
            VariableValue::Text(template) => self.put_into(template).literal().map(str::to_owned),
            VariableValue::Number(number) => Value::Number(number.clone()).rendered(),
            VariableValue::Null | VariableValue::Bool(_) => None,
        }
    }
}
