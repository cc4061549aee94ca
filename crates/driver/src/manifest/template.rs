//! Words of a command with placeholders in braces.

use std::collections::BTreeMap;

use prony_server::nearest;

use super::Problem;

/// Something that is filled into the words of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Placeholder {
    Url,
    Connections,
    Threads,
    /// The timeout in whole seconds.
    TimeoutS,
    /// The folder of the driver.
    Driver,
    /// Prony's own program.
    Prony,
    /// Requests a second over all connections.
    Rate,
    /// Requests a second over one connection.
    RatePerConnection,
    Pipeline,
    /// 1 where every request has a connection of its own.
    Close,
    /// The duration in whole seconds.
    Seconds,
    /// The duration in whole milliseconds.
    Milliseconds,
    Requests,
    /// One header, `Name: value`.
    Header,
    /// All headers as one JSON object.
    HeadersJson,
    Method,
    /// A file with the body.
    BodyFile,
}

use Placeholder::*;

impl Placeholder {
    /// What every load has.
    pub const COMMON: &[Placeholder] = &[Url, Connections, Threads, TimeoutS, Driver, Prony];
    /// What variables may be made of: a variable whose placeholder has no value is not set.
    pub const ANY: &[Placeholder] = &[
        Url,
        Connections,
        Threads,
        TimeoutS,
        Driver,
        Prony,
        Rate,
        RatePerConnection,
        Pipeline,
        Close,
        Seconds,
        Milliseconds,
        Requests,
        HeadersJson,
        Method,
        BodyFile,
    ];

    /// What stands between the braces.
    pub const fn name(self) -> &'static str {
        match self {
            Url => "url",
            Connections => "connections",
            Threads => "threads",
            TimeoutS => "timeout_s",
            Driver => "driver",
            Prony => "prony",
            Rate => "rate",
            RatePerConnection => "rate_per_connection",
            Pipeline => "pipeline",
            Close => "close",
            Seconds => "seconds",
            Milliseconds => "milliseconds",
            Requests => "requests",
            Header => "header",
            HeadersJson => "headers_json",
            Method => "method",
            BodyFile => "body_file",
        }
    }
}

/// What the placeholders stand for in one load; those that it has nothing for are not there.
pub type Values = BTreeMap<Placeholder, String>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Value(Placeholder),
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

impl Template {
    /// Reads `text`, in which only `allowed` placeholders may be.
    ///
    /// # Errors
    /// Where another one is, or a brace is never closed.
    pub fn new(text: &str, allowed: &[Placeholder]) -> Result<Template, Problem> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').ok_or(Problem::OpenBrace)?;
            let value = allowed.iter().find(|one| one.name() == name);
            let value = value.ok_or_else(|| unknown(name, allowed))?;
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            pieces.push(Piece::Value(*value));
            rest = after;
        }
        if !rest.is_empty() || pieces.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Template(pieces))
    }

    /// The word with its placeholders filled in; `None` where one has no value.
    pub fn fill(&self, values: &Values) -> Option<String> {
        self.0
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => Some(text.as_str()),
                Piece::Value(placeholder) => values.get(placeholder).map(String::as_str),
            })
            .collect()
    }
}

fn unknown(name: &str, allowed: &[Placeholder]) -> Problem {
    let names: Vec<&str> = allowed.iter().map(|one| one.name()).collect();
    Problem::UnknownPlaceholder {
        name: name.to_owned(),
        nearest: nearest(name, names.iter().copied()),
        known: names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_in() {
        let template = Template::new("-d{seconds}s:{url}", &[Seconds, Url]).unwrap();
        let mut values = Values::from([(Seconds, "3".to_owned())]);
        assert_eq!(template.fill(&values), None);
        values.insert(Url, "http://a/{seconds}".to_owned());
        // What was filled in is not looked at again.
        assert_eq!(template.fill(&values).unwrap(), "-d3s:http://a/{seconds}");
        assert_eq!(Template::new("", &[]).unwrap().fill(&values).unwrap(), "");
    }

    #[test]
    fn a_placeholder_that_the_part_has_nothing_for_is_refused() {
        let problem = Template::new("{rates}", &[Rate, Url]).unwrap_err();
        assert_eq!(
            problem.to_string(),
            "there is no placeholder `{rates}` here; did you mean `rate`? Known are rate, url"
        );
        assert_eq!(Template::new("a{url", &[Url]), Err(Problem::OpenBrace));
    }
}
