//! No input makes an import panic, and what it gives is a Hurl file.

use prony_traffic::import::{HarOptions, Imported};
use proptest::prelude::*;

fn is_a_hurl_file(imported: &Imported) {
    if let Ok(text) = prony_traffic::import::write(&imported.entries, &imported.notes) {
        prony_hurl::parse(&text)
            .unwrap_or_else(|error| panic!("{}\n{text}", error.render("a.hurl", &text)));
    }
}

/// Texts of the words that mean something, which are between spaces; `␣` is a space.
fn words(words: &'static str) -> impl Strategy<Value = String> {
    let words: Vec<&str> = words.split(' ').collect();
    let word = prop::sample::select(words).prop_map(|word| word.replace('␣', " "));
    let any = prop_oneof![6 => word, 1 => any::<String>()];
    prop::collection::vec(any, 0..20).prop_map(|words| words.concat())
}

const CURL: &str = "␣ ␣ ␣ ' \" \\ \n $' $ \\x \\u ff - -- -d -H␣ -F␣ -G -X␣ -u -b␣ --json␣ --url␣ --data-urlencode␣ \
    a = : ; @ < { {{ } http:// https://a /.. /. ? # [ é PUT";

/// JSON values of the members that the formats have.
fn json() -> impl Strategy<Value = String> {
    let scalars = r##"null true 0 -1 1e300 2.5 "" "a{b}" "{{" "string" "object" "array" "integer" "number" "path" "query"
        "header" "http://a/{b}" "//" "#/paths" "#/paths/~1a/get" "2026-01-01T00:00:00Z" "POST" "base64"
        "multipart/form-data""##;
    let names = "log entries request response url method headers name value postData text params mimeType encoding status
        time startedDateTime paths /a /{b} get post $ref parameters in required schema type properties items allOf oneOf
        enum example examples minItems minimum multipleOf exclusiveMaximum minLength requestBody content application/json
        multipart/form-data responses 200 2XX servers security components securitySchemes";
    let one_of = |words: &'static str| {
        let words: Vec<&str> = words.split_whitespace().collect();
        prop::sample::select(words)
    };
    let (scalar, name) = (one_of(scalars), one_of(names));
    scalar
        .prop_map(str::to_owned)
        .prop_recursive(8, 128, 8, move |inner| {
            let member = (name.clone(), inner.clone());
            let member = member.prop_map(|(name, value)| format!("\"{name}\": {value}"));
            let map = prop::collection::vec(member, 0..8)
                .prop_map(|members| format!("{{{}}}", members.join(", ")));
            let list = prop::collection::vec(inner, 0..4)
                .prop_map(|items| format!("[{}]", items.join(", ")));
            prop_oneof![3 => map, 1 => list]
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn commands(text in words(CURL)) {
        for command in [text.clone(), format!("curl http://a {text}")] {
            if let Ok(imported) = prony_traffic::import::curl(&command, &mut |_| Err(String::new())) {
                is_a_hurl_file(&imported);
            }
        }
    }

    #[test]
    fn recordings(json in json(), entry in json()) {
        let options = HarOptions { all_hosts: true, no_assets: false, think_time: true };
        let request = format!("{{\"method\": \"GET\", \"url\": \"http://a/\", \"postData\": {entry}}}");
        let entry = format!("{{\"request\": {request}, \"response\": {json}}}");
        for text in [json, format!("{{\"log\": {{\"entries\": [{entry}]}}}}")] {
            if let Ok(imported) = prony_traffic::import::har(&text, options) {
                is_a_hurl_file(&imported);
            }
        }
    }

    #[test]
    fn documents(json in json(), operation in json(), schema in json()) {
        let body = format!("{{\"content\": {{\"application/json\": {{\"schema\": {schema}}}}}}}");
        let paths = format!("{{\"/{{b}}\": {{\"get\": {operation}, \"post\": {{\"requestBody\": {body}}}}}}}");
        let document = |version: &str| format!("{version} 3.0.0\ncomponents: {json}\npaths: {paths}");
        for text in [document("openapi:"), document("swagger:"), json.clone()] {
            if let Ok(imported) = prony_traffic::import::openapi(&text) {
                is_a_hurl_file(&imported);
            }
        }
    }

    #[test]
    fn any_text(text in ".{0,200}") {
        let _ = prony_traffic::import::curl(&text, &mut |_| Err(String::new()));
        let _ = prony_traffic::import::har(&text, HarOptions::default());
        let _ = prony_traffic::import::openapi(&text);
    }
}
