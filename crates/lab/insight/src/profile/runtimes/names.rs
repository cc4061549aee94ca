//! Names in perf maps without what the runtime adds for itself.

/// `JS:*handle file:///srv/server.mjs:10:5` → `handle (server.mjs:10)`, `py::f:/srv/app.py` → `f (app.py)`.
pub(super) fn plain(name: &str) -> String {
    javascript(name)
        .or_else(|| python(name))
        .or_else(|| bun(name))
        .or_else(|| java(name))
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

/// JavaScriptCore writes the tier, the name and a hash of the code: `JSC-DFG: handle#As07L3`.
fn bun(name: &str) -> Option<String> {
    let tiers = ["JSC-Baseline: ", "JSC-DFG: ", "JSC-FTL: "];
    let rest = tiers.iter().find_map(|tier| name.strip_prefix(tier))?;
    let (function, _) = rest.rsplit_once('#')?;
    Some(match function {
        "" => "(anonymous)".to_owned(),
        function => function.to_owned(),
    })
}

/// The virtual machine writes the type of the result, the class, the method and the types of its parameters.
fn java(name: &str) -> Option<String> {
    let (method, _) = name.strip_suffix(')')?.split_once('(')?;
    let (result, method) = method.rsplit_once(' ')?;
    (!result.contains(' ') && method.contains('.')).then(|| method.to_owned())
}

/// Modules of the runtime itself, such as `node:internal/http`, keep their whole name.
fn file_name(path: &str) -> &str {
    if path.starts_with("node:") || path.starts_with("ext:") {
        path
    } else {
        path.rsplit('/').next().unwrap_or(path)
    }
}

#[cfg(test)]
mod tests {
    use super::plain;
    use prony_testkit::table::rows;

    #[test]
    fn tiers_columns_and_folders_are_left_out() {
        for [name, expected] in rows(
            r#"
            JS:*handle file:///srv/server.mjs:10:5 | handle (server.mjs:10)
            JS:~handle file:///srv/server.mjs:10:5 | handle (server.mjs:10)
            LazyCompile:* node:_http_server:900:10 | (anonymous) (node:_http_server:900)
            JS:^emit node:events:465:44 | emit (node:events:465)
            Script:~ evalmachine.<anonymous>:1:1 | (anonymous) (evalmachine.<anonymous>:1)
            JS:~ | (anonymous)
            py::App.run:/srv/a:b/app.py | App.run (app.py)
            py::<module>:<string> | <module> (<string>)
            JSC-DFG: /hello#As07L3 | /hello
            JSC-Thunk: DefaultCall | JSC-Thunk: DefaultCall
            int java.lang.Object.f(int, java.util.List) | java.lang.Object.f
            StubRoutines (initial stubs) | StubRoutines (initial stubs)
        "#,
        ) {
            assert_eq!(plain(name), expected, "{name}");
        }
    }
}
