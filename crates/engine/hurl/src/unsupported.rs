//! What Hurl runs and Prony does not.

use crate::ast::{
    Capture, Count, CountOption, Entry, EntryOption, Filter, FilterValue, HttpVersion, HurlFile,
    OptionValue, Query, QueryValue, Setting, TextFilter,
};
use crate::error::Fault;
use crate::position::Position;

/// Everything in a file that Prony does not run, in the order of the file.
pub fn unsupported(file: &HurlFile) -> Vec<Fault> {
    file.entries.iter().flat_map(entry).collect()
}

/// What Prony does not run, by its name in the file, and what to do.
fn fault(position: Position, feature: &str) -> Fault {
    Fault {
        title: "Unsupported",
        position,
        reason: format!("Prony does not support {feature}").into(),
    }
}

fn entry(entry: &Entry) -> Vec<Fault> {
    let request = &entry.request;
    let mut found = Vec::new();
    if request.method == "CONNECT" {
        found.push(fault(request.position, "the method CONNECT"));
    }
    found.extend(request.options.iter().filter_map(option));
    let Some(response) = &entry.response else {
        return found;
    };
    if response.version == Some(HttpVersion::Http3) {
        found.push(fault(response.position, "HTTP/3"));
    }
    for Capture { query, filters, .. } in &response.captures {
        found.extend(value(query, filters));
    }
    for assert in &response.asserts {
        found.extend(value(&assert.query, &assert.filters));
    }
    // Captures and asserts may be in any order.
    found.sort_by_key(|fault| fault.position);
    found
}

fn option(option: &EntryOption) -> Option<Fault> {
    let feature = match option.value {
        OptionValue::Count(CountOption::Repeat, Setting::Literal(Count::Infinite)) => {
            "an endless repeat; give a number, or remove it and give the load a duration".into()
        }
        OptionValue::Unsupported(name) => format!("the option {name}{}", advice(name)),
        _ => return None,
    };
    Some(fault(option.position, &feature))
}

/// What to do instead of an option. Some are flags of `prony load`.
fn advice(option: &str) -> String {
    let flag = match option {
        "output" => return "; a load writes no bodies to files, so remove it".into(),
        "cacert" | "cert" | "key" | "resolve" | "tls-max" | "tls-min" | "unix-socket" => option,
        "connect-to" | "ipv4" | "ipv6" => "resolve",
        "connect-timeout" => "timeout",
        _ => return String::new(),
    };
    format!("; use the flag --{flag} of prony load, which holds for all entries")
}

fn value(query: &Query, filters: &[Filter]) -> Vec<Fault> {
    let query_fault = match query.value {
        QueryValue::XPath(_) => Some(fault(query.position, "the query xpath")),
        QueryValue::Certificate => Some(fault(query.position, "the query certificate")),
        _ => None,
    };
    let is_unsupported =
        |filter: &&Filter| matches!(filter.value, FilterValue::Text(TextFilter::XPath, _));
    let filters = filters.iter().filter(is_unsupported);
    let filter_faults = filters.map(|filter| fault(filter.position, "the filter xpath"));
    query_fault.into_iter().chain(filter_faults).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::table::rows;

    fn found(text: &str) -> Vec<String> {
        let file = crate::parse(text)
            .unwrap_or_else(|error| panic!("{}", error.render("test.hurl", text)));
        unsupported(&file).iter().map(Fault::to_string).collect()
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
