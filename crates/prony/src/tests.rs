//! Golden files of the command's output. The results in the tests of each view together show every line.
//!
//! `cargo insta test --review -p prony` shows what a change does (cargo install cargo-insta);
//! `INSTA_UPDATE=always cargo test -p prony --bin prony --test golden` accepts all of it.

use insta::{Settings, assert_snapshot};

/// Compares the texts, each with its title, with the file of that name.
#[track_caller]
pub(crate) fn golden(file: &str, texts: &[(&str, String)]) {
    let mut all = String::new();
    for (title, text) in texts {
        all += &format!("== {title}\n{}\n\n", text.trim_end_matches('\n'));
    }
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path("../tests/it/snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| assert_snapshot!(file, all));
}
