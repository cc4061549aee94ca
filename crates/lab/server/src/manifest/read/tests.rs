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

fn parse(text: &str) -> Result<(Manifest, Recipe), FileError> {
    Manifest::parse(Path::new("x"), text)
}

/// The good manifest with more lines at its end.
fn with(lines: &str) -> String {
    format!("{GOOD}{lines}\n")
}

#[track_caller]
fn assert_fault(text: &str, place: &str, words: &str) {
    let error = parse(text).unwrap_err().to_string();
    let is_there = error.starts_with(&format!("x:{place}"));
    assert!(is_there, "{error} is not at {place}");
    assert!(error.contains(words), "{error} lacks {words}");
}

#[test]
fn a_good_manifest_is_read() {
    let (manifest, recipe) = parse(GOOD).unwrap();
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
        parse(&text).unwrap().0.keep_alive
    };
    assert!(keep_alive(""));
    assert!(keep_alive("keep_alive = true\n"));
    assert!(!keep_alive("keep_alive = false\n"));
}

#[test]
fn every_version_source_is_read() {
    for [source, expected] in rows(
        r#"
        { toolchain = "go" } | Toolchain("go")
        { cargo_lock = "axum" } | CargoLock("axum")
        { go_mod = "example.org/a" } | GoMod("example.org/a")
        { requirements = "gunicorn" } | Requirements("gunicorn")
        { pom_property = "vertx.version" } | PomProperty("vertx.version")
        { text = "built in" } | Text("built in")
    "#,
    ) {
        let (_, recipe) = parse(&GOOD.replace("{ toolchain = \"go\" }", source)).unwrap();
        assert_eq!(format!("{:?}", recipe.version.unwrap()), expected);
    }
}

#[test]
fn inputs_and_arguments_of_run_are_templates() {
    let text = GOOD.replace("server\"]\nenv", "server\", \"{tmp}\"]\nenv");
    let (_, recipe) = parse(&(text + "inputs = [\"{workloads}/echo.proto\"]")).unwrap();
    assert_eq!(recipe.inputs[0].path.to_string(), "{workloads}/echo.proto");
    assert_eq!(recipe.run[1].to_string(), "{tmp}");
}

#[test]
fn faults_are_located_with_the_nearest_name() {
    for [from, to, place, words] in rows(
        r#"
        class = | clas = | 4: unknown field `clas` | did you mean `class`?
        { toolchain = | { tolchain = | 8: field `version`: unknown name `tolchain` | did you mean `toolchain`?
        toolchain = "go" | go_mud = "go" | 8: field `version`: unknown name `go_mud` | did you mean `go_mod`?
        run = ["{out}/server"]\n | "" | 1: missing field `run` | ""
        "stdlib" | "stdlb" | 4: field `class` | `stdlib`?
        "go >= 1.22" | "goo >= 1.22" | 7: field `needs` | no toolchain `goo`; did you mean `go`?
        {out}/server", "." | {ou}/server", "." | 10: field `build` | did you mean `out`?
        // Empty and repeated values.
        run = ["{out}/server"] | run = [] | 13: field `run` | empty
        "Go" | " " | 2: field `language` | empty
        ["hello", "byte"] | [] | 6: field `workloads` | empty
        "byte" | "hello" | 6: field `workloads` | twice
        // Versions and needs.
        toolchain = "go" | toolchain = "zig" | 8: field `version` | `zig` is not among the `needs`
        >= 1.22 | 1.22 | 7: field `needs` | is not a need
        // Types and syntax.
        "Go" | 3 | 2: field `language` | expected text in quotation marks
        "Go" | "Go | 2: field `language` | ""
        // Inputs.
        notes = | inputs = ["{workload}/echo.proto"]\nnotes = | 15: field `inputs`: | did you mean `workloads`?
        run = [ | inputs = ["../a", "../lib/[a-c.rs"]\nrun = [ | 13: field `inputs` | `[a-c.rs` is not a valid file pattern: unclosed character class
        run = [ | inputs = [""]\nrun = [ | 13: field `inputs` | it must not be empty
        // Placeholders that are known at the start are allowed in `run` and `env` only.
        "build", "-o" | "build", "{assets}" | 10: field `build` | `{assets}` is known only when the server starts: use it in `run` or `env`
        run = ["{out}/server"] | run = ["{out}/server", "{prot}"] | 13: field `run` | no placeholder `{prot}` here; did you mean `port`?
    "#,
    ) {
        assert!(GOOD.contains(from), "{from} is not in the good manifest");
        assert_fault(&GOOD.replacen(from, to, 1), place, words);
    }
}

#[test]
fn a_variant_has_its_own_variables_run_and_build() {
    let text = with(
        "[[variant]]\nname = \"small-heap\"\nenv = { GOGC = \"20\", PORT_TO_USE = \"{port}\" }\n\
         [[variant]]\nname = \"fast\"\nbuild = []\nrun = [\"./fast\", \"{host}:{port}\"]",
    );
    let (_, recipe) = parse(&text).unwrap();
    let words = |words: &[Word]| words.iter().map(Word::to_string).collect::<Vec<_>>();
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
    for [lines, place, words] in rows(
        r#"
        name = "Fast"\nrun = ["x"] | 17: field `name` | lower-case letters
        name = "a"\nrun = ["x"]\n[[variant]]\nname = "a"\nrun = ["x"] | 20: field `name` | `a` appears twice
        name = "a" | 17: field `name` | changes nothing
        name = "a"\nrum = ["x"] | 18: unknown field `rum` | did you mean `run`?
        name = "a"\nbuild = [["x", "{port}"]] | 18: field `build` | only when the server starts
    "#,
    ) {
        assert_fault(&with(&format!("[[variant]]\n{lines}")), place, words);
    }
}

#[test]
fn any_program_can_be_needed() {
    let with_need = |table: &str| GOOD.replace("\"go >= 1.22\"", &format!("\"go\", {table}"));
    for [table, shown, install] in rows(
        r#"
        { program = "php", version_command = ["php", "-v"], least = "8.1", install = "apt-get install php-cli" } | php >= 8.1 | apt-get install php-cli
        { program = "/opt/x/bin/y", install = "make it" } | /opt/x/bin/y | make it
    "#,
    ) {
        let (_, recipe) = parse(&with_need(table)).unwrap();
        let need = &recipe.needs[1];
        assert_eq!(need.to_string(), shown);
        assert_eq!(need.tool().install_line(), install);
    }
    for [table, place, words] in rows(
        r#"
        { program = "php" } | 7: missing field `install` | ""
        { program = "php", install = " " } | 7: field `needs` | empty
        { program = "php", version_comand = [], install = "x" } | 7: unknown field `version_comand` | did you mean `version_command`?
        { program = "bin/php", install = "x" } | 7: field `needs` | its name on PATH, or its absolute path
        { program = "php", least = "8.x", install = "x" } | 7: field `needs` | `8.x` is not a version
        7 | 7: field `needs` | or a table with `program` and `install`
    "#,
    ) {
        assert_fault(&with_need(table), place, words);
    }
}
