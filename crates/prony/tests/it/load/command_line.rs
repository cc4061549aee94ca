//! Wrong command lines: each error says what is wrong, and nothing is loaded.

use std::fs;

use crate::common::run;
use crate::load::load;

#[test]
fn a_wrong_command_line_is_reported_and_ends_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let (url, secure) = ("http://127.0.0.1:1/", "https://127.0.0.1:1/");
    for (arguments, told) in [
        (
            &["localhost:8080/a"][..],
            "did you mean `http://localhost:8080/a`?",
        ),
        (
            &["ftp://localhost/"],
            "Prony loads http:// and https:// URLs",
        ),
        (&["http:///a"], "is not a URL"),
        (&["http://localhost:99999/"], "port"),
        (&["-H", "no colon", url], "write it as `Name: value`"),
        (
            &["-H", "two words: x", url],
            "`two words` is not the name of a header",
        ),
        (&["-X", "GE T", url], "`GE T` is not an HTTP method"),
        (&["-t4", "-c2", url], "4 threads share 2 connections"),
        (&["-c0", url], "at least 1"),
        (&["-d", "soon", url], "`soon` is not a duration"),
        (&["-d0s", url], "it must be from 1ms to 30 days"),
        (&["-n", "many", url], "`many` is not a count"),
        (&["--cpus", "x", url], "`x` is neither a CPU"),
        (&["--latncy", url], "--latency"),
        (&[], "<URL|FILE.hurl|SERVER>"),
        (&["--rate", "fast", url], "`fast` is no"),
        (&["--rate", "0", url], "a rate must be more than 0"),
        (&["--stages", "1k/s,2k/s:1s", url], "the last"),
        (
            &["--stages", "1k/s:1s,2k/s", url],
            "the last of the --stages has no time",
        ),
        (
            &["--stages", "1k/s:5s,2k/s", "-d5s", url],
            "-d 5s ends the load before the last of the --stages, which starts after 5s",
        ),
        (
            &["--rate", "5", "--max-connections", "5", url],
            "--max-connections 5 is less than the 10",
        ),
        (
            &["--deadline", "1s", url],
            "--deadline counts from the time",
        ),
        (
            &["--users", "5", "--deadline", "1s", url],
            "it needs --rate, --stages, or --users with --open",
        ),
        (&["--spin", url], "--spin waits until requests are due"),
        (
            &["--source", "192.0.2.1", url],
            "--source 192.0.2.1 is not an address of this machine",
        ),
        (&["--source", "here", url], "`here` is not an IP address"),
        (
            &["--resolve", "a:80", url],
            "`a:80` is not HOST:PORT:ADDRESS",
        ),
        (
            &["--resolve", "a:80:127.0.0.1", url],
            "--resolve is for a:80, but the URL's server is 127.0.0.1:1",
        ),
        (
            &[url, "http://127.0.0.1:2/"],
            "are on two servers; a load needs one server",
        ),
        (
            &["--weights", "1,2,3", url, url],
            "--weights has 3 numbers, but there are 2 requests",
        ),
        (
            &["--weights", "0,0", url, url],
            "the weights must be one for each request",
        ),
        (
            &["--weights", "1,2", "--order", "in-turn", url, url],
            "--weights draws requests at random",
        ),
        (
            &["--no-keepalive", "-H", "connection: keep-alive", url],
            "--no-keepalive sends `Connection: close` itself",
        ),
        (&["--expect-status", "99", url], "from 100 to 599"),
        (
            &["--expect-body", "hello", "--expect-length", "4", url],
            "--expect-length 4 is not the length of --expect-body, which has 5 bytes",
        ),
        (
            &["--grpc", "Service", url],
            "is not the path of a gRPC method",
        ),
        (
            &["--grpc", "a.B/C", "http://127.0.0.1:1/x"],
            "the URL of a gRPC server has no path; write http://127.0.0.1:1/",
        ),
        (
            &["--grpc", "a.B/C", url, url],
            "--grpc needs exactly one URL",
        ),
        (
            &["--proto", "x", url],
            "--proto and --protoset define the method of a call; name the method with --grpc",
        ),
        (
            &["--grpc", "a.B/C", "-H", "key-bin: ?", url],
            "the value of `key-bin` is not base64",
        ),
        (
            &["--grpc", "a.B/C", "-H", "grpc-encoding: gzip", url],
            "`grpc-encoding` cannot be metadata",
        ),
        (
            &["--streams-per-connection", "5", url],
            "--streams-per-connection needs HTTP/2, but HTTP/1.1 is used",
        ),
        (
            &["--http2", "--pipeline", "5", url],
            "--pipeline needs HTTP/1.1, but HTTP/2 is used",
        ),
        (&["--streams-per-connection", "1001", url], "from 1 to 1000"),
        (&["--http2", "-X", "CONNECT", url], "CONNECT opens a tunnel"),
        (
            &["--insecure", url],
            "--insecure needs TLS, but `http://127.0.0.1:1/` is an http:// URL",
        ),
        (
            &["--tls-min", "1.1", secure],
            "that Prony supports: use 1.2 or 1.3",
        ),
        (
            &["--tls-min", "1.3", "--tls-max", "1.2", secure],
            "the lowest TLS version, 1.3, is above the highest, 1.2",
        ),
        (
            &["--ciphers", "TLS_AES_128_GCM_SHA255", secure],
            "did you mean `TLS_AES_128_GCM_SHA256`?",
        ),
        (&["--sni", "not a name", secure], "neither a host name nor"),
        (&["--loop", "kqueue", url], "auto, io_uring, epoll"),
        (
            &["--pid", "2147483647", url],
            "--pid 2147483647: there is no such process",
        ),
        (&["--pid", "0", url], "0 is not in 1.."),
        (&["--pid", "1", "--quiet", url], "cannot be used with"),
    ] {
        let ended = run(load(folder.path(), arguments)).with(2).says(told);
        assert_eq!(ended.stdout, "", "{arguments:?}");
    }
}

#[test]
fn flags_that_exclude_or_need_each_other_are_reported_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let url = "http://127.0.0.1:1/";
    for (one, other) in [
        (&["--rate", "5"][..], &["--stages", "5/s:1s"][..]),
        (&["--rate", "5"], &["--users", "5"]),
        (&["--stages", "5/s:1s"], &["--users", "5"]),
        (&["--users", "5"], &["--connections", "5"]),
        (&["--users", "5"], &["--pipeline", "5"]),
        (&["--sequential"], &["--rate", "5"]),
        (&["--sequential"], &["--users", "5"]),
        (&["--sequential"], &["--connections", "5"]),
        (&["--sequential"], &["--threads", "1"]),
        (&["--sequential"], &["--pipeline", "5"]),
        (&["--no-keepalive"], &["--pipeline", "5"]),
        (&["--no-keepalive"], &["--requests-per-connection", "5"]),
        (&["--unix-socket", "x"], &["--source", "127.0.0.1"]),
        (&["--unix-socket", "x"], &["--resolve", "a:80:127.0.0.1"]),
        (&["--requests-file", "x"], &["--method", "PUT"]),
        (&["--requests-file", "x"], &["--body", "x"]),
        (&["--grpc", "a.B/C"], &["--requests-file", "x"]),
        (&["--grpc", "a.B/C"], &["--method", "PUT"]),
        (&["--grpc", "a.B/C"], &["--http1.1"]),
        (&["--grpc", "a.B/C"], &["--pipeline", "5"]),
        (&["--http2"], &["--http1.1"]),
        (&["--insecure"], &["--cacert", "x"]),
        (&["--streams-per-connection", "5"], &["--pipeline", "5"]),
        (&["--streams-per-connection", "5"], &["--users", "5"]),
        (&["--no-keepalive"], &["--streams-per-connection", "5"]),
        (&["--sequential"], &["--streams-per-connection", "5"]),
        (&["--proto", "x"], &["--protoset", "x"]),
        (&["--grpc", "a.B/C"], &["--sse"]),
        (&["--grpc", "a.B/C"], &["--streams", "5"]),
    ] {
        let arguments = [one, other, &[url]].concat();
        run(load(folder.path(), &arguments))
            .with(2)
            .says("cannot be used with")
            .says(one[0])
            .says(other[0]);
    }
    for (flag, needed) in [
        (&["--arrivals", "poisson"][..], "--rate"),
        (&["--burst", "5"], "--stages"),
        (&["--max-connections", "50"], "--rate"),
        (&["--open"], "--users"),
        (&["--check-every", "5"], "--expect-body"),
        (&["--key", "x"], "--cert"),
        (&["--data", "{}"], "--grpc"),
        (&["--grpc-timeout", "1s"], "--grpc"),
        (&["--import-path", "x"], "--proto"),
    ] {
        let arguments = [flag, &[url]].concat();
        run(load(folder.path(), &arguments))
            .with(2)
            .says("required arguments were not provided")
            .says(needed);
    }
}

#[test]
fn mistakes_in_a_file_of_requests_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let url = "http://127.0.0.1:1/";
    let with = |text: &str, url: &str| {
        fs::write(folder.path().join("some.jsonl"), text).unwrap();
        let arguments = ["--requests-file", "some.jsonl", url];
        run(load(folder.path(), &arguments)).with(2)
    };
    with("", url).says("some.jsonl holds no request: write one JSON object per line");
    with("{\"path\": \"/\"}\n{\"pth\": \"/\"}\n", url)
        .says("some.jsonl, line 2: there is no field `pth`");
    with("{\"path\": \"/a\", \"path\": \"/b\"}", url)
        .says("some.jsonl, line 1: the key `path` appears twice at column 21; give it once");
    with("{\"path\": 5}", url)
        .says("some.jsonl, line 1: field `path`: expected a string, got a number");
    with("{\"path\": \"/\"}", "http://127.0.0.1:1/x")
        .says("with --requests-file, the URL only names the server; write http://127.0.0.1:1/");
    let arguments = ["--requests-file", "missing.jsonl", url];
    run(load(folder.path(), &arguments))
        .with(1)
        .says("missing.jsonl cannot be read: No such file");
    // The tests' standard input is empty.
    let arguments = ["--requests-file", "-", url];
    run(load(folder.path(), &arguments))
        .with(2)
        .says("- holds no request");
}

#[test]
fn an_unreachable_server_is_reported_whatever_its_kind() {
    let folder = tempfile::tempdir().unwrap();
    let unix = ["--unix-socket", "no.sock", "http://localhost/"];
    run(load(folder.path(), &unix))
        .with(1)
        .says("cannot connect to unix:no.sock: No such file")
        .says("is the server running and listening there?");
    // Bound and released, so nothing listens there.
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let resolve = format!("shop.invalid:{port}:127.0.0.1");
    let url = format!("http://shop.invalid:{port}/");
    run(load(folder.path(), &["--resolve", &resolve, &url]))
        .with(1)
        .says(&format!("cannot connect to 127.0.0.1:{port}"));
}
