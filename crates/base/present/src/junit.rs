//! JUnit XML, which the CI systems show as test results.

#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What it belongs to: CI systems group by it.
    pub class: String,
    pub name: String,
    pub seconds: Option<f64>,
    pub result: CaseResult,
    pub output: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseResult {
    Passed,
    Failed { message: String, details: String },
    Skipped { message: String },
}

impl Case {
    pub fn of(class: impl Into<String>, name: impl Into<String>, result: CaseResult) -> Self {
        Self {
            class: class.into(),
            name: name.into(),
            seconds: None,
            result,
            output: String::new(),
        }
    }
}

impl CaseResult {
    pub fn failed(message: impl Into<String>, details: impl Into<String>) -> Self {
        Self::Failed {
            message: message.into(),
            details: details.into(),
        }
    }

    pub fn skipped(message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Skipped { message }
    }
}

pub fn xml(suite: &str, cases: &[Case]) -> String {
    let suite = escaped(suite);
    let count = |is: fn(&CaseResult) -> bool| cases.iter().filter(|case| is(&case.result)).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"",
        cases.len(),
        count(|result| matches!(result, CaseResult::Failed { .. })),
        count(|result| matches!(result, CaseResult::Skipped { .. }))
    );
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out += &format!("<testsuites name=\"prony\" {counts}>\n");
    out += &format!("  <testsuite name=\"{suite}\" {counts}>\n");
    cases.iter().for_each(|case| case.write(&mut out));
    out + "  </testsuite>\n</testsuites>\n"
}

impl Case {
    fn write(&self, out: &mut String) {
        let (class, name) = (escaped(&self.class), escaped(&self.name));
        let time = self
            .seconds
            .map_or(String::new(), |it| format!(" time=\"{it:.3}\""));
        *out += &format!("    <testcase classname=\"{class}\" name=\"{name}\"{time}>\n");
        match &self.result {
            CaseResult::Passed => {}
            CaseResult::Failed { message, details } => {
                let (message, details) = (escaped(message), escaped(details));
                *out += &format!("      <failure message=\"{message}\">{details}</failure>\n");
            }
            CaseResult::Skipped { message } => {
                *out += &format!("      <skipped message=\"{}\"/>\n", escaped(message));
            }
        }
        if !self.output.is_empty() {
            *out += &format!("      <system-out>{}</system-out>\n", escaped(&self.output));
        }
        *out += "    </testcase>\n";
    }
}

/// The text for an attribute or an element. A character that XML 1.0 does not allow, such as the escape of a terminal's
/// colours, becomes U+FFFD.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            // As they are, a parser turns them into spaces in an attribute.
            '\n' | '\t' | '\r' => safe += &format!("&#{};", u32::from(c)),
            '\u{fffe}' | '\u{ffff}' => safe.push(char::REPLACEMENT_CHARACTER),
            c if c < ' ' => safe.push(char::REPLACEMENT_CHARACTER),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use prony_testkit::page;
    use proptest::prelude::*;

    use super::*;

    fn case(name: &str, result: CaseResult, output: &str) -> Case {
        Case {
            class: "hello".into(),
            name: name.into(),
            seconds: Some(1.5),
            result,
            output: output.into(),
        }
    }

    #[test]
    fn results_are_counted_and_written() {
        let failed = CaseResult::Failed {
            message: "p99 < 50ms: 60 ms".into(),
            details: "a\nb".into(),
        };
        let skipped = CaseResult::Skipped {
            message: "no Go".into(),
        };
        let cases = [
            case("a", CaseResult::Passed, ""),
            case("b", failed, "more"),
            case("c", skipped, ""),
        ];
        let xml = xml("tour", &cases);
        let document = roxmltree::Document::parse(&xml).unwrap();
        let of = |tag: &str| page::all(document.root(), tag)[0];
        for tag in ["testsuites", "testsuite"] {
            let names = ["tests", "failures", "errors", "skipped"];
            let counts = names.map(|name| of(tag).attribute(name));
            assert_eq!(counts, ["3", "1", "0", "1"].map(Some), "{tag}");
        }
        assert_eq!(of("testcase").attribute("time"), Some("1.500"));
        let message = of("failure").attribute("message");
        assert_eq!(message, Some("p99 < 50ms: 60 ms"));
        assert_eq!(of("failure").text(), Some("a\nb"));
        assert_eq!(of("skipped").attribute("message"), Some("no Go"));
        assert_eq!(of("system-out").text(), Some("more"));
    }

    proptest! {
        #[test]
        fn any_text_is_well_formed(text in any::<String>()) {
            let failed = CaseResult::Failed { message: text.clone(), details: text.clone() };
            let xml = xml("tour", &[case(&text, failed, &text)]);
            let document = roxmltree::Document::parse(&xml).unwrap();
            let name = document.descendants().find_map(|node| node.attribute("classname").and(node.attribute("name")));
            let expected: String = text.chars().map(|c| match c {
                '\n' | '\t' | '\r' => c,
                '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
                c if c < ' ' => '\u{fffd}',
                c => c,
            }).collect();
            prop_assert_eq!(name, Some(expected.as_str()));
        }
    }
}
