//! The parser of Hurl files: any bytes are a file or an error that names a place in them.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    match prony_hurl::parse(&text) {
        Ok(file) => drop(prony_hurl::unsupported(&file)),
        Err(error) => assert!(error.render("fuzz.hurl", &text).contains("fuzz.hurl:")),
    }
});
