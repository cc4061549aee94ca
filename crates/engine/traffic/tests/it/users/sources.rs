//! Where the values of each flow come from.

use std::collections::BTreeSet;

use prony_testkit::table::rows;
use prony_traffic::{FlowShare, RandomRange, Scenario, Sources, SourcesError, User};

use crate::users::{Client, Given, client_with, paths, scenario_of, sources};

/// The paths of as many flows of a user whose file has one entry.
fn paths_of(mut user: User<'_>, flows: usize) -> Vec<String> {
    let path = |_| {
        user.begin();
        user.next_turn();
        user.request().parts().url().path()[1..].to_owned()
    };
    (0..flows).map(path).collect()
}

fn paths_of_agent(scenario: &Scenario, share: FlowShare, flows: usize) -> Vec<String> {
    paths_of(scenario.user(1, share), flows)
}

/// The paths of as many flows of `GET http://a/PATH`, by one user.
fn first_paths(path: &str, sources: Sources, flows: usize) -> Vec<String> {
    let scenario = scenario_of(&format!("GET http://a/{path}\n"), sources);
    paths_of_agent(&scenario, FlowShare::ALL, flows)
}

fn range(least: i64, most: i64) -> RandomRange {
    format!("{least}..{most}").parse().unwrap()
}

fn csv(text: &str) -> Sources {
    sources(|it| it.add_csv(text.as_bytes()))
}

fn json_lines(text: &str) -> Sources {
    sources(|it| it.add_json_lines(text.as_bytes()))
}

#[test]
fn rows_come_in_order_and_then_again() {
    let text = "name, id\nann,1\n\"b, b\",2\nÜ,3\n";
    let expected = ["ann-1", "b,%20b-2", "%C3%9C-3", "ann-1", "b,%20b-2"];
    assert_eq!(first_paths("{{name}}-{{id}}", csv(text), 5), expected);
    let text = "{\"name\": \"ann\", \"id\": 1}\n\n{\"id\": 2.5, \"name\": true}\r\n";
    let expected = ["ann-1", "true-2.5", "ann-1"];
    assert_eq!(
        first_paths("{{name}}-{{id}}", json_lines(text), 3),
        expected
    );
}

#[test]
fn a_cell_is_sent_as_it_is_unless_its_column_is_a_number() {
    let cells = [
        "10.00",
        "1.10",
        "0.1000",
        "2026.10",
        "1.00000000000000000001",
        "007",
        "1e5",
        "true",
    ];
    let text = format!("price\n{}\n", cells.join("\n"));
    assert_eq!(first_paths("{{price}}", csv(&text), cells.len()), cells);
    let numbers = "n:number,id\n1.50,1.50\n-7,x\n\" 1e2 \",y\n";
    let expected = ["1.5-1.50", "-7-x", "100.0-y"];
    assert_eq!(first_paths("{{n}}-{{id}}", csv(numbers), 3), expected);
    let file = "GET http://a/\nHTTP 200\n[Asserts]\njsonpath \"$.a\" == {{a}}\n";
    for (header, body, is_ok) in [
        ("a", r#"{"a": "7"}"#, true),
        ("a", r#"{"a": 7}"#, false),
        ("a:number", r#"{"a": 7}"#, true),
        ("a:number", r#"{"a": 7.0}"#, true),
    ] {
        let mut client = Client::new(scenario_of(file, csv(&format!("{header}\n7\n"))));
        client.sends();
        let accepted = client.respond(Given::ok(body));
        assert_eq!(accepted.is_ok(), is_ok, "{header} {body}");
    }
}

#[test]
fn a_file_may_begin_with_a_mark_and_have_line_ends_of_windows() {
    let text = "\u{feff}a,b\r\n1,2\r\n";
    assert_eq!(first_paths("{{a}}{{b}}", csv(text), 1), ["12"]);
    let text = "\u{feff}{\"a\": 1}\n{\"a\": 2}\n";
    assert_eq!(first_paths("{{a}}", json_lines(text), 2), ["1", "2"]);
}

fn rows_and_numbers(rows: &str) -> Sources {
    let mut sources = csv(rows);
    sources.add_counter("n", 100).unwrap();
    sources
}

#[test]
fn agents_take_rows_and_numbers_in_turn() {
    let given = || rows_and_numbers("name\na\nb\nc\nd\ne\n");
    let mut all = BTreeSet::new();
    for agent in 0..3 {
        // Each agent has a process, and so a scenario, of its own.
        let scenario = scenario_of("GET http://a/{{name}}{{n}}\n", given());
        all.extend(paths_of_agent(&scenario, FlowShare { agent, agents: 3 }, 4));
    }
    let expected = first_paths("{{name}}{{n}}", given(), 12);
    assert_eq!((all.len(), all), (12, BTreeSet::from_iter(expected)));
}

#[test]
fn flows_of_other_processes_are_left_out() {
    let begin_with = |number| {
        let mut sources = rows_and_numbers("name\na\nb\nc\n");
        sources.begin_with_flow(number);
        scenario_of("GET http://a/{{name}}{{n}}\n", sources)
    };
    let scenario = begin_with(0);
    assert_eq!(
        paths_of_agent(&scenario, FlowShare::ALL, 2),
        ["a100", "b101"]
    );
    scenario.sources().skip_flows(5);
    assert_eq!(paths_of_agent(&scenario, FlowShare::ALL, 1), ["b107"]);
    let (agent, agents) = (1, 2);
    let paths = paths_of_agent(&begin_with(8), FlowShare { agent, agents }, 2);
    assert_eq!(paths, ["a109", "c111"]);
}

#[test]
fn every_value_of_a_flow_is_of_one_row() {
    let text =
        "GET http://a/{{id}}\nPOST http://a/{{name}}\n{\"id\": {{id}}, \"name\": \"{{name}}\"}\n";
    let mut client = Client::new(scenario_of(text, csv("id,name\n1,one\n2,two\n")));
    let all = client.flow("200");
    assert_eq!(paths(&all), ["/2", "/two"]);
    assert_eq!(all[1].text(), "{\"id\": 2, \"name\": \"two\"}");
}

#[test]
fn several_files_are_independent() {
    let mut sources = csv("a\n1\n2\n");
    sources.add_csv("b\nx\ny\nz\n".as_bytes()).unwrap();
    assert_eq!(
        first_paths("{{a}}{{b}}", sources, 4),
        ["1x", "2y", "1z", "2x"]
    );
}

#[test]
fn rows_and_counters_stay_together_for_the_users_of_all_threads() {
    let numbers: String = (0..500).map(|number| format!("{number}\n")).collect();
    let mut sources = csv(&format!("a\n{numbers}"));
    let more = format!("b\n{numbers}");
    sources.add_csv(more.as_bytes()).unwrap();
    sources.add_counter("n", 0).unwrap();
    let scenario = scenario_of("GET http://a/{{a}}/{{b}}/{{n}}\n", sources);
    let paths = |user| paths_of(scenario.user(user, FlowShare::ALL), 5_000);
    let paths = std::thread::scope(|scope| {
        let threads = [0, 1, 2, 3].map(|user| scope.spawn(move || paths(user)));
        threads.map(|thread| thread.join().unwrap()).concat()
    });
    let mut numbers = BTreeSet::new();
    for path in paths {
        let parts: Vec<u64> = path.split('/').map(|it| it.parse().unwrap()).collect();
        let row = parts[2] % 500;
        assert_eq!(parts[..2], [row, row], "{path} mixes rows");
        numbers.insert(parts[2]);
    }
    assert_eq!(numbers.len(), 20_000, "users share the flows");
}

#[test]
fn a_file_of_rows_has_not_too_many_values() {
    let names: Vec<String> = (0..1000).map(|number| format!("c{number}")).collect();
    let row = format!("{}\n", ",".repeat(999));
    let text = |rows| format!("{}\n{}", names.join(","), row.repeat(rows));
    csv(&text(10));
    let added = Sources::default().add_csv(text(5001).as_bytes());
    assert_eq!(
        added.unwrap_err().to_string(),
        "has more than 5 million values (rows times columns); remove rows, or columns that no placeholder names"
    );
}

#[test]
fn bad_rows_are_refused() {
    for [kind, text, expected] in rows(
        r#"
        csv | "" | has no rows
        csv | a,b\n | has no rows
        csv | a,,c\n1,2,3\n | has no name in column 2
        csv | a,a\n1,2\n | sets the variable `a`, which has another source
        csv | a,b\n1,2\n3\n | has 1 instead of 2 columns in line 3
        csv | n:number\n1\nx\n | has no number in line 3, column `n`: `x`
        csv | n:number\n007\n | has no number in line 2, column `n`: `007`
        csv | n:text\n007\n | sets `n:text`, which cannot be the name of a variable: use letters, digits, hyphens and underscores, and neither `newUuid` nor `newDate`
        csv | a,b\n1,2,3\n | has 3 instead of 2 columns in line 2
        json | "" | has no rows
        json | \n\x20\n | has no rows
        json | {"a": 1}\n[1]\n | has no JSON object in line 2: it is another value
        json | {"a": 1}\n{"a": }\n | has no JSON object in line 2: expected value at line 1 column 7
        json | {"a": 1}\n\n{"b": 1}\n | has other names in line 3 than in the first one: ["b"] instead of ["a"]
        json | {"a": 1}\n{"a": 1, "b": 1}\n | has other names in line 2 than in the first one: ["a", "b"] instead of ["a"]
        json | {}\n{}\n | has no names in line 1
    "#,
    ) {
        let mut sources = Sources::default();
        let added = match kind {
            "csv" => sources.add_csv(text.as_bytes()),
            _ => sources.add_json_lines(text.as_bytes()),
        };
        assert_eq!(added.unwrap_err().to_string(), expected, "{text}");
    }
    let no_text = Sources::default().add_csv(&b"a\n\xff\n"[..]);
    let reason = no_text.unwrap_err().to_string();
    assert!(
        reason.starts_with("cannot be read: CSV parse error: record 1 (line 2, field: 0"),
        "{reason}"
    );
}

#[test]
fn a_variable_has_a_name_that_placeholders_can_have() {
    let refused = |result: Result<(), SourcesError>, name: &str| {
        let reason = result.unwrap_err().to_string();
        let expected = format!("sets `{name}`, which cannot be the name of a variable: ");
        assert!(reason.starts_with(&expected), "{reason}");
    };
    let mut sources = Sources::default();
    refused(sources.add_csv("a,newUuid\n1,2\n".as_bytes()), "newUuid");
    refused(sources.add_csv("a b\n1\n".as_bytes()), "a b");
    refused(sources.add_json_lines("{\"x.y\": 1}\n".as_bytes()), "x.y");
    refused(sources.add_counter("newDate", 1), "newDate");
    refused(sources.add_random("", range(1, 2)), "");
    refused(sources.set("a\n", "1"), "a\\n");
    refused(sources.set_unchanged("newUuid", "1"), "newUuid");
    refused(sources.set_secret("{{a}}", "1"), "{{a}}");
}

#[test]
fn a_variable_has_one_source() {
    for mut sources in [
        sources(|it| it.set("a", "1")),
        sources(|it| it.set_secret("a", "1")),
        csv("a\n1\n"),
    ] {
        for twice in [
            sources.add_csv("a\n1\n".as_bytes()),
            sources.add_json_lines("{\"a\": 1}".as_bytes()),
            sources.add_counter("a", 1),
            sources.add_random("a", range(1, 2)),
        ] {
            let reason = twice.unwrap_err().to_string();
            assert_eq!(reason, "sets the variable `a`, which has another source");
        }
    }
}

#[test]
fn counters_count_the_flows_of_all_users() {
    let counted =
        |first, flows| first_paths("{{n}}", sources(|it| it.add_counter("n", first)), flows);
    assert_eq!(counted(-1, 4), ["-1", "0", "1", "2"]);
    let expected = [1_i64 << 62, (1 << 62) + 1].map(|number| number.to_string());
    assert_eq!(counted(1 << 62, 2), expected);
    for first in [i64::MIN, i64::MAX, (1 << 62) + 1] {
        let reason = Sources::default().add_counter("n", first).unwrap_err();
        let expected = format!("begins with {first}: write a first number between ");
        assert!(reason.to_string().starts_with(&expected), "{reason}");
    }
}

#[test]
fn random_numbers_stay_within_their_bounds_and_reach_them() {
    let random = |least, most| sources(|it| it.add_random("n", range(least, most)));
    assert!(random(-2, 2).is_random());
    let drawn = BTreeSet::from_iter(first_paths("{{n}}", random(-2, 2), 500));
    let expected = ["-1", "-2", "0", "1", "2"].map(str::to_owned);
    assert_eq!(drawn, BTreeSet::from(expected));
    first_paths("{{n}}", random(i64::MIN, i64::MAX), 10);
}

#[test]
fn random_values_depend_on_the_seed_of_the_user() {
    let drawn = |seed| {
        let random = sources(|it| it.add_random("n", range(1, i64::MAX)));
        let scenario = scenario_of("GET http://a/{{n}}\n", random);
        Client::seeded(&scenario, seed).sends().path
    };
    assert_eq!(drawn(7), drawn(7));
    assert_ne!(drawn(7), drawn(8));
}

#[test]
fn values_have_the_types_of_hurl() {
    let text = "POST http://a/\n[{{t}}, {{n}}, {{i}}, {{f}}, {{m}}, \"{{z}}\", \"{{s}}\"]\n";
    let variables = [
        ("t", "true"),
        ("n", "null"),
        ("i", "-5"),
        ("f", "1.50"),
        ("m", "-1.5"),
        ("z", "007"),
        ("s", "a\"b"),
    ];
    let sent = client_with(text, &variables).sends();
    let expected = "[true, null, -5, 1.5, -1.5, \"007\", \"a\\\"b\"]";
    assert_eq!(sent.text(), expected);
}
