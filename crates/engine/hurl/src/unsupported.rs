//! What Hurl runs and Prony does not.

use std::fmt;

use crate::ast::{
    Capture, Count, CountOption, DurationOption, Entry, EntryOption, FileOption, Filter,
    FilterValue, FlagOption, HttpVersion, HurlFile, OptionValue, Query, QueryValue, Setting,
    TextFilter, TextOption,
};
use crate::listing::listing;
use crate::position::Position;

/// Something in a file that Prony does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// What it is, by its name in the file: `the query xpath`.
    pub feature: String,
    /// What to do instead, if there is something.
    pub advice: Option<String>,
    /// Where it is.
    pub position: Position,
}

impl Unsupported {
    fn new(feature: impl Into<String>, position: Position) -> Self {
        Self {
            feature: feature.into(),
            advice: None,
            position,
        }
    }

    fn reason(&self) -> String {
        let feature = &self.feature;
        let advice = self.advice.iter().map(|advice| format!("; {advice}"));
        let advice: String = advice.collect();
        format!("Prony does not support {feature}{advice}")
    }

    /// The refusal in the form of an error of the parser.
    pub fn render(&self, file: &str, text: &str) -> String {
        listing("Unsupported", file, text, self.position, &self.reason())
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position;
        write!(formatter, "{line}:{column}: {}", self.reason())
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
    if response.version.value == Some(HttpVersion::Http3) {
        found.push(Unsupported::new("HTTP/3", response.version.position));
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
    Some(Unsupported {
        advice: advice(&option.value),
        ..Unsupported::new(feature, option.position)
    })
}

/// What to do instead of an option that is not supported. Some are flags of `prony load`.
fn advice(option: &OptionValue) -> Option<String> {
    let flag = match option {
        OptionValue::File(FileOption::Output, _) => {
            return Some("a load writes no bodies to files, so remove it".into());
        }
        OptionValue::Count(CountOption::Repeat, _) => {
            return Some("give a number, or remove it and give the load a duration".into());
        }
        OptionValue::File(..) => option.name(),
        OptionValue::Text(
            TextOption::Resolve | TextOption::TlsMax | TextOption::TlsMin | TextOption::UnixSocket,
            _,
        ) => option.name(),
        OptionValue::Text(TextOption::ConnectTo, _)
        | OptionValue::Flag(FlagOption::Ipv4 | FlagOption::Ipv6, _) => "resolve",
        OptionValue::Duration(DurationOption::ConnectTimeout, _) => "timeout",
        _ => return None,
    };
    Some(format!(
        "use the flag --{flag} of prony load, which holds for all entries"
    ))
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
        OptionValue::Duration(duration, _) => *duration != DurationOption::ConnectTimeout,
        OptionValue::File(..) | OptionValue::LimitRate(_) => false,
        OptionValue::Count(..) | OptionValue::Variable(_) | OptionValue::Verbosity => true,
    }
}

fn value(query: &Query, filters: &[Filter]) -> Vec<Unsupported> {
    let name = match query.value {
        QueryValue::XPath(_) => Some("xpath"),
        QueryValue::Certificate => Some("certificate"),
        _ => None,
    };
    let query = name.map(|name| Unsupported::new(format!("the query {name}"), query.position));
    let is_unsupported =
        |filter: &&Filter| matches!(filter.value, FilterValue::Text(TextFilter::XPath, _));
    let filters = filters.iter().filter(is_unsupported);
    let filters = filters.map(|filter| Unsupported::new("the filter xpath", filter.position));
    query.into_iter().chain(filters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::table::rows;

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
            "4:1: Prony does not support the option ipv6; use the flag --resolve of prony load, which holds for all entries",
            "5:1: Prony does not support the option output; a load writes no bodies to files, so remove it",
            "6:1: Prony does not support an endless repeat; give a number, or remove it and give the load a duration",
            "7:1: Prony does not support HTTP/3",
            "9:1: Prony does not support the query xpath",
            "10:19: Prony does not support the filter xpath",
            "12:4: Prony does not support the query certificate",
        ];
        assert_eq!(found(text), expected);
    }

    #[test]
    fn what_prony_runs_is_not_named() {
        let text = "POST http://a\n[BasicAuth]\na: b\n\
            [Options]\nretry: 3\ndelay: 1s\nskip: false\nlocation: {{follow}}\nlocation-trusted: true\nmax-redirs: 3\nvariable: a=1\n\
            [Multipart]\nf: file,a.txt;\nHTTP/2 200\n\
            [Captures]\na: jsonpath \"$.a\" nth 1\nb: redirects nth 0 location\n[Asserts]\nduration < 100\nmd5 == hex,00;\n";
        assert_eq!(found(text), [""; 0]);
    }

    #[test]
    fn a_refused_option_that_is_a_flag_names_it() {
        for [option, flag] in rows(
            "cacert: a.pem | --cacert
            cert: a.pem | --cert
            key: a.pem | --key
            resolve: a:80:127.0.0.1 | --resolve
            connect-to: a:80:b:80 | --resolve
            ipv4: true | --resolve
            unix-socket: a.sock | --unix-socket
            tls-min: 1.2 | --tls-min
            tls-max: 1.2 | --tls-max
            connect-timeout: 1s | --timeout",
        ) {
            let name = option.split(':').next().expect("a name");
            let found = found(&format!("GET http://a\n[Options]\n{option}\n"));
            let expected = format!(
                "3:1: Prony does not support the option {name}; use the flag {flag} of prony load, which holds for all entries"
            );
            assert_eq!(found, [expected]);
        }
    }

    #[test]
    fn a_refusal_looks_like_an_error_of_the_parser() {
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
