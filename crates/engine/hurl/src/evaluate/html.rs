//! Character references of HTML.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// A character reference without its `&`. It may lack the semicolon.
static REFERENCE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"&(#\d+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)").ok());

/// What named references stand for. A name ends with a semicolon, or is one of those that may lack it.
static NAMES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let entities = entities::ENTITIES.iter();
    entities
        .map(|it| (it.entity.trim_start_matches('&'), it.characters))
        .collect()
});

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#x27;")
}

/// The text without its character references, by the rules of HTML for those that are not valid.
pub(super) fn unescaped(text: &str) -> String {
    let Some(reference) = &*REFERENCE else {
        return text.to_owned();
    };
    let value = |captures: &Captures<'_>| match captures[1].strip_prefix('#') {
        Some(number) => numbered(number.trim_end_matches(';')).map_or(String::new(), String::from),
        None => named(&captures[1]),
    };
    reference.replace_all(text, value).into_owned()
}

/// The character that a reference by number means; `None` if it means none.
fn numbered(number: &str) -> Option<char> {
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    let character = code.ok().and_then(char::from_u32);
    let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
    match character {
        '\0' => Some(char::REPLACEMENT_CHARACTER),
        '\u{80}'..='\u{9f}' => Some(of_windows_1252(character)),
        '\u{1}'..='\u{8}' | '\u{b}' | '\u{e}'..='\u{1f}' | '\u{7f}' | '\u{fdd0}'..='\u{fdef}' => {
            None
        }
        // The last two of each plane are no characters.
        _ if u32::from(character) & 0xfffe == 0xfffe => None,
        _ => Some(character),
    }
}

/// Numbers of control characters are meant as Windows has them.
fn of_windows_1252(control: char) -> char {
    let byte = u8::try_from(u32::from(control)).unwrap_or_default();
    let bytes = [byte];
    let (text, _) = encoding_rs::WINDOWS_1252.decode_without_bom_handling(&bytes);
    text.chars().next().unwrap_or(control)
}

/// The text that a reference by name means: the longest known name at its start is replaced, and the rest stays.
fn named(reference: &str) -> String {
    let ends = (1..=reference.len()).rev();
    let mut names = ends.filter_map(|end| Some((end, *NAMES.get(reference.get(..end)?)?)));
    match names.next() {
        Some((end, characters)) => format!("{characters}{}", &reference[end..]),
        None => format!("&{reference}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::table::rows;

    #[test]
    fn references_stand_for_characters() {
        for [text, expected] in rows(
            r#"
            nothing | nothing
            & | &
            &&amp;& | &&&
            a &lt; b &gt; c &amp; d &quot;e&quot; &apos;f&#x27; | a < b > c & d "e" 'f'
            &copy; &COPY &copy | © © ©
            &NotEqualTilde; &fjlig; | \u{2242}\u{338} fj
            // The longest name counts, and the semicolon belongs to some names.
            &notit; &notin; &not | ¬it; ∉ ¬
            &hellip &unknown; &; | &hellip &unknown; &;
            &ampé; | &é;
            &é; | &é;
            &#65;&#65&#x41;&#X41 &# | AAAA &#
            &#x1D306; &#128512; | \u{1d306} 😀
            &#0; &#xD800; &#x110000; &#99999999999; | \u{fffd} \u{fffd} \u{fffd} \u{fffd}
            &#x80;&#x9f;&#x81; | €Ÿ\u{81}
            [&#1;&#x1f;&#x7f;&#xfdd0;&#xffff;&#x10fffe;] | []
            &#9;&#10;&#13; | \t\n\r
            &#x; | &#x;
            &amp;lt; | &lt;
        "#,
        ) {
            assert_eq!(unescaped(text), expected, "{text}");
        }
    }

    #[test]
    fn every_name_is_known() {
        assert_eq!(NAMES.len(), 2231);
        for (name, characters) in NAMES.iter() {
            assert_eq!(unescaped(&format!("&{name}")), *characters);
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_escaped_comes_back(text in "\\PC{0,30}") {
            proptest::prop_assert_eq!(unescaped(&escaped(&text)), text);
        }

        #[test]
        fn any_text_has_a_value(text in "[&#;xX0-9a-zé \t]{0,40}") {
            let value = unescaped(&text);
            proptest::prop_assert!(text.contains('&') || value == text);
        }
    }
}
