use prony_testkit::table::rows;
use std::path::Path;

use super::*;

const GOOD: &str = r#"title = "Go net/http"
language = "Go"
framework = "net/http"
class = "stdlib"
keep_alive = true
workloads = ["hello", "byte"]
needs = ["go >= 1.22"]
version = { toolchain = "go" }
build = [
  ["go", "build", "-o", "{out}/server", "."],
]
artefacts = ["{out}/server"]
run = ["{out}/server"]
env = { GOGC = "100" }
notes = "plain"
"#;

fn fault(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from} is not in the good manifest");
    let text = GOOD.replacen(from, to, 1);
    let error = Manifest::parse(Path::new("servers/go/server.toml"), &text).unwrap_err();
    error.to_string()
}

fn assert_fault(from: &str, to: &str, place: &str, words: &str) {
    let text = fault(from, to);
    let place = format!("servers/go/server.toml:{place}");
    assert!(text.starts_with(&place), "{text} is not at {place}");
    assert!(text.contains(words), "{text} lacks {words}");
}

#[test]
fn a_good_manifest_is_read() {
    let (manifest, recipe) = Manifest::parse(Path::new("x"), GOOD).unwrap();
    assert_eq!(manifest.class, Class::Stdlib);
    assert_eq!(recipe.needs[0].to_string(), "go >= 1.22");
    assert_eq!(recipe.version, Some(VersionSource::Toolchain("go".into())));
    assert_eq!(recipe.build[0][3].to_string(), "{out}/server");
    assert_eq!(recipe.env["GOGC"].to_string(), "100");
}

#[test]
fn connections_stay_open_unless_the_manifest_says_otherwise() {
    let keep_alive = |line: &str| {
        let text = GOOD.replace("keep_alive = true\n", line);
        Manifest::parse(Path::new("x"), &text).unwrap().0.keep_alive
    };
    assert!(keep_alive(""));
    assert!(keep_alive("keep_alive = true\n"));
    assert!(!keep_alive("keep_alive = false\n"));
}

#[test]
fn every_version_source_is_read() {
    let version = |source: &str| {
        let text = GOOD.replace("{ toolchain = \"go\" }", source);
        Manifest::parse(Path::new("x"), &text)
            .unwrap()
            .1
            .version
            .unwrap()
    };
    assert_eq!(
        version("{ cargo_lock = \"axum\" }"),
        VersionSource::CargoLock("axum".into())
    );
    assert_eq!(
        version("{ go_mod = \"example.org/a\" }"),
        VersionSource::GoMod("example.org/a".into())
    );
    assert_eq!(
        version("{ requirements = \"gunicorn\" }"),
        VersionSource::Requirements("gunicorn".into())
    );
    assert_eq!(
        version("{ pom_property = \"vertx.version\" }"),
        VersionSource::PomProperty("vertx.version".into())
    );
    assert_eq!(
        version("{ text = \"built in\" }"),
        VersionSource::Text("built in".into())
    );
}

#[test]
fn inputs_are_templates() {
    let with = |input: &str| GOOD.replace("notes =", &format!("inputs = [\"{input}\"]\nnotes ="));
    let (_, recipe) = Manifest::parse(Path::new("x"), &with("{workloads}/echo.proto")).unwrap();
    assert_eq!(recipe.inputs[0].path.to_string(), "{workloads}/echo.proto");
    let error = Manifest::parse(Path::new("x"), &with("{workload}/echo.proto")).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("x:15: field `inputs`: "), "{text}");
    assert!(text.contains("did you mean `workloads`?"), "{text}");
}

#[test]
fn a_misspelt_field_is_reported_with_its_line_and_the_nearest() {
    assert_fault(
        "class =",
        "clas =",
        "4: unknown field `clas`",
        "did you mean `class`?",
    );
    assert_fault(
        "{ toolchain =",
        "{ tolchain =",
        "8: field `version`: unknown name `tolchain`",
        "did you mean `toolchain`?",
    );
    assert_fault(
        "toolchain = \"go\"",
        "go_mud = \"go\"",
        "8: field `version`: unknown name `go_mud`",
        "did you mean `go_mod`?",
    );
}

#[test]
fn a_missing_field_is_reported() {
    assert_fault(
        "run = [\"{out}/server\"]\n",
        "",
        "1: missing field `run`",
        "",
    );
}

#[test]
fn unknown_names_are_reported_with_the_nearest() {
    assert_fault("\"stdlib\"", "\"stdlb\"", "4: field `class`", "`stdlib`?");
    assert_fault(
        "\"go >= 1.22\"",
        "\"goo >= 1.22\"",
        "7: field `needs`",
        "no toolchain `goo`; did you mean `go`?",
    );
    assert_fault(
        "{out}/server\", \".\"",
        "{ou}/server\", \".\"",
        "10: field `build`",
        "did you mean `out`?",
    );
}

#[test]
fn empty_and_repeated_values_are_faults() {
    assert_fault(
        "run = [\"{out}/server\"]",
        "run = []",
        "13: field `run`",
        "empty",
    );
    assert_fault("\"Go\"", "\" \"", "2: field `language`", "empty");
    assert_fault(
        "[\"hello\", \"byte\"]",
        "[]",
        "6: field `workloads`",
        "empty",
    );
    assert_fault("\"byte\"", "\"hello\"", "6: field `workloads`", "twice");
}

#[test]
fn versions_and_needs_are_checked() {
    assert_fault(
        "toolchain = \"go\"",
        "toolchain = \"zig\"",
        "8: field `version`",
        "`zig` is not among the `needs`",
    );
    assert_fault(">= 1.22", "1.22", "7: field `needs`", "is not a need");
}

#[test]
fn wrong_types_and_syntax_errors_are_located() {
    assert_fault(
        "\"Go\"",
        "3",
        "2: field `language`",
        "expected text in quotation marks",
    );
    assert_fault("\"Go\"", "\"Go", "2: field `language`", "");
}

#[test]
fn an_invalid_pattern_of_an_input_is_located() {
    assert_fault(
        "run = [",
        "inputs = [\"../a\", \"../lib/[a-c.rs\"]\nrun = [",
        "13: field `inputs`",
        "`[a-c.rs` is not a valid file pattern: unclosed character class",
    );
    assert_fault(
        "run = [",
        "inputs = [\"\"]\nrun = [",
        "13: field `inputs`",
        "it must not be empty",
    );
}

/// The good manifest with more lines at its end.
fn with(lines: &str) -> String {
    format!("{GOOD}{lines}\n")
}

#[test]
fn a_variant_has_its_own_variables_run_and_build() {
    let text = with(
        "[[variant]]\nname = \"small-heap\"\nenv = { GOGC = \"20\", PORT_TO_USE = \"{port}\" }\n\
         [[variant]]\nname = \"fast\"\nbuild = []\nrun = [\"./fast\", \"{host}:{port}\"]",
    );
    let (_, recipe) = Manifest::parse(Path::new("x"), &text).unwrap();
    let words =
        |words: &[Word]| -> Vec<String> { words.iter().map(|word| word.to_string()).collect() };
    let small = recipe.variant("small-heap").unwrap();
    assert_eq!(small.env["GOGC"].to_string(), "20");
    assert_eq!(small.env["PORT_TO_USE"].to_string(), "{port}");
    assert_eq!((&small.run, &small.build), (&recipe.run, &recipe.build));
    let fast = recipe.variant("fast").unwrap();
    assert_eq!(words(&fast.run), ["./fast", "{host}:{port}"]);
    assert!(fast.build.is_empty() && fast.variants.is_empty());
    assert_eq!(fast.env, recipe.env);
    assert_eq!(recipe.variant("none"), None);
}

#[test]
fn faults_of_variants_are_located() {
    let assert_fault = |lines: &str, place: &str, words: &str| {
        let error = Manifest::parse(Path::new("x"), &with(lines))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(&format!("x:{place}")), "{error}");
        assert!(error.contains(words), "{error}");
    };
    let named = |name: &str| format!("[[variant]]\nname = \"{name}\"\nrun = [\"x\"]\n");
    assert_fault(&named("Fast"), "17: field `name`", "lower-case letters");
    let twice = named("a") + &named("a");
    assert_fault(&twice, "20: field `name`", "`a` appears twice");
    let empty = "[[variant]]\nname = \"a\"";
    assert_fault(empty, "17: field `name`", "changes nothing");
    let misspelt = "[[variant]]\nname = \"a\"\nrum = [\"x\"]";
    assert_fault(misspelt, "18: unknown field `rum`", "did you mean `run`?");
    let early = "[[variant]]\nname = \"a\"\nbuild = [[\"x\", \"{port}\"]]";
    assert_fault(early, "18: field `build`", "only when the server starts");
}

#[test]
fn placeholders_known_at_the_start_are_allowed_in_run_and_env_only() {
    let run = GOOD.replace(
        "run = [\"{out}/server\"]",
        "run = [\"{out}/server\", \"{tmp}\"]",
    );
    assert_eq!(
        Manifest::parse(Path::new("x"), &run).unwrap().1.run[1].to_string(),
        "{tmp}"
    );
    assert_fault(
        "\"build\", \"-o\"",
        "\"build\", \"{assets}\"",
        "10: field `build`",
        "`{assets}` is known only when the server starts: use it in `run` or `env`",
    );
    assert_fault(
        "run = [\"{out}/server\"]",
        "run = [\"{out}/server\", \"{prot}\"]",
        "13: field `run`",
        "no placeholder `{prot}` here; did you mean `port`?",
    );
}

#[test]
fn any_program_can_be_needed() {
    let need = |table: &str| {
        let text = GOOD.replace("\"go >= 1.22\"", &format!("\"go\", {table}"));
        Manifest::parse(Path::new("x"), &text).map(|(_, recipe)| recipe.needs[1].clone())
    };
    let php = need(
        r#"{ program = "php", version_command = ["php", "-v"], least = "8.1", install = "apt-get install php-cli" }"#,
    );
    let php = php.unwrap();
    assert_eq!(php.to_string(), "php >= 8.1");
    assert_eq!(php.tool().install_line(), "apt-get install php-cli");
    let plain = need(r#"{ program = "/opt/x/bin/y", install = "make it" }"#).unwrap();
    assert_eq!(plain.to_string(), "/opt/x/bin/y");
    for [table, field, words] in rows(
        r#"
        { program = "php" } | install | missing field
        { program = "php", install = " " } | needs | empty
        { program = "php", version_comand = [], install = "x" } | version_comand | did you mean `version_command`?
        { program = "bin/php", install = "x" } | needs | its name on PATH, or its absolute path
        { program = "php", least = "8.x", install = "x" } | needs | `8.x` is not a version
        7 | needs | or a table with `program` and `install`
    "#,
    ) {
        let error = need(table).unwrap_err().to_string();
        let place = format!("field `{field}`");
        assert!(
            error.starts_with("x:7: ") && error.contains(&place),
            "{error} is not at {place}"
        );
        assert!(error.contains(words), "{error} lacks {words}");
    }
}
