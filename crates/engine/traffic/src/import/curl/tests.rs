//! What Prony refuses of curl. The integration tests compare what is sent with the real curl.

use prony_testkit::table::rows;

use super::*;
use crate::import::write;

/// A file `lines` with two lines.
fn lines(name: &str) -> Result<Vec<u8>, String> {
    match name {
        "lines" => Ok(b"a b\r\nc\n".to_vec()),
        _ => Err("there is no such file".into()),
    }
}

fn hurl(command: &str) -> String {
    let imported = curl(command, &mut lines).unwrap_or_else(|error| panic!("{command}: {error}"));
    write(&imported.entries, &[]).expect("a Hurl file")
}

#[test]
fn a_copy_of_chrome() {
    let command = r#"curl 'https://shop.example/api/cart?x=1#top' \
  -H 'accept: */*' \
  -H 'content-type: application/json' \
  -b 'session=a; theme=dark' \
  -H 'sec-ch-ua: "Chromium";v="130"' \
  --data-raw $'{"name":"It\'s {{new}}\u0021"}' \
  --compressed ;"#;
    let command = command.trim_end_matches(" ;");
    let expected = r##"POST https://shop.example/api/cart?x=1
accept: */*
content-type: application/json
sec-ch-ua: "Chromium";v="130"
Accept-Encoding: deflate, gzip, br, zstd
Cookie: session=a; theme=dark
`{"name":"It's {\u{7b}new}}!"}`
"##;
    assert_eq!(hurl(command), expected);
}

#[test]
fn files_are_read_unless_one_is_the_whole_body() {
    let form = "content-type: application/x-www-form-urlencoded";
    for (options, body) in [
        ("-d @lines", "`a bc`"),
        ("-d x=1 --data-binary @lines", "`x=1&a b\\r\\nc\\n`"),
        ("--data-urlencode y@lines", "`y=a+b%0D%0Ac%0A`"),
        ("--data-binary @other", "file,other;"),
        ("--json @dir/other", "file,dir/other;"),
    ] {
        let text = hurl(&format!("curl localhost/ {options}"));
        assert!(text.ends_with(&format!("\n{body}\n")), "{options}: {text}");
        let is_form = text.to_lowercase().contains(form);
        assert_eq!(is_form, !options.contains("json"), "{options}: {text}");
    }
    let imported = curl("curl localhost -F a=@b.png", &mut lines).expect("a command");
    let note = "the request reads the file b.png from the folder of the Hurl file";
    assert_eq!(imported.notes, [note]);
    let chunked = "curl localhost -H 'Transfer-Encoding: chunked' -d a";
    let notes = curl(chunked, &mut lines).expect("a command").notes;
    let note = "Prony sends Content-Length instead of Transfer-Encoding";
    assert_eq!(notes, [note]);
}

#[test]
fn options_of_the_connection_are_options_of_the_entry() {
    let expected = "GET https://a/\n[Options]\ninsecure: true\nhttp1.1: true\n";
    assert_eq!(hurl("curl -sSk --http2 --http1.1 https://a"), expected);
    let expected = "GET https://a/\n[Options]\nlocation: true\n";
    assert_eq!(
        hurl("curl --location --request GET 'https://a' --max-redirs 3"),
        expected
    );
    let expected = "GET https://a/\n[Options]\nlocation-trusted: true\n";
    assert_eq!(hurl("curl -sSL --location-trusted https://a"), expected);
    let expected = "GET https://a/\n[Options]\nhttp2-prior-knowledge: true\n";
    assert_eq!(hurl("curl --http2-prior-knowledge https://a"), expected);
}

#[test]
fn what_prony_cannot_send_is_refused() {
    for [command, message] in rows(
        r#"
        "" | the command is empty
        \x20 \\\n\x20 | the command is empty
        wget http://a | must begin with `curl`, not with `wget`
        fetch('http://a') | is for the shell
        curl | the command has no URL
        curl -s | the command has no URL
        curl http://a http://b | several URLs (http://a, http://b)
        curl ftp://a | `ftp://a` is not a URL of HTTP
        curl 'http://a/{b,c}' | curl expands the brackets
        curl 'http://a/[1-3]' | curl expands the brackets
        curl -X get http://a | the method `get` is not supported
        Invoke-WebRequest -UseBasicParsing -Uri "http://a" | this is a command for PowerShell; copy it
        $session = New-Object Microsoft.PowerShell.Commands.WebRequestSession\nInvoke-WebRequest -Uri "http://a" | this is a command for PowerShell
        $ curl http://a | the command must begin with `curl`, not with `$`
        curl.exe "http://a" `\r\n  -H "b: c" | this is a command for PowerShell
        curl -H nothing http://a | the header `nothing` has no colon
        curl -H @file http://a | does not read headers from files
        curl -b jar.txt http://a | does not read cookies from files
        curl -u me http://a | curl would ask for the password of `me`
        curl -d @none http://a | cannot read the file `none` of the command: there is no
        curl -d @- http://a | standard input
        curl -d @ http://a | its name is missing
        curl -d a -F b=c http://a | --data and --form exclude each other
        curl -I -d a http://a | --head and a body exclude each other
        curl -G -F a=b http://a | --get and --form exclude each other
        curl -F a http://a | write NAME=VALUE or NAME=@FILE
        curl -F 'a=b;type=c' http://a | values without a type
        curl -F 'a=@b;filename=c' http://a | the name, the content and a type
        curl -F 'a=@b,c' http://a | the name, the content and a type
        curl -F 'a="b' http://a | its quote is not closed
        curl -H $'a: \\xff' http://a | is not UTF-8
        curl http://a --next http://b | reads one request
    "#,
    ) {
        let error = curl(command, &mut lines).expect_err(command).to_string();
        assert!(error.contains(message), "{command}: {error}");
    }
}
