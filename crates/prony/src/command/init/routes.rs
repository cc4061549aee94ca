//! Paths that the sources of a server name, as candidates for a first request.

use std::path::Path;

use super::candidates::{is_other, name_of, sources, text};

/// The most paths that are tried, files that are read, and folders that are nested.
const MOST_PATHS: usize = 24;
const MOST_FILES: usize = 400;
const DEEPEST: usize = 6;

const EXTENSIONS: [&str; 15] = [
    "cjs", "cs", "go", "java", "js", "jsx", "kt", "mjs", "php", "py", "rb", "rs", "scala", "ts",
    "tsx",
];
/// What a line with the route of a GET request has, in the frameworks of these languages.
const OF_ROUTES: [&str; 8] = [
    "get", "route", "handle", "mapping", "path", "resource", "url", "endpoint",
];

/// The paths of routes in the sources of `folder`, without those that have parameters, the shortest first.
pub(super) fn in_sources(folder: &Path) -> Vec<String> {
    let files = sources(folder, DEEPEST, |_| true).filter(|file| {
        let extension = file.extension().unwrap_or_default().to_string_lossy();
        EXTENSIONS.contains(&&*extension) && !is_other(&name_of(file))
    });
    let mut paths: Vec<String> = Vec::new();
    for file in files.take(MOST_FILES) {
        let text = text(&file).unwrap_or_default();
        paths.extend(in_text(&text).map(str::to_owned));
    }
    paths.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    paths.dedup();
    paths.truncate(MOST_PATHS);
    paths
}

/// The paths in a source file: texts in quotes that begin with `/`, in lines that look like those of a route.
fn in_text(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|line| {
        let line = line.to_lowercase();
        OF_ROUTES.iter().any(|word| line.contains(word))
    });
    let quoted = lines.flat_map(|line| line.split(['"', '\'', '`']).skip(1).step_by(2));
    // As Go has it: "GET /items".
    let paths = quoted.map(|text| text.strip_prefix("GET ").unwrap_or(text).trim());
    paths.filter(|path| is_path(path))
}

fn is_path(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "/-_.~".contains(c);
    text.len() > 1
        && text.starts_with('/')
        && !text.starts_with("//")
        && text.chars().all(is_letter)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use prony_testkit::table::rows;

    use super::*;

    #[test]
    fn routes_of_common_frameworks_are_seen() {
        for [line, path] in rows(
            r#"
            app.get('/api/items', list) | /api/items
            router.route(`/v1/x`).get(f) | /v1/x
            @app.get("/things") | /things
            @app.route('/about', methods=['GET']) | /about
            path('/shop/', views.shop) | /shop/
            .route("/users", get(users)) | /users
            mux.HandleFunc("GET /orders", orders) | /orders
            @GetMapping("/greeting") | /greeting
            get '/hello' do | /hello
            // With parameters, elsewhere, or none.
            app.get('/items/:id', one) | ""
            @app.get("/items/{id}") | ""
            const file = '/etc/passwd' | ""
            app.get('//host', x) | ""
        "#,
        ) {
            assert_eq!(in_text(line).next().unwrap_or_default(), path, "{line}");
        }
    }

    #[test]
    fn the_shortest_paths_come_first_each_once() {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("src/b.js", "app.get('/longer')\napp.get('/a')"),
            ("a.py", "@app.get('/a')\n"),
            ("node_modules/c.js", "app.get('/other')"),
            ("README.md", "get '/read'"),
        ] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        assert_eq!(in_sources(folder.path()), ["/a", "/longer"]);
    }
}
