//! Flags of other load generators, with what Prony calls them.

/// What to write instead of a flag of wrk2, hey, oha or ab that Prony does not have.
pub(crate) fn advice(flag: &str) -> Option<&'static str> {
    let mut rows = FLAGS.lines().filter_map(|row| row.split_once(" | "));
    let (_, advice) = rows.find(|(names, _)| names.split(' ').any(|name| name == flag))?;
    Some(advice)
}

const FLAGS: &str = "\
-R | the rate is --rate, for instance --rate 2k/s: of all connections together
-z --duration-limit | the duration is -d, for instance -d 30s
-s --script | Prony runs no scripts: a Hurl file has the requests of a user, or --requests-file a list; --timeout is how long a response may take
-L | the distribution of the latencies is --latency
-U --u_latency --latency-correction | with --rate, latencies count from when requests are due; there is no flag for it
-B --batch_latency | the local addresses are --source
-m | the method is -X
-D -p --body-path | a file as the body is -b @FILE; streams over a connection are --streams-per-connection
-T --content-type | the type of the body is a header: -H 'Content-Type: application/json'
-A --accept | a header is -H, for instance -H 'Accept: text/html'; the user is part of the URL: http://USER:PASSWORD@HOST/
-a -P --basic-auth | the user is part of the URL: http://USER:PASSWORD@HOST/
-C --cookie | cookies are a header: -H 'Cookie: NAME=VALUE'
-Z --urls-from-file | a list of requests is --requests-file
-i | a HEAD request is -X HEAD
-u | a PUT request with a file is -X PUT -b @FILE
-j --output-format | the result as JSON is --json FILE
-o --output -e -g | a result file is --json, --markdown or --hgrm
-x --proxy | Prony does not use proxies: it connects to the server itself
--qps | the rate is --rate
--disable-keepalive | a connection for each request is --no-keepalive
--disable-redirects --redirect | Prony follows redirects only in Hurl files, with `location: true`
--disable-compression | Prony accepts compressed responses only with -H 'Accept-Encoding: gzip'
--http-version | the versions of HTTP are --http1.1 and --http2
--host | the host is a header: -H 'Host: NAME'
--connect-to | another address is --resolve HOST:PORT:ADDRESS
--data-raw | the body is -b
--concurrency -w --workers | connections are -c, threads -t";

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use prony_testkit::contains;

    use super::*;
    use crate::command::Cli;

    #[test]
    fn a_flag_of_another_load_generator_gets_the_name_of_pronys() {
        for (words, advice) in [
            ("load -R2000 http://a/", "tip: the rate is --rate"),
            ("load -z 30s http://a/", "tip: the duration is -d"),
            (
                "load --http-version 2 http://a/",
                "tip: the versions of HTTP are",
            ),
            ("load --qps 5 http://a/", "tip: the rate is --rate"),
        ] {
            let words = format!("prony {words}");
            let words = words.split(' ').map(std::ffi::OsString::from);
            let error = crate::command::parse(words).err().expect("an error");
            contains(&error.to_string(), advice);
        }
    }

    #[test]
    fn no_flag_of_prony_has_advice() {
        let command = Cli::command();
        let load = command.find_subcommand("load").expect("a subcommand");
        for flag in load.get_arguments() {
            let names = flag.get_long().map(|long| format!("--{long}"));
            let short = flag.get_short().map(|letter| format!("-{letter}"));
            for name in names.into_iter().chain(short) {
                assert_eq!(advice(&name), None, "{name}");
            }
        }
    }
}
