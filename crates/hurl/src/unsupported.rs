//! What Hurl runs and Prony does not.

use std::fmt;

use crate::ast::{
    Capture, Count, CountOption, DurationOption, Entry, EntryOption, FileOption, Filter,
    FilterValue, FlagOption, HurlFile, OptionValue, Query, QueryValue, Setting, TextOption,
    VersionValue,
};
use crate::listing::{Listing, Reason};
use crate::position::{Position, Span};

/// Something in a file that Prony does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// What it is, by its name in the file: `the query xpath`.
    pub feature: String,
    /// Where it is.
    pub position: Position,
}

impl Unsupported {
    fn new(feature: impl Into<String>, position: Position) -> Self {
        Self {
            feature: feature.into(),
            position,
        }
    }

    /// The refusal in the form of Hurl's errors.
    pub fn render(&self, file: &str, text: &str) -> String {
        let reason = format!("Prony does not support {}", self.feature);
        let span = Span::at(self.position);
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Listing {
            title: "Unsupported",
            span,
            entry_line: None,
            reason: Reason::Carets(&reason),
        }
        .render(file, text)
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position;
        write!(
            formatter,
            "{line}:{column}: Prony does not support {}",
            self.feature
        )
    }
}

/// Everything in a file that Prony does not run, in the order of the file.
pub fn unsupported(file: &HurlFile) -> Vec<Unsupported> {
    file.entries.iter().flat_map(entry).collect()
}

fn entry(entry: &Entry) -> Vec<Unsupported> {
    let request = &entry.request;
    let mut found = Vec::new();
    if request.method == "CONNECT" {
        found.push(Unsupported::new("the method CONNECT", request.position));
    }
    found.extend(request.options.iter().filter_map(option));
    let Some(response) = &entry.response else {
        return found;
    };
    if response.version.value == VersionValue::Http3 {
        found.push(Unsupported::new("HTTP/3", response.version.span.start));
    }
    for Capture { query, filters, .. } in &response.captures {
        found.extend(value(query, filters));
    }
    for assert in &response.asserts {
        found.extend(value(&assert.query, &assert.filters));
    }
    // Captures and asserts may be in any order.
    found.sort_by_key(|unsupported| unsupported.position);
    found
}

fn option(option: &EntryOption) -> Option<Unsupported> {
    let name = option.value.name();
    let feature = match &option.value {
        OptionValue::Count(CountOption::Repeat, Setting::Literal(Count::Infinite)) => {
            "an endless repeat".to_owned()
        }
        value if is_option_supported(value) => return None,
        _ => format!("the option {name}"),
    };
    Some(Unsupported::new(feature, option.span.start))
}

fn is_option_supported(option: &OptionValue) -> bool {
    match option {
        // What is off by default may be switched off.
        OptionValue::Flag(_, Setting::Literal(false)) => true,
        OptionValue::Flag(flag, _) => matches!(
            flag,
            FlagOption::Compressed
                | FlagOption::FollowLocation
                | FlagOption::FollowLocationTrusted
                | FlagOption::Http11
                | FlagOption::Http2
                | FlagOption::Http2PriorKnowledge
                | FlagOption::Insecure
                | FlagOption::NoJsonPathCoercion
                | FlagOption::PathAsIs
                | FlagOption::Skip
                | FlagOption::Verbose
                | FlagOption::VeryVerbose
        ),
        OptionValue::Text(text, _) => matches!(
            text,
            TextOption::Header | TextOption::NoHeader | TextOption::User
        ),
        OptionValue::File(file, _) => match file {
            FileOption::CaCertificate
            | FileOption::ClientCertificate
            | FileOption::ClientKey
            | FileOption::Output => false,
        },
        OptionValue::Duration(duration, _) => match duration {
            DurationOption::Delay | DurationOption::MaxTime | DurationOption::RetryInterval => true,
            DurationOption::ConnectTimeout => false,
        },
        OptionValue::Count(count, _) => match count {
            CountOption::MaxRedirects | CountOption::Repeat | CountOption::Retry => true,
        },
        OptionValue::LimitRate(_) => false,
        OptionValue::Variable(_) | OptionValue::Verbosity(_) => true,
    }
}

fn value(query: &Query, filters: &[Filter]) -> Vec<Unsupported> {
    let is_query_unsupported = matches!(
        query.value,
        QueryValue::XPath(_) | QueryValue::Certificate(_)
    );
    let query = is_query_unsupported.then(|| {
        Unsupported::new(
            format!("the query {}", query.value.name()),
            query.span.start,
        )
    });
    let filters = filters.iter().filter(|filter| {
        matches!(
            filter.value,
            FilterValue::XPath(_) | FilterValue::HtmlUnescape
        )
    });
    let filters = filters.map(|filter| {
        Unsupported::new(
            format!("the filter {}", filter.value.name()),
            filter.span.start,
        )
    });
    query.into_iter().chain(filters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let file = crate::parse(text)
            .unwrap_or_else(|error| panic!("{}", error.render("test.hurl", text)));
        unsupported(&file)
            .iter()
            .map(Unsupported::to_string)
            .collect()
    }

    #[test]
    fn what_prony_does_not_run_is_named_with_its_place() {
        let text = "\
CONNECT http://a
[Options]
ntlm: true
ipv6: true
output: a.txt
repeat: -1
HTTP/3 200
[Asserts]
xpath \"//a\" exists
body htmlUnescape xpath \"//a\" == \"b\"
[Captures]
b: certificate \"Subject\"
";
        let expected = [
            "1:1: Prony does not support the method CONNECT",
            "3:1: Prony does not support the option ntlm",
            "4:1: Prony does not support the option ipv6",
            "5:1: Prony does not support the option output",
            "6:1: Prony does not support an endless repeat",
            "7:1: Prony does not support HTTP/3",
            "9:1: Prony does not support the query xpath",
            "10:6: Prony does not support the filter htmlUnescape",
            "10:19: Prony does not support the filter xpath",
            "12:4: Prony does not support the query certificate",
        ];
        assert_eq!(found(text), expected);
    }

    #[test]
    fn what_prony_runs_is_not_named() {
        let text = "\
POST http://a
[BasicAuth]
a: b
[Options]
retry: 3
delay: 1s
skip: false
location: {{follow}}
location-trusted: true
max-redirs: 3
variable: a=1
[Multipart]
f: file,a.txt;
HTTP/2 200
[Captures]
a: jsonpath \"$.a\" nth 1
b: redirects nth 0 location
[Asserts]
duration < 100
md5 == hex,00;
";
        assert_eq!(found(text), [""; 0]);
    }

    #[test]
    fn a_refusal_looks_like_an_error_of_hurl() {
        let text = "GET http://a\n[Options]\nproxy: b\n";
        let file = crate::parse(text).expect("a file");
        let expected = "\
Unsupported
  --> a.hurl:3:1
   |
 3 | proxy: b
   | ^ Prony does not support the option proxy
   |";
        assert_eq!(unsupported(&file)[0].render("a.hurl", text), expected);
    }
}
