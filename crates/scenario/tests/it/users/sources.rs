//! Where the values of each flow come from.

use std::collections::BTreeSet;

use prony_load::{FlowShare, Scenario};
use prony_scenario::{RandomRange, Sources};

use crate::users::{Client, Given, scenario_of};

/// The paths of as many flows of `GET http://a/PATH`, by one user.
fn paths(path: &str, sources: Sources, flows: usize) -> Vec<String> {
    let scenario = scenario_of(&format!("GET http://a/{path}\n"), sources);
    let mut user = scenario.user(0, 1, FlowShare::ALL);
    (0..flows)
        .map(|_| {
            user.begin();
            user.next();
            user.request().parts().url().path()[1..].to_owned()
        })
        .collect()
}

fn range(least: i64, most: i64) -> RandomRange {
    format!("{least}..{most}").parse().unwrap()
}

fn csv(text: &str) -> Sources {
    let mut sources = Sources::default();
    sources.add_csv(text.as_bytes()).unwrap();
    sources
}

fn csv_error(text: impl AsRef<[u8]>) -> String {
    let mut sources = Sources::default();
    sources.add_csv(text.as_ref()).unwrap_err().to_string()
}

fn lines_error(text: &str) -> String {
    let mut sources = Sources::default();
    let result = sources.add_json_lines(text.as_bytes());
    result.unwrap_err().to_string()
}

#[test]
fn rows_come_in_order_and_then_again() {
    let text = "name, id\nann,1\n\"b, b\",2\nÜ,3\n";
    let expected = ["ann-1", "b,%20b-2", "%C3%9C-3", "ann-1", "b,%20b-2"];
    assert_eq!(paths("{{name}}-{{id}}", csv(text), 5), expected);
}

/// The paths of as many flows of one agent's user.
fn paths_of_agent(scenario: &impl Scenario, share: FlowShare, flows: usize) -> Vec<String> {
    let mut user = scenario.user(share.agent, 1, share);
    let path = |_| {
        user.begin();
        user.next();
        user.request().parts().url().path()[1..].to_owned()
    };
    (0..flows).map(path).collect()
}

#[test]
fn agents_take_rows_and_numbers_in_turn() {
    let agents = 3;
    let given = || {
        let mut sources = csv("name\na\nb\nc\nd\ne\n");
        sources.add_counter("n", 100).unwrap();
        sources
    };
    let path = "{{name}}{{n}}";
    let mut all = BTreeSet::new();
    for agent in 0..agents {
        // Each agent has a process, and so a scenario, of its own.
        let scenario = scenario_of(&format!("GET http://a/{path}\n"), given());
        all.extend(paths_of_agent(&scenario, FlowShare { agent, agents }, 4));
    }
    let expected: BTreeSet<String> = paths(path, given(), 12).into_iter().collect();
    assert_eq!((all.len(), &all), (12, &expected));
}

#[test]
fn flows_of_other_processes_are_left_out() {
    let begin_with = |number| {
        let mut sources = csv("name\na\nb\nc\n");
        sources.add_counter("n", 100).unwrap();
        sources.begin_with_flow(number);
        scenario_of("GET http://a/{{name}}{{n}}\n", sources)
    };
    let scenario = begin_with(0);
    assert_eq!(
        paths_of_agent(&scenario, FlowShare::ALL, 2),
        ["a100", "b101"]
    );
    scenario.skip_flows(5);
    assert_eq!(paths_of_agent(&scenario, FlowShare::ALL, 1), ["b107"]);
    let share = FlowShare {
        agent: 1,
        agents: 2,
    };
    assert_eq!(paths_of_agent(&begin_with(8), share, 2), ["a109", "c111"]);
}

#[test]
fn rows_may_be_json_lines() {
    let mut sources = Sources::default();
    let text = "{\"name\": \"ann\", \"id\": 1}\n\n{\"id\": 2.5, \"name\": true}\r\n";
    sources.add_json_lines(text.as_bytes()).unwrap();
    let expected = ["ann-1", "true-2.5", "ann-1"];
    assert_eq!(paths("{{name}}-{{id}}", sources, 3), expected);
}

#[test]
fn a_csv_file_may_begin_with_a_mark_and_have_line_ends_of_windows() {
    let text = "\u{feff}a,b\r\n1,2\r\n";
    assert_eq!(paths("{{a}}{{b}}", csv(text), 1), ["12"]);
}

#[test]
fn a_json_lines_file_may_begin_with_a_mark() {
    let mut sources = Sources::default();
    let text = "\u{feff}{\"a\": 1}\n{\"a\": 2}\n";
    sources.add_json_lines(text.as_bytes()).unwrap();
    assert_eq!(paths("{{a}}", sources, 2), ["1", "2"]);
}

#[test]
fn users_share_the_rows() {
    let scenario = scenario_of("GET http://a/{{id}}\n", csv("id\n1\n2\n3\n4\n"));
    let mut users: Vec<_> = (0..4)
        .map(|number| Client::seeded(&scenario, number))
        .collect();
    let mut all: Vec<String> = users.iter_mut().map(|user| user.sends().path).collect();
    all.sort();
    assert_eq!(all, ["/1", "/2", "/3", "/4"]);
}

#[test]
fn every_value_of_a_flow_is_of_one_row() {
    let mut client = Client::new(scenario_of(
        "GET http://a/{{id}}\nPOST http://a/{{name}}\n{\"id\": {{id}}, \"name\": \"{{name}}\"}\n",
        csv("id,name\n1,one\n2,two\n"),
    ));
    let all = client.flow(&Given::status(200));
    assert_eq!((all[0].path.as_str(), all[1].path.as_str()), ("/2", "/two"));
    assert_eq!(all[1].text(), "{\"id\": 2, \"name\": \"two\"}");
}

#[test]
fn several_files_are_independent() {
    let mut sources = csv("a\n1\n2\n");
    sources.add_csv("b\nx\ny\nz\n".as_bytes()).unwrap();
    assert_eq!(paths("{{a}}{{b}}", sources, 4), ["1x", "2y", "1z", "2x"]);
}

#[test]
fn rows_and_counters_stay_together_for_the_users_of_all_threads() {
    let numbers: String = (0..500).map(|number| format!("{number}\n")).collect();
    let mut sources = csv(&format!("a\n{numbers}"));
    let more = format!("b\n{numbers}");
    sources.add_csv(more.as_bytes()).unwrap();
    sources.add_counter("n", 0).unwrap();
    let scenario = scenario_of("GET http://a/{{a}}/{{b}}/{{n}}\n", sources);
    let paths = |user| {
        let mut client = Client::seeded(&scenario, user);
        let path = |_| {
            client.user.begin();
            client.user.next();
            client.user.request().parts().url().path().to_owned()
        };
        (0..5_000).map(path).collect::<Vec<String>>()
    };
    let paths = std::thread::scope(|scope| {
        let threads = [0, 1, 2, 3].map(|user| scope.spawn(move || paths(user)));
        threads.map(|thread| thread.join().unwrap()).concat()
    });
    for path in paths {
        let parts: Vec<u64> = path[1..].split('/').map(|it| it.parse().unwrap()).collect();
        assert!(
            parts[0] == parts[1] && parts[0] == parts[2] % 500,
            "{path} mixes rows"
        );
    }
}

#[test]
fn a_file_of_rows_has_not_too_many_values() {
    let names: Vec<String> = (0..1000).map(|number| format!("c{number}")).collect();
    let text = |rows| {
        format!(
            "{}\n{}",
            names.join(","),
            format!("{}\n", ",".repeat(999)).repeat(rows)
        )
    };
    csv(&text(10));
    assert_eq!(
        csv_error(text(5001)),
        "has more than 5 million values (rows times columns); remove rows, or columns that no placeholder names"
    );
}

#[test]
fn a_variable_has_a_name_that_placeholders_can_have() {
    let refused = |result: Result<(), prony_scenario::SourcesError>, name: &str| {
        let told = result.unwrap_err().to_string();
        let expected = format!("sets `{name}`, which cannot be the name of a variable: ");
        assert!(told.starts_with(&expected), "{told}");
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
fn bad_rows_are_refused() {
    assert_eq!(csv_error(""), "has no rows");
    assert_eq!(csv_error("a,b\n"), "has no rows");
    assert_eq!(csv_error("a,,c\n1,2,3\n"), "has no name in column 2");
    assert_eq!(
        csv_error("a,a\n1,2\n"),
        "sets the variable `a`, which has another source"
    );
    let told = csv_error("a,b\n1,2\n3\n");
    assert_eq!(told, "has 1 instead of 2 columns in line 3");
    let told = csv_error("a,b\n1,2,3\n");
    assert_eq!(told, "has 3 instead of 2 columns in line 2");
    let told = csv_error(b"a\n\xff\n");
    assert!(
        told.starts_with("cannot be read: ") && told.contains("UTF-8"),
        "{told}"
    );
    assert_eq!(lines_error(""), "has no rows");
    assert_eq!(lines_error("\n \n"), "has no rows");
    assert!(lines_error("{\"a\": 1}\n[1]\n").starts_with("has no JSON object in line 2: "));
    assert!(lines_error("{\"a\": 1}\n{\"a\": }\n").starts_with("has no JSON object in line 2: "));
    assert!(
        lines_error("{\"a\": 1}\n\n{\"b\": 1}\n")
            .starts_with("has other names in line 3 than in the first one: ")
    );
    assert!(
        lines_error("{\"a\": 1}\n{\"a\": 1, \"b\": 1}\n").starts_with("has other names in line 2 ")
    );
}

#[test]
fn an_object_without_names_is_no_row() {
    assert!(
        lines_error("{}\n{}\n").contains("no names"),
        "{}",
        lines_error("{}\n")
    );
}

#[test]
fn a_variable_has_one_source() {
    let twice = |result: Result<(), prony_scenario::SourcesError>| {
        assert_eq!(
            result.unwrap_err().to_string(),
            "sets the variable `a`, which has another source"
        );
    };
    let mut sources = Sources::default();
    sources.set("a", "1").unwrap();
    twice(sources.add_csv("a\n1\n".as_bytes()));
    twice(sources.add_counter("a", 1));
    twice(sources.add_random("a", range(1, 2)));
    let mut sources = csv("a\n1\n");
    twice(sources.add_json_lines("{\"a\": 1}".as_bytes()));
    let mut sources = Sources::default();
    sources.set_secret("a", "1").unwrap();
    twice(sources.add_counter("a", 1));
}

#[test]
fn counters_count_the_flows_of_all_users() {
    let mut sources = Sources::default();
    sources.add_counter("n", -1).unwrap();
    assert_eq!(paths("{{n}}", sources, 4), ["-1", "0", "1", "2"]);
    for first in [i64::MIN, i64::MAX, (1 << 62) + 1] {
        let told = Sources::default().add_counter("n", first).unwrap_err();
        let expected = format!("begins with {first}: write a first number between ");
        assert!(told.to_string().starts_with(&expected), "{told}");
    }
    let mut sources = Sources::default();
    sources.add_counter("n", 1 << 62).unwrap();
    let expected = [1_i64 << 62, (1 << 62) + 1].map(|number| number.to_string());
    assert_eq!(paths("{{n}}", sources, 2), expected);
}

#[test]
fn random_numbers_stay_within_their_bounds_and_reach_them() {
    let mut sources = Sources::default();
    sources.add_random("n", range(-2, 2)).unwrap();
    assert!(sources.is_random());
    let drawn: BTreeSet<String> = paths("{{n}}", sources, 500).into_iter().collect();
    let expected = ["-1", "-2", "0", "1", "2"].map(str::to_owned);
    assert_eq!(drawn, BTreeSet::from(expected));
    let mut sources = Sources::default();
    sources.add_random("n", range(i64::MIN, i64::MAX)).unwrap();
    paths("{{n}}", sources, 10);
}

#[test]
fn random_values_depend_on_the_seed_of_the_user() {
    let scenario = |()| {
        let mut sources = Sources::default();
        sources.add_random("n", range(1, i64::MAX)).unwrap();
        scenario_of("GET http://a/{{n}}\n", sources)
    };
    let (one, other) = (scenario(()), scenario(()));
    let drawn = |scenario, seed| Client::seeded(scenario, seed).sends().path;
    assert_eq!(drawn(&one, 7), drawn(&other, 7));
    assert_ne!(drawn(&one, 7), drawn(&one, 8));
}

#[test]
fn values_have_the_types_of_hurl() {
    let mut sources = Sources::default();
    for (name, value) in [
        ("t", "true"),
        ("n", "null"),
        ("i", "-5"),
        ("f", "1.50"),
        ("m", "-1.5"),
        ("z", "007"),
        ("s", "a\"b"),
    ] {
        sources.set(name, value).unwrap();
    }
    let text = "POST http://a/\n[{{t}}, {{n}}, {{i}}, {{f}}, {{m}}, \"{{z}}\", \"{{s}}\"]\n";
    let scenario = scenario_of(text, sources);
    let sent = Client::of(&scenario).sends();
    assert_eq!(
        sent.text(),
        "[true, null, -5, 1.5, -1.5, \"007\", \"a\\\"b\"]"
    );
}
