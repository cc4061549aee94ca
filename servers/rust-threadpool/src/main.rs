//! Serves Prony's workloads with the standard library alone: a listener, a channel and a pool of
//! threads, as in the last chapter of The Rust Programming Language.

mod pool;

use std::borrow::Cow;
use std::error::Error;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs};

use pool::ThreadPool;

/// The book uses four threads; here it is four per CPU.
const THREADS_PER_CPU: usize = 4;

/// How long a client may keep a thread waiting.
const PATIENCE: Duration = Duration::from_secs(2);

/// The longest request that is read, in bytes.
const LIMIT: u64 = 16 * 1024;

const TEXT: &str = "200 OK\r\nContent-Type: text/plain";
const HTML: &str = "200 OK\r\nContent-Type: text/html";
const EVENTS: &str = "200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache";
const NOT_FOUND: &str = "404 Not Found";

struct Assets {
    page: String,
    small_page: String,
    quotes: Vec<String>,
}

impl Assets {
    fn read() -> Result<Self, Box<dyn Error>> {
        let folder = env::var("ASSETS")?;
        let read = |name: &str| fs::read_to_string(format!("{folder}/{name}"));
        Ok(Self {
            page: read("page-100k.html")?,
            small_page: read("page-20k.html")?,
            quotes: read("quotes.txt")?.lines().map(String::from).collect(),
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let assets = Arc::new(Assets::read()?);
    let cpus: usize = env::var("CPUS")?.parse()?;
    let pool = ThreadPool::new(THREADS_PER_CPU * cpus);

    let listener = TcpListener::bind(format!("{}:{}", env::var("HOST")?, env::var("PORT")?))?;
    for stream in listener.incoming() {
        // A connection that fails before it is accepted only affects that client.
        let Ok(stream) = stream else { continue };
        let assets = Arc::clone(&assets);
        pool.execute(move || {
            // An error means that the client is gone, or sent no valid request in time.
            let _ = serve(&stream, &assets);
        });
    }
    Ok(())
}

/// Responds to the one request of a connection.
fn serve(stream: &TcpStream, assets: &Assets) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;

    let mut request = BufReader::new(stream.take(LIMIT));
    let request_line = read_head(&mut request)?;
    let (head, body) = response_to(&request_line, assets);
    respond(stream, head, &body)?;

    if !request_line.starts_with("GET ") {
        // There may be a body. Closing with bytes unread would reset the connection, and the
        // client could lose the response.
        stream.shutdown(Shutdown::Write)?;
        io::copy(&mut request, &mut io::sink())?;
    }
    Ok(())
}

/// Reads a request up to the empty line that ends its head, and returns its first line.
fn read_head(request: &mut impl BufRead) -> io::Result<String> {
    let mut lines = request.lines();
    let request_line = lines.next().ok_or(ErrorKind::UnexpectedEof)??;
    for line in lines {
        if line?.is_empty() {
            return Ok(request_line);
        }
    }
    Err(ErrorKind::UnexpectedEof.into())
}

fn response_to<'a>(request_line: &str, assets: &'a Assets) -> (&'static str, Cow<'a, str>) {
    match request_line {
        "GET /hello HTTP/1.1" => (TEXT, "hello from prony\n".into()),
        "GET /byte HTTP/1.1" => (TEXT, "r".into()),
        "GET / HTTP/1.1" => (HTML, assets.page.as_str().into()),
        "GET /log HTTP/1.1" => {
            println!("GET /log");
            (HTML, assets.page.as_str().into())
        }
        "GET /sse HTTP/1.1" => {
            println!("GET /sse");
            (EVENTS, patch_elements(&assets.page).into())
        }
        "GET /sse-20k HTTP/1.1" => {
            println!("GET /sse-20k");
            (EVENTS, patch_elements(&assets.small_page).into())
        }
        "GET /franklin-says HTTP/1.1" => {
            // The standard library has random numbers only as seeds of its hashers.
            let random = RandomState::new().hash_one(()) as usize;
            (
                TEXT,
                assets.quotes[random % assets.quotes.len()].as_str().into(),
            )
        }
        _ => (NOT_FOUND, "".into()),
    }
}

/// A page as one `datastar-patch-elements` event.
fn patch_elements(page: &str) -> String {
    let mut event = String::with_capacity(page.len() * 5 / 4);
    event.push_str("event: datastar-patch-elements\n");
    for line in page.lines() {
        event.push_str("data: elements ");
        event.push_str(line);
        event.push('\n');
    }
    event.push('\n');
    event
}

fn respond(stream: &TcpStream, head: &str, body: &str) -> io::Result<()> {
    // Buffered, so that a short response is one write.
    let mut out = BufWriter::new(stream);
    write!(
        out,
        "HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    out.write_all(body.as_bytes())?;
    out.flush()
}
