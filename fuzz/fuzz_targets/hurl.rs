//! The parser of Hurl files: any bytes are a file or an error that names a place in them.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if let Err(error) = prony_hurl::parse(&text) {
        assert!(error.render("fuzz.hurl", &text).contains("fuzz.hurl:"));
    }
});
