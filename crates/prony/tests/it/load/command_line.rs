//! Wrong command lines: each error says what is wrong, and nothing is loaded.

use crate::common::run;
use crate::load::{Folder, NOWHERE};
use prony_testkit::table::rows;

#[test]
fn a_wrong_command_line_is_reported_and_ends_with_2() {
    let table = r#"
        localhost:8080/a | did you mean `http://localhost:8080/a`?
        ftp://localhost/ | Prony loads http:// and https:// URLs
        http:///a | is not a URL
        http://localhost:99999/ | port
        -H 'no colon' URL | write it as `Name: value`
        -H 'two words: x' URL | `two words` is not the name of a header
        -X 'GE T' URL | `GE T` is not an HTTP method
        -t4 -c2 URL | 4 threads share 2 connections
        -c0 URL | at least 1
        -d soon URL | `soon` is not a duration
        -d0s URL | it must be from 1ms to 30 days
        -n many URL | `many` is not a count
        --cpus x URL | `x` is neither a CPU
        --latncy URL | --latency
        "" | <URL|FILE.hurl|SERVER>
        --rate fast URL | `fast` is no
        --rate 0 URL | a rate must be more than 0
        --stages 1k/s,2k/s:1s URL | the last
        --stages 1k/s:1s,2k/s URL | the last of the --stages has no time
        --stages 1k/s:5s,2k/s -d5s URL | -d 5s ends the load before the last of the --stages, which starts after 5s
        --rate 5 --max-connections 5 URL | --max-connections 5 is less than the 10
        --deadline 1s URL | --deadline counts from the time
        --users 5 --deadline 1s URL | it needs --rate, --stages, or --users with --open
        --spin URL | --spin waits until requests are due
        --source 192.0.2.1 URL | --source 192.0.2.1 is not an address of this machine
        --source here URL | `here` is not an IP address
        --resolve a:80 URL | `a:80` is not HOST:PORT:ADDRESS
        --resolve a:80:127.0.0.1 URL | --resolve is for a:80, but the URL's server is 127.0.0.1:1
        URL http://127.0.0.1:2/ | are on two servers; a load needs one server
        --weights 1,2,3 URL URL | --weights has 3 numbers, but there are 2 requests
        --weights 0,0 URL URL | the weights must be one for each request
        --weights 1,2 --order in-turn URL URL | --weights draws requests at random
        --no-keepalive -H 'connection: keep-alive' URL | --no-keepalive sends `Connection: close` itself
        --expect-status 99 URL | from 100 to 599
        --expect-body hello --expect-length 4 URL | --expect-length 4 is not the length of --expect-body, which has 5 bytes
        --grpc Service URL | is not the path of a gRPC method
        --grpc a.B/C http://127.0.0.1:1/x | the URL of a gRPC server has no path; write http://127.0.0.1:1/
        --grpc a.B/C URL URL | --grpc needs exactly one URL
        --proto x URL | --proto and --protoset define the method of a call; name the method with --grpc
        --grpc a.B/C -H 'key-bin: ?' URL | the value of `key-bin` is not base64
        --grpc a.B/C -H 'grpc-encoding: gzip' URL | `grpc-encoding` cannot be metadata
        --streams-per-connection 5 URL | --streams-per-connection needs HTTP/2, but HTTP/1.1 is used
        --http2 --pipeline 5 URL | --pipeline needs HTTP/1.1, but HTTP/2 is used
        --streams-per-connection 1001 URL | from 1 to 1000
        --http2 -X CONNECT URL | CONNECT opens a tunnel
        --insecure URL | --insecure needs TLS, but `http://127.0.0.1:1/` is an http:// URL
        --tls-min 1.1 HTTPS | that Prony supports: use 1.2 or 1.3
        --tls-min 1.3 --tls-max 1.2 HTTPS | the lowest TLS version, 1.3, is above the highest, 1.2
        --ciphers TLS_AES_128_GCM_SHA255 HTTPS | did you mean `TLS_AES_128_GCM_SHA256`?
        --sni 'not a name' HTTPS | neither a host name nor
        --loop kqueue URL | auto, io_uring, epoll
        --pid 2147483647 URL | --pid 2147483647: there is no such process
        --pid 0 URL | 0 is not in 1..
        --pid 1 --quiet URL | cannot be used with
        --metrics 9464 URL | 0.0.0.0:9464 for others too
        --otlp localhost:4318 URL | did you mean `http://localhost:4318`?
        --otlp http://h/?a=b URL | /v1/metrics follows it
        --curl 'curl URL' URL | cannot be used with
        // Objectives.
        --objective 'p99 < 50ms, failures < 1%' URL | --objective: `failures < 1%` (at character 13): unknown name
        --objective 'p99 < 50' URL | --objective: … `50` is not a duration
        --objective '' URL | --objective: there is no objective
        --objective -1 URL | --objective: … it is not an objective
        --objective p99<1s,p99<2s URL | --objective: … p99 has two limits
        // More than any machine can do.
        --rate 1000000000000 URL | `1000000000000` is too high: a rate is at most 1000M/s
        --stages 0/s..2000M/s:1s URL | `2000M/s` is too high: a rate is at most 1000M/s
        --stages STAGES URL | 1001 stages are too many: at most 1000
        --rate 1k/s --burst 2M URL | 2000000 requests in a burst are too many: at most 1000000
        --pipeline 1M URL | 1000000 requests in a pipeline are too many: at most 1000
        -t5k -c5k URL | it must be from 1 to 1024
        -c5k --pipeline 1000 -n1 URL | need more memory than the 512 MiB that requests in flight may take
        // Searches for a capacity.
        --find-capacity --objective p100<10ms URL | unknown name `p100`
        --find-capacity --objective p99<10 URL | write for instance p99<10ms
        --find-capacity --objective rate>5 URL | remove `rate>5/s`
        // The other name of the flag.
        --find-capacity --slo p99<10ms,rate>5 URL | --objective: a search finds the rate itself
        --find-capacity --precision 2 URL | write for instance 10%
        --find-capacity --repeats 0 URL | from 1 to 1000
        --find-capacity --budget 0s URL | longer than 0
        --find-capacity -d0s URL | it must be from 1ms to 30 days
    "#;
    let stages = vec!["1/s:1s"; 1001].join(",");
    let table = table.replace("HTTPS", "https://127.0.0.1:1/");
    Folder::new().refuses(2, &table.replace("STAGES", &stages));
}

#[test]
fn flags_that_exclude_or_need_each_other_are_reported_by_their_names() {
    let folder = Folder::new();
    let refused =
        |one: &str, other: &str| run(folder.prony(format!("{one} {other} {NOWHERE}"))).with(2);
    for [one, others] in rows(
        "
        --rate 5 | --stages 5/s:1s; --users 5
        --stages 5/s:1s | --users 5
        --users 5 | --connections 5; --pipeline 5
        --sequential | --rate 5; --users 5; --connections 5; --threads 1; --pipeline 5; --streams-per-connection 5
        --no-keepalive | --pipeline 5; --requests-per-connection 5; --streams-per-connection 5
        --unix-socket x | --source 127.0.0.1; --resolve a:80:127.0.0.1
        --requests-file x | --method PUT; --body x
        --grpc a.B/C | --requests-file x; --method PUT; --http1.1; --pipeline 5; --sse; --streams 5
        --http2 | --http1.1
        --insecure | --cacert x
        --streams-per-connection 5 | --pipeline 5; --users 5
        --proto x | --protoset x
        --find-capacity | --rate 5k/s; --stages 1k/s:1s; --users 5; --sequential; --requests 100
        --find-capacity | --metrics :9464; --hdr-log record; --trace record
        --curl 'curl URL' | --method PUT; --body body; --header 'a: b'; --requests-file a; --grpc a.B/C
    ",
    ) {
        for other in others.split("; ") {
            let names = [one, other].map(|words| words.split(' ').next().unwrap());
            refused(one, other)
                .says("cannot be used with")
                .says(names[0])
                .says(names[1]);
        }
    }
    for [flag, needed] in rows(
        "
        --arrivals poisson | --rate
        --burst 5 | --stages
        --max-connections 50 | --rate
        --open | --users
        --check-every 5 | --expect-body
        --key x | --cert
        --data {} | --grpc
        --grpc-timeout 1s | --grpc
        --import-path x | --proto
        --precision 1% | --find-capacity
        --chart curve.svg | --find-capacity
    ",
    ) {
        refused(flag, "")
            .says("required arguments were not provided")
            .says(needed);
    }
}

#[test]
fn mistakes_in_a_file_of_requests_are_reported() {
    let folder = Folder::with(&[("empty.jsonl", "")]);
    for [text, reason] in rows(
        r#"
        {"path": "/"}\n{"pth": "/"}\n | line 2: there is no field `pth`
        {"path": "/a", "path": "/b"} | line 1: the key `path` appears twice at column 21; give it once
        {"path": 5} | line 1: field `path`: expected a string, got a number
    "#,
    ) {
        folder.write("some.jsonl", text);
        run(folder.prony(format!("--requests-file some.jsonl {NOWHERE}")))
            .with(2)
            .says(&format!("some.jsonl, {reason}"));
    }
    folder.write("some.jsonl", r#"{"path": "/"}"#);
    // The tests' standard input is empty.
    folder.refuses(
        2,
        "
        --requests-file empty.jsonl URL | empty.jsonl holds no request: write one JSON object per line
        --requests-file - URL | - holds no request
        --requests-file some.jsonl URLx | with --requests-file, the URL only names the server; write http://127.0.0.1:1/
    ",
    );
}

#[test]
fn what_cannot_be_read_or_reached_ends_with_1() {
    let table = "
        http://127.0.0.1:1 | cannot connect to 127.0.0.1:1 … is the server running and listening there?
        http://no-such-host.invalid/ | the host `no-such-host.invalid` cannot be resolved … is it spelled correctly?
        --unix-socket x http://a/ | cannot connect to unix:x: No such file … is the server running and listening there?
        --resolve shop.invalid:1:127.0.0.1 http://shop.invalid:1/ | cannot connect to 127.0.0.1:1
        --requests-file missing.jsonl URL | missing.jsonl cannot be read: No such file
        -X POST -b @missing.json URL | cannot read the body from `missing.json`: No such file
        -b @/dev/zero URL | cannot read the body from `/dev/zero`: it is too long: at most 64 MiB
        --expect-body @/dev/zero URL | cannot read the expected body from `/dev/zero`: it is too long: at most 64 MiB
        --curl @missing | cannot read the command from `missing`
        --grpc a.B/C --proto missing.proto URL | missing.proto
    ";
    Folder::new().refuses(1, table);
}
