//! Which builds are run each time: their tools know themselves what has changed, in whatever folder it lies.

use std::path::Path;

/// Whether running these commands again, with nothing changed, is both right and quick. Cargo and Go find a path
/// dependency, a `replace` and an included file by themselves, and do nothing if none has changed; whatever else the
/// build runs beside them runs again too, for it may use what they made.
pub fn is_incremental(commands: &[Vec<String>]) -> bool {
    commands.iter().any(|words| is_incremental_tool(words))
}

fn is_incremental_tool(words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str);
    let program = words.next().map(Path::new).and_then(Path::file_name);
    let first = words.next();
    match program.and_then(|name| name.to_str()) {
        Some("cargo" | "go" | "make" | "ninja" | "dotnet") => true,
        // `zig build-exe` compiles anew each time.
        Some("zig") => first == Some("build"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_tool_that_says_so() {
        let is = |commands: &[&str]| {
            let words = |command: &&str| command.split(' ').map(str::to_owned).collect();
            is_incremental(&commands.iter().map(words).collect::<Vec<_>>())
        };
        assert!(is(&["cargo build --release"]) && is(&["/usr/bin/go build ."]));
        assert!(is(&["zig build"]) && !is(&["zig build-exe main.zig"]));
        assert!(is(&["npm ci", "make"]));
        assert!(!is(&["sh -c make", "javac Server.java"]) && !is(&[]));
    }
}
