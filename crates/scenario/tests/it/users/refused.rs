//! Files that are not run, and flows that cannot go on.

use prony_load::Scenario;
use prony_scenario::{MOST_ENTRIES, Sources};

use crate::users::{Client, Given, in_folder, refusal, scenario, scenario_of, scenario_with};

fn refused(text: &str) -> String {
    refusal(text, Sources::default())
}

#[test]
fn an_error_of_the_notation_has_its_line_and_a_caret() {
    let told = refused("GET http://a/\nHTTP 200\n[Asserts]\nbody equals \"x\"\n");
    assert!(told.contains("--> test.hurl:4:"), "{told}");
    assert!(
        told.contains("body equals \"x\"") && told.contains('^'),
        "{told}"
    );
}

#[test]
fn what_is_not_supported_is_named_at_once() {
    let told = refused("GET http://a/\n[Options]\nipv6: true\nproxy: b:1\n");
    assert!(told.contains("ipv6") && told.contains("proxy"), "{told}");
    assert!(
        told.contains("test.hurl:3:") && told.contains("test.hurl:4:"),
        "{told}"
    );
}

#[test]
fn several_servers_are_refused() {
    for other in [
        "http://b/",
        "http://a:81/",
        "https://a/",
        "http://{{other}}/",
    ] {
        let mut sources = Sources::default();
        sources.set("other", "b").unwrap();
        let told = refusal(&format!("GET http://a/\nGET {other}\n"), sources);
        assert!(told.starts_with("test.hurl:2:5: "), "{told}");
        assert!(
            told.ends_with("is on another server than http://a/; a load needs one server"),
            "{told}"
        );
    }
    scenario("GET http://a/\nGET http://a:80/x\nGET http://A\n");
}

#[test]
fn a_server_that_only_a_flow_knows_is_checked_there() {
    let text = "GET http://a/\nHTTP 200\n[Captures]\nnext: body\nGET {{next}}\n";
    let mut client = Client::new(scenario(text));
    client.exchange(&Given::ok("http://a/x"));
    assert_eq!(client.sends().path, "/x");
    client.user.begin();
    client.exchange(&Given::ok("http://b/x"));
    assert_eq!(
        client.fails(),
        "test.hurl:5:1: http://b/x is on another server than http://a; a load needs one server"
    );
    client.user.begin();
    client.exchange(&Given::ok("no url"));
    assert!(client.fails().starts_with("test.hurl:5:5: Invalid URL"));
}

#[test]
fn the_server_must_be_known_before_the_load() {
    let mut sources = Sources::default();
    sources.add_counter("n", 1).unwrap();
    let told = refusal("GET http://a{{n}}/x\n", sources);
    assert_eq!(
        told,
        "test.hurl:1:5: the server must be known before the load, but `http://a{{n}}/x` takes it from a value that differs between flows"
    );
    assert!(refused("GET nonsense\n").starts_with("test.hurl:1:5: "));
    assert!(refused("GET //a/b\n").ends_with("did you mean `http://a/b`?"));
    assert!(refused("GET \"http://a\"\n").contains("`\"http` is not supported"));
    assert!(refused("GET ftp://a/\n").contains("ftp"));
}

#[test]
fn an_option_may_name_the_server() {
    for options in [
        "variable: base=http://a:81",
        "variable: host=a\nvariable: base=http://{{host}}:81",
        "variable: port=81\nvariable: base=http://{{name}}:{{port}}",
    ] {
        let text = format!("GET {{{{base}}}}/x\n[Options]\n{options}\n\nGET {{{{base}}}}/y\n");
        let scenario = scenario_with(&text, &[("name", "a")]);
        assert_eq!(scenario.server().as_str(), "http://a:81/", "{options}");
        let mut client = Client::of(&scenario);
        assert_eq!(client.sends().path, "/x");
        client.takes(&Given::ok(""));
        assert_eq!(client.sends().path, "/y");
    }
}

#[test]
fn an_option_names_no_server_if_its_value_may_change() {
    let unknown = "the server must be known before the load";
    for text in [
        "GET {{base}}/\n[Options]\nvariable: base=http://a{{n}}\n",
        "GET {{base}}/\n[Options]\nvariable: base=http://{{newUuid}}\n",
        "GET {{base}}/\n[Options]\nvariable: base=http://a\nvariable: base={{n}}\n",
    ] {
        let mut sources = Sources::default();
        sources.add_counter("n", 1).unwrap();
        let told = refusal(text, sources);
        assert!(told.contains(unknown), "{text}: {told}");
    }
    let other = "GET http://a\n[Options]\nvariable: base=http://b\nHTTP 200\n[Captures]\n";
    for capture in ["base", "{{name}}"] {
        let text = format!("{other}{capture}: body\n\nGET {{{{base}}}}/\n");
        let mut client = Client::new(scenario_with(&text, &[("name", "base")]));
        client.exchange(&Given::ok("http://a"));
        assert_eq!(client.sends().path, "/");
    }
}

#[test]
fn a_variable_without_a_value_has_its_place() {
    for (text, place) in [
        ("GET http://a/{{v}}\n", "1:16"),
        ("GET http://a/\nX: {{v}}\n", "2:6"),
        ("GET http://a/\n{{v}}: 1\n", "2:3"),
        ("GET http://a/\n[Query]\nx: {{v}}\n", "3:6"),
        ("POST http://a/\n[Form]\nx: {{v}}\n", "3:6"),
        ("POST http://a/\n[Multipart]\nx: {{v}}\n", "3:6"),
        ("POST http://a/\n[Multipart]\nx: file,{{v}};\n", "3:11"),
        ("GET http://a/\n[Cookies]\nx: {{v}}\n", "3:6"),
        ("GET http://a/\n[BasicAuth]\nx: {{v}}\n", "3:6"),
        ("GET http://a/\n[Options]\nuser: {{v}}\n", "3:9"),
        ("GET http://a/\n[Options]\nskip: {{v}}\n", "3:9"),
        ("GET http://a/\n[Options]\nrepeat: {{v}}\n", "3:11"),
        ("GET http://a/\n[Options]\ndelay: {{v}}\n", "3:10"),
        ("POST http://a/\n{\"a\": {{v}}}\n", "2:9"),
        ("POST http://a/\n{\"a\": \"{{v}}\"}\n", "2:10"),
        ("POST http://a/\n`x {{v}}`\n", "2:6"),
        ("POST http://a/\n```\n{{v}}\n```\n", "3:3"),
        ("POST http://a/\nfile,{{v}};\n", "2:8"),
    ] {
        let told = refused(text);
        assert_eq!(
            told,
            format!(
                "test.hurl:{place}: the variable `v` is not defined; give it with --variable v=VALUE"
            ),
            "{text}"
        );
    }
}

#[test]
fn a_variable_that_a_response_needs_has_its_place() {
    for (lines, place) in [
        ("X: {{v}}", "3:6"),
        ("{{v}}: 1", "3:3"),
        ("{\"a\": {{v}}}", "3:9"),
        ("`x {{v}}`", "3:6"),
        ("```\n{{v}}\n```", "4:3"),
        ("file,{{v}};", "3:8"),
        ("[Captures]\nx: header \"{{v}}\"", "4:14"),
        ("[Captures]\nx: body split \"{{v}}\"", "4:18"),
        ("[Captures]\nx: variable \"{{v}}\"", "4:16"),
        ("[Captures]\nx: body\n[Asserts]\nbody == {{v}}", "6:11"),
        ("[Asserts]\ncookie \"{{v}}\" exists", "4:11"),
        ("[Asserts]\njsonpath \"$.{{v}}\" exists", "4:15"),
        ("[Asserts]\nregex \"{{v}}\" exists", "4:10"),
        ("[Asserts]\nbody contains \"{{v}}\"", "4:18"),
        ("[Asserts]\nbody matches \"{{v}}\"", "4:17"),
        ("[Asserts]\nbytes == file,{{v}};", "4:17"),
        ("[Asserts]\nbody == ```\n{{v}}\n```", "5:3"),
        ("[Asserts]\nbody split \",\" nth {{v}} exists", "4:22"),
        ("[Asserts]\nbody replace \"a\" \"{{v}}\" exists", "4:21"),
        ("[Asserts]\nbody replaceRegex \"{{v}}\" \"\" exists", "4:22"),
        ("[Asserts]\nbody regex \"{{v}}\" exists", "4:15"),
        ("[Asserts]\nbody toDate \"{{v}}\" exists", "4:16"),
    ] {
        let text = format!("GET http://a/\nHTTP 200\n{lines}\n");
        assert_eq!(
            refused(&text),
            format!(
                "test.hurl:{place}: the variable `v` is not defined; give it with --variable v=VALUE"
            ),
            "{text}"
        );
        scenario_with(&text, &[("v", "1")]);
        let captured = format!("GET http://a/\nHTTP 200\n[Captures]\nv: body\n{text}");
        scenario(&captured);
        let optional = text.replace("HTTP 200", "[Options]\nvariable: v=1\nHTTP 200");
        scenario(&optional);
    }
}

#[test]
fn what_an_entry_captures_may_be_used_behind_the_capture() {
    let text = |first, second| {
        format!(
            "GET http://a/\nHTTP 200\n[Captures]\n{first}\n{second}\n[Asserts]\nbody == {{{{v}}}}\n"
        )
    };
    scenario(&text("v: body", "w: body split \"{{v}}\" nth 0"));
    let told = refused(&text("w: body split \"{{v}}\" nth 0", "v: body"));
    assert!(told.starts_with("test.hurl:4:18: "), "{told}");
    // A capture whose name only the flow knows may set any variable.
    scenario(
        "GET http://a/\nHTTP 200\n[Captures]\nn: body\n{{n}}: status\n[Asserts]\nbody == {{v}}\n",
    );
    // The query `variable` finds nothing then, which may be what is expected.
    scenario("GET http://a/\nHTTP 200\n[Asserts]\nvariable \"v\" not exists\n");
}

#[test]
fn what_is_never_evaluated_needs_no_variables() {
    for option in ["skip: true", "repeat: 0"] {
        scenario(&format!(
            "GET http://a/{{{{v}}}}\n[Options]\n{option}\nHTTP 200\n[Captures]\nx: header \"{{{{v}}}}\"\n\
             [Asserts]\nbody == {{{{v}}}}\nGET http://a/\n"
        ));
    }
}

#[test]
fn a_variable_must_be_set_before_it_is_used() {
    let told = refused("GET http://a/{{v}}\nHTTP 200\n[Captures]\nv: body\n");
    assert!(told.starts_with("test.hurl:1:16: "), "{told}");
    let text = "GET http://a/{{v}}\n[Options]\nvariable: v=1\nGET http://a/{{v}}\n";
    assert_eq!(scenario(text).entries().len(), 2);
}

#[test]
fn what_an_entry_would_capture_that_is_never_sent_is_not_defined() {
    for option in ["skip: true", "repeat: 0"] {
        for name in ["v", "{{n}}"] {
            let told = refused(&format!(
                "GET http://a/\n[Options]\n{option}\nHTTP 200\n[Captures]\n{name}: body\nGET http://a/{{{{v}}}}\n"
            ));
            assert!(
                told.starts_with("test.hurl:7:16: the variable `v` is not defined"),
                "{told}"
            );
        }
    }
}

#[test]
fn a_capture_that_a_skipped_entry_would_set_is_missed_in_the_flow() {
    let text = "GET http://a/\n[Options]\nskip: {{skips}}\nHTTP 200\n[Captures]\nv: body\nPOST http://a/\n```\n{{v}}\n```\n";
    let mut client = Client::new(scenario_with(text, &[("skips", "true")]));
    assert_eq!(
        client.fails(),
        "test.hurl:9:3: Undefined variable: you must set the variable v"
    );
}

#[test]
fn files_outside_the_folder_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    std::fs::write(folder.path().join("secret.txt"), "secret").unwrap();
    let absolute = folder.path().join("secret.txt").display().to_string();
    for name in [
        "../secret.txt",
        "./../secret.txt",
        "x/../../secret.txt",
        &absolute,
    ] {
        let told = refusal(
            &format!("POST http://a/\nfile,{name};\n"),
            in_folder(&inside),
        );
        assert!(told.contains("unauthorized access to file"), "{told}");
        let told = refusal(
            &format!("POST http://a/\n[Multipart]\nx: file,{name};\n"),
            in_folder(&inside),
        );
        assert!(told.contains("unauthorized access to file"), "{told}");
        // What only the flow knows, and what a response is compared with.
        let text = "GET http://a/\nHTTP 200\n[Captures]\nv: body\nPOST http://a/\nfile,{{v}};\n";
        let scenario = scenario_of(text, in_folder(&inside));
        let mut client = Client::of(&scenario);
        client.exchange(&Given::ok(name));
        assert!(client.fails().contains("unauthorized access to file"));
        let text = format!("GET http://a/\nHTTP 200\nfile,{name};\n");
        let mut client = Client::new(scenario_of(&text, in_folder(&inside)));
        client.sends();
        let rejection = client.rejects(&Given::ok("secret"));
        assert!(
            rejection.detail.contains("unauthorized access to file"),
            "{rejection:?}"
        );
    }
}

#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let told = refusal("POST http://a/\nfile,none.bin;\n", in_folder(folder.path()));
    assert!(
        told.starts_with("test.hurl:") && told.contains("file none.bin can not be read"),
        "{told}"
    );
    // Without a folder no file may be named.
    assert!(refused("POST http://a/\nfile,none.bin;\n").contains("unauthorized access"));
}

#[test]
fn a_file_has_some_entries_but_not_too_many() {
    assert_eq!(refused(""), "test.hurl has no entries");
    assert_eq!(refused("# only a comment\n"), "test.hurl has no entries");
    let told = refused(&"GET http://a/\n".repeat(MOST_ENTRIES + 1));
    assert_eq!(told, "test.hurl has 501 entries: at most 500 are possible");
    scenario(&"GET http://a/\n".repeat(MOST_ENTRIES));
    let told =
        refused("GET http://a/\n[Options]\nskip: true\nGET http://a/\n[Options]\nrepeat: 0\n");
    assert_eq!(told, "test.hurl: every entry is skipped");
}

#[test]
fn options_of_the_connection_are_the_same_in_every_entry() {
    for option in ["insecure: true", "http1.1: true", "http2: true"] {
        let told = refused(&format!(
            "GET http://a/\nGET http://a/\n[Options]\n{option}\n"
        ));
        let name = option.split(':').next().unwrap();
        assert_eq!(
            told,
            format!(
                "test.hurl: `{name}` must be the same in every entry, because a user has one connection"
            )
        );
        let entry = format!("GET http://a/\n[Options]\n{option}\n");
        let connection = scenario(&entry.repeat(2)).connection();
        let set = (connection.insecure, connection.http1, connection.http2);
        assert_eq!(
            set,
            (name == "insecure", name == "http1.1", name == "http2")
        );
    }
}

#[test]
fn a_header_that_frames_the_body_is_refused() {
    let told = refused("POST http://a/\nContent-Length: 5\n`abc`\n");
    assert!(told.starts_with("test.hurl:1:1: "), "{told}");
    let told = refused("POST http://a/\nTransfer-Encoding: chunked\n`abc`\n");
    assert!(told.starts_with("test.hurl:1:1: "), "{told}");
}

#[test]
fn a_value_that_no_header_may_have_ends_the_flow() {
    let text = "GET http://a/\nHTTP 200\n[Captures]\nv: body\nGET http://a/\nX: {{v}}\n";
    let mut client = Client::new(scenario(text));
    client.exchange(&Given::ok("a\r\nInjected: 1"));
    let reason = client.fails();
    assert!(reason.starts_with("test.hurl:5:1: "), "{reason}");
    client.user.begin();
    assert_eq!(client.sends().path, "/");
}

#[test]
fn a_value_cannot_split_a_request_line() {
    let text = "GET http://a/\nHTTP 200\n[Captures]\nv: body\nGET http://a/{{v}}\n";
    let mut client = Client::new(scenario(text));
    client.exchange(&Given::ok("x HTTP/1.1\r\nInjected: 1"));
    assert_eq!(client.sends().path, "/x%20HTTP/1.1%0D%0AInjected:%201");
}

#[test]
fn a_constant_of_the_wrong_kind_has_its_place() {
    let text = "GET http://a/\n[Options]\nrepeat: {{n}}\n";
    let scenario = scenario_with(text, &[("n", "many")]);
    let reason = Client::of(&scenario).fails();
    assert!(reason.starts_with("test.hurl:3:"), "{reason}");
}
