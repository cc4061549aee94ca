//! Names of functions, such that those of two builds of one program match.

/// How code is called that was compiled while the program ran, which has no name in any file.
pub(crate) const COMPILED_AT_RUN_TIME: &str = "code compiled while it runs";

/// How code of a file is called that the file has no name for.
pub const UNNAMED: &str = "code without a name";

/// The name of a function without what differs between two builds of the same source: the hash of a Rust function
/// (`::h0123456789abcdef`), the number that LLVM adds to a local function (`.llvm.123`), and callgrind's recursion level (`'2`).
/// A function without a name has the name of its kind of code.
///
/// `object` is the file of the code, without which it was compiled while the program ran.
pub fn stable(name: &str, object: Option<&str>) -> String {
    if is_address(name) {
        let kind = object.map_or(COMPILED_AT_RUN_TIME, |_| UNNAMED);
        return kind.to_owned();
    }
    let name = without_level(name);
    let name = name.split(".llvm.").next().unwrap_or(name);
    without_hash(name).to_owned()
}

/// The file's name without its folders, which differ between two builds.
pub(crate) fn object_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a name is what callgrind writes instead of an unknown one: `???` or an address.
pub(crate) fn is_address(name: &str) -> bool {
    let is_hex = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    let name = without_level(name);
    name.is_empty() || name == "???" || name.strip_prefix("0x").is_some_and(is_hex)
}

fn without_level(name: &str) -> &str {
    match name.rsplit_once('\'') {
        Some((before, level)) if is_number(level) && !before.is_empty() => before,
        _ => name,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((before, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            before
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use prony_testkit::table::rows;

    use super::*;

    #[test]
    fn what_differs_between_builds_is_removed() {
        for [name, expected] in rows(
            "
            hyper::io::read::h0123456789abcdef | hyper::io::read
            core::fmt::write::h0123456789ABCDEF'2 | core::fmt::write
            parse.llvm.1234567890 | parse
            a::handle | a::handle
            // That is not a hash.
            a::h0123 | a::h0123
            operator' | operator'
            (below main) | (below main)
        ",
        ) {
            assert_eq!(stable(name, Some("/bin/server")), expected);
        }
    }

    #[test]
    fn code_without_a_name_is_named_by_its_kind() {
        for name in ["???", "0x00000000004010a0", "0x1f'2", ""] {
            assert_eq!(stable(name, Some("/bin/server")), UNNAMED);
            assert_eq!(stable(name, None), COMPILED_AT_RUN_TIME);
        }
        assert_eq!(stable("0xyz", None), "0xyz");
    }

    #[test]
    fn folders_are_removed() {
        assert_eq!(object_name("/usr/lib/libc.so.6"), "libc.so.6");
        assert_eq!(object_name("node"), "node");
        assert_eq!(object_name(""), "");
    }
}
