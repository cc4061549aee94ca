//! Puts the values that never change into the templates of requests, once and for all.

use std::collections::HashSet;

use prony_hurl::ast::{
    Body, BodyValue, Capture, Entry, EntryOption, Expression, FilenameParam, HurlFile, Json,
    JsonPiece, KeyValue, Multiline, MultipartParam, OptionValue, Placeholder, Request, Template,
    TemplateElement,
};
use prony_hurl::evaluate::Variables;

/// The variables that have one value in all flows.
pub(crate) struct Constants<'a> {
    variables: &'a Variables,
    /// Those that a capture, an option or a source of values sets.
    changing: HashSet<String>,
    /// Whether a capture has a name that only the flow knows, so that it may set any variable.
    any_may_change: bool,
}

impl<'a> Constants<'a> {
    /// Those of a file. `sources` are the variables that each flow sets at its begin.
    pub(crate) fn of(
        file: &HurlFile,
        variables: &'a Variables,
        sources: impl Iterator<Item = &'a str>,
    ) -> Self {
        let mut changing: HashSet<String> = sources.map(str::to_owned).collect();
        let mut any_may_change = false;
        for entry in &file.entries {
            for Capture { name, .. } in entry.response.iter().flat_map(|it| &it.captures) {
                match name.literal() {
                    Some(name) => drop(changing.insert(name.to_owned())),
                    None => any_may_change = true,
                }
            }
            for EntryOption { value, .. } in &entry.request.options {
                if let OptionValue::Variable(definition) = value {
                    changing.insert(definition.name.clone());
                }
            }
        }
        Self {
            variables,
            changing,
            any_may_change,
        }
    }

    /// The text of a placeholder, if it is always the same.
    pub(crate) fn text(&self, placeholder: &Placeholder) -> Option<String> {
        let Expression::Variable(name) = &placeholder.expression else {
            return None;
        };
        if self.any_may_change || self.changing.contains(name) {
            return None;
        }
        self.variables.get(name)?.value.rendered()
    }

    /// Puts them into the request of an entry, and returns whether that is always the same then.
    pub(crate) fn put_into(&self, entry: &mut Entry) -> bool {
        let Request {
            url,
            headers,
            query,
            form,
            multipart,
            cookies,
            basic_auth,
            options,
            body,
            ..
        } = &mut entry.request;
        let mut is_constant = self.put_into_template(url);
        let pairs = [headers, query, form, cookies].into_iter().flatten();
        for KeyValue { key, value } in pairs.chain(basic_auth) {
            is_constant &= self.put_into_template(key) & self.put_into_template(value);
        }
        for part in multipart {
            is_constant &= self.put_into_part(part);
        }
        for option in options {
            if let OptionValue::Text(_, template) = &mut option.value {
                is_constant &= self.put_into_template(template);
            }
        }
        if let Some(Body { value, .. }) = body {
            is_constant &= self.put_into_body(value);
        }
        is_constant
    }

    fn put_into_part(&self, part: &mut MultipartParam) -> bool {
        match part {
            MultipartParam::Value(KeyValue { key, value }) => {
                self.put_into_template(key) & self.put_into_template(value)
            }
            MultipartParam::File(FilenameParam {
                key,
                file,
                content_type,
            }) => {
                let templates = [key, file].into_iter().chain(content_type);
                let constant: Vec<bool> = templates.map(|it| self.put_into_template(it)).collect();
                constant.iter().all(|&it| it)
            }
        }
    }

    fn put_into_body(&self, body: &mut BodyValue) -> bool {
        match body {
            BodyValue::Json(json) => self.put_into_json(json),
            BodyValue::Oneline(template) | BodyValue::File(template) => {
                self.put_into_template(template)
            }
            BodyValue::Multiline(
                Multiline::Text(template) | Multiline::Json(template) | Multiline::Xml(template),
            ) => self.put_into_template(template),
            BodyValue::Multiline(Multiline::GraphQl { query, variables }) => {
                let variables = variables.as_mut();
                self.put_into_template(query) & variables.is_none_or(|it| self.put_into_json(it))
            }
            BodyValue::Xml(_) | BodyValue::Bytes(_) | BodyValue::Multiline(Multiline::Raw(_)) => {
                true
            }
        }
    }

    fn put_into_template(&self, template: &mut Template) -> bool {
        put_into(template, |placeholder| self.text(placeholder));
        template.placeholders().next().is_none()
    }

    /// Within strings of JSON, and for values, evaluation has its own rules: only whether all is constant matters.
    fn put_into_json(&self, json: &mut Json) -> bool {
        json.pieces.iter().all(|piece| match piece {
            JsonPiece::Text(_) => true,
            JsonPiece::InString(placeholder) | JsonPiece::Value(placeholder) => {
                self.text(placeholder).is_some()
            }
        })
    }
}

/// Puts the texts of placeholders into a template, as far as they are known.
pub(crate) fn put_into(template: &mut Template, text: impl Fn(&Placeholder) -> Option<String>) {
    let mut elements: Vec<TemplateElement> = Vec::with_capacity(template.elements.len());
    for element in template.elements.drain(..) {
        let text = match element {
            TemplateElement::Text(text) => text,
            TemplateElement::Placeholder(placeholder) => match text(&placeholder) {
                Some(text) => text,
                None => {
                    elements.push(TemplateElement::Placeholder(placeholder));
                    continue;
                }
            },
        };
        match elements.last_mut() {
            Some(TemplateElement::Text(before)) => before.push_str(&text),
            _ => elements.push(TemplateElement::Text(text)),
        }
    }
    template.elements = elements;
}
