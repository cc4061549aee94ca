//! A server that is this test program again.

use std::io::{Read, Write};
use std::net::TcpListener;

const SERVES: &str = "serves:";

/// Its command.
pub fn command(response: &str) -> Vec<String> {
    let program = std::env::current_exe().unwrap();
    let (_, module) = module_path!().split_once("::").unwrap();
    let test = format!("{module}::serve");
    let words = [
        program.to_str().unwrap(),
        "-q",
        "--nocapture",
        "--exact",
        &test,
    ];
    // To the test program, the last one is the name of a further test, which it does not have.
    let words = words.map(str::to_owned).into_iter();
    words.chain([format!("{SERVES}{response}")]).collect()
}

/// Serves if the command line says so. Otherwise it is not a test of anything.
#[test]
fn serve() {
    let words = std::env::args();
    let Some(response) = { words }.find_map(|word| Some(word.strip_prefix(SERVES)?.to_owned()))
    else {
        return;
    };
    let variable = |name: &str| std::env::var(name).unwrap();
    let env = ["HOST", "PORT", "CPUS", "ASSETS"].map(variable);
    std::fs::write("env", env.join(" ")).unwrap();
    let listener = TcpListener::bind(format!("{}:{}", env[0], env[1])).unwrap();
    for mut stream in listener.incoming().flatten() {
        let _ = stream.read(&mut [0; 100]);
        std::fs::write("asked", "").unwrap();
        println!("a line");
        // The client may have given up.
        let _ = stream.write_all(response.as_bytes());
    }
}
