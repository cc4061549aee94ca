//! Names in perf maps without what the runtime adds for itself.

/// `JS:*handle file:///srv/server.mjs:10:5` → `handle (server.mjs:10)`, `py::f:/srv/app.py` → `f (app.py)`.
pub(super) fn plain(name: &str) -> String {
    javascript(name)
        .or_else(|| python(name))
        .unwrap_or_else(|| name.to_owned())
}

/// V8 writes the kind, the tier (`~` interpreted, `^` baseline, `+` Maglev, `*` optimized), the name, the file, the line
/// and the column. A function stays the same if it is compiled again.
fn javascript(name: &str) -> Option<String> {
    let kinds = ["JS:", "LazyCompile:", "Function:", "Script:", "Eval:"];
    let rest = kinds.iter().find_map(|kind| name.strip_prefix(kind))?;
    let rest = rest.trim_start_matches(['~', '^', '+', '*', '\'']);
    let (function, location) = rest.split_once(' ').unwrap_or((rest, ""));
    let function = match function {
        "" => "(anonymous)",
        function => function,
    };
    let mut parts = location.rsplitn(3, ':');
    let (column, line, path) = (parts.next(), parts.next(), parts.next());
    Some(match (path, line, column) {
        (Some(path), Some(line), Some(_)) => format!("{function} ({}:{line})", file_name(path)),
        _ if location.is_empty() => function.to_owned(),
        _ => format!("{function} ({})", file_name(location)),
    })
}

fn python(name: &str) -> Option<String> {
    let (function, path) = name.strip_prefix("py::")?.split_once(':')?;
    Some(format!("{function} ({})", file_name(path)))
}

/// Modules of the runtime itself, such as `node:internal/http`, keep their whole name.
fn file_name(path: &str) -> &str {
    match path.starts_with("node:") || path.starts_with("ext:") {
        true => path,
        false => path.rsplit('/').next().unwrap_or(path),
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn tiers_columns_and_folders_are_left_out() {
        for (name, expected) in [
            (
                "JS:*handle file:///srv/server.mjs:10:5",
                "handle (server.mjs:10)",
            ),
            (
                "JS:~handle file:///srv/server.mjs:10:5",
                "handle (server.mjs:10)",
            ),
            (
                "LazyCompile:* node:_http_server:900:10",
                "(anonymous) (node:_http_server:900)",
            ),
            ("JS:^emit node:events:465:44", "emit (node:events:465)"),
            (
                "Script:~ evalmachine.<anonymous>:1:1",
                "(anonymous) (evalmachine.<anonymous>:1)",
            ),
            ("JS:~", "(anonymous)"),
            ("py::App.run:/srv/a:b/app.py", "App.run (app.py)"),
            ("py::<module>:<string>", "<module> (<string>)"),
            (
                "java.lang.String java.lang.Object.toString()",
                "java.lang.String java.lang.Object.toString()",
            ),
        ] {
            assert_eq!(plain(name), expected, "{name}");
        }
    }
}
