//! Words of a command with placeholders in braces: `{out}/server`, `--port={port}`.

use std::fmt;

use crate::name::{did_you_mean, nearest};

pub trait Placeholder: Copy + 'static {
    /// The name between the braces: lower-case letters and underscores.
    fn name(self) -> &'static str;
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece<P> {
    Text(String),
    Value(P),
}

/// A word of a command. Values that are filled in are not searched for placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template<P>(Vec<Piece<P>>);

/// A placeholder that is not allowed where it is used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no placeholder `{{{name}}}` here{} Known are {known}", match nearest {
    Some(_) => did_you_mean(nearest),
    None => ".".to_owned(),
})]
pub struct UnknownPlaceholder {
    pub name: String,
    pub nearest: Option<String>,
    /// All placeholders that are allowed, with their braces.
    pub known: String,
}

impl<P: Placeholder> Template<P> {
    /// Parses `text`, which may contain only `allowed` placeholders. Braces around anything but a lower-case name are
    /// plain text.
    pub fn new(text: &str, allowed: &[P]) -> Result<Self, UnknownPlaceholder> {
        let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some((before, after)) = rest.split_once('{') {
            plain.push_str(before);
            rest = match after.split_once('}') {
                Some((name, after)) if is_name(name) => {
                    let value = allowed.iter().find(|one| one.name() == name);
                    let value = value.ok_or_else(|| UnknownPlaceholder::new(name, allowed))?;
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(Piece::Value(*value));
                    after
                }
                _ => {
                    plain.push('{');
                    after
                }
            };
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self(pieces))
    }

    pub fn placeholders(&self) -> impl Iterator<Item = P> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Value(value) => Some(*value),
        })
    }

    /// The word with its placeholders filled in; `None` if one has no value.
    pub fn fill(&self, value: impl Fn(P) -> Option<String>) -> Option<String> {
        let filled = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Value(placeholder) => value(*placeholder),
        });
        filled.collect()
    }

    /// The word with those placeholders filled in that already have a value.
    pub fn fill_known(&self, value: impl Fn(P) -> Option<String>) -> Self {
        let pieces = self.0.iter().map(|piece| {
            match piece {
                Piece::Value(placeholder) => value(*placeholder).map(Piece::Text),
                Piece::Text(_) => None,
            }
            .unwrap_or_else(|| piece.clone())
        });
        Self(pieces.collect())
    }
}

/// Plain text, even if it contains braces.
impl<P> From<String> for Template<P> {
    fn from(text: String) -> Self {
        Self(vec![Piece::Text(text)])
    }
}

/// The word as it was written.
impl<P: Placeholder> fmt::Display for Template<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Text(text) => f.write_str(text),
            Piece::Value(placeholder) => write!(f, "{{{}}}", placeholder.name()),
        })
    }
}

impl UnknownPlaceholder {
    fn new<P: Placeholder>(name: &str, allowed: &[P]) -> Self {
        let names = allowed.iter().map(|one| one.name());
        let known: Vec<String> = names.clone().map(|name| format!("{{{name}}}")).collect();
        Self {
            name: name.to_owned(),
            nearest: nearest(name, names),
            known: known.join(", "),
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Part {
        Url,
        Seconds,
    }

    impl Placeholder for Part {
        fn name(self) -> &'static str {
            match self {
                Part::Url => "url",
                Part::Seconds => "seconds",
            }
        }
    }

    const ALL: [Part; 2] = [Part::Url, Part::Seconds];

    fn value(part: Part) -> Option<String> {
        (part == Part::Url).then(|| "http://a/{seconds}".to_owned())
    }

    #[test]
    fn values_are_filled_in_once_and_other_braces_stay() {
        let template = Template::new("-x{url}:{ }:{\"a\":1}:{}:{url", &ALL).unwrap();
        let filled = "-xhttp://a/{seconds}:{ }:{\"a\":1}:{}:{url";
        assert_eq!(template.fill(value).as_deref(), Some(filled));
        assert_eq!(template.to_string(), "-x{url}:{ }:{\"a\":1}:{}:{url");
        let nested = Template::new("{{url}}", &ALL).unwrap();
        assert_eq!(nested.fill(value).unwrap(), "{http://a/{seconds}}");
        assert_eq!(Template::new("", &ALL).unwrap().fill(value).unwrap(), "");
    }

    #[test]
    fn placeholders_without_a_value_can_be_filled_in_later() {
        let template = Template::new("-d{seconds}s:{url}", &ALL).unwrap();
        assert_eq!(template.fill(value), None);
        let later = template.fill_known(value);
        assert_eq!(later.placeholders().collect::<Vec<_>>(), [Part::Seconds]);
        let filled = later.fill(|_| Some("3".to_owned()));
        assert_eq!(filled.unwrap(), "-d3s:http://a/{seconds}");
    }

    #[test]
    fn an_unknown_placeholder_is_reported_with_the_nearest() {
        let error = Template::new("{second}", &ALL).unwrap_err();
        let expected = "there is no placeholder `{second}` here; did you mean `seconds`? Known are {url}, {seconds}";
        assert_eq!(error.to_string(), expected);
    }
}
