//! Keeps secrets out of messages.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use prony_hurl::evaluate::Variables;

use crate::target::NOT_IN_URLS;

/// How messages may show the secrets among variables: as they are, in JSON or in a URL. The longest comes first,
/// because another secret may be a part of it.
pub(crate) fn forms(variables: &Variables) -> Vec<String> {
    let mut forms: Vec<String> = variables.secrets().flat_map(forms_of).collect();
    forms.retain(|form| !form.is_empty());
    forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
    forms.dedup();
    forms
}

fn forms_of(secret: String) -> [String; 4] {
    let in_json = serde_json::Value::from(secret.as_str()).to_string();
    let in_quotes = in_json.len().saturating_sub(1);
    let in_url = utf8_percent_encode(&secret, NOT_IN_URLS).to_string();
    let in_parameter = utf8_percent_encode(&secret, NON_ALPHANUMERIC).to_string();
    [
        in_json[1..in_quotes].to_owned(),
        in_url,
        in_parameter,
        secret,
    ]
}

/// The text with stars instead of these secrets.
pub(crate) fn hide(text: &str, forms: &[String]) -> String {
    let hidden = |text: String, form: &String| text.replace(form.as_str(), "***");
    forms.iter().fold(text.to_owned(), hidden)
}
