//! Golden files: named by the test, without the name of its module.

/// Compares a text with the golden file of this name, in `snapshots` beside the test.
///
/// `INSTA_UPDATE=always cargo test -p CRATE` writes the golden files again.
#[macro_export]
macro_rules! golden {
    ($name:expr, $text:expr $(,)?) => {{
        let mut settings = $crate::insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| $crate::insta::assert_snapshot!($name, $text));
    }};
}
