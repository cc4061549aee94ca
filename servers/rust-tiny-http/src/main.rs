//! Serves Prony's workloads with tiny_http.

use std::borrow::Cow;
use std::error::Error;
use std::io::Cursor;
use std::net::{SocketAddr, TcpListener};
use std::{env, fs, thread};

use socket2::{Domain, Socket, Type};
use tiny_http::{Header, Method, Request, Response, Server};

/// tiny_http's documentation uses four threads; here it is four per CPU, because a response occupies
/// its thread until the client has taken it.
const THREADS_PER_CPU: usize = 4;

type BytesResponse<'a> = Response<Cursor<Cow<'a, [u8]>>>;

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
    let assets = Assets::read()?;
    let cpus: usize = env::var("CPUS")?.parse()?;
    let server = Server::from_listener(listen()?, None).map_err(|error| error.to_string())?;
    thread::scope(|scope| {
        for _ in 0..THREADS_PER_CPU * cpus {
            scope.spawn(|| {
                for request in server.incoming_requests() {
                    let response = response_to(&request, &assets);
                    // An error means that the client is gone.
                    let _ = request.respond(response);
                }
            });
        }
    });
    Ok(())
}

/// Listens as tiny_http itself does, except that there is room for a burst of connections, and that
/// Nagle's algorithm is off: accepted connections inherit it, and tiny_http has no setting for it.
fn listen() -> Result<TcpListener, Box<dyn Error>> {
    let address: SocketAddr = format!("{}:{}", env::var("HOST")?, env::var("PORT")?).parse()?;
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_tcp_nodelay(true)?;
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    Ok(socket.into())
}

fn response_to<'a>(request: &Request, assets: &'a Assets) -> BytesResponse<'a> {
    if *request.method() != Method::Get {
        return not_found();
    }
    match request.url() {
        "/hello" => content("text/plain", "hello from prony\n"),
        "/byte" => content("text/plain", "r"),
        "/" => content("text/html", assets.page.as_str()),
        "/log" => {
            println!("GET /log");
            content("text/html", assets.page.as_str())
        }
        "/sse" => {
            println!("GET /sse");
            patch_elements(&assets.page)
        }
        "/sse-20k" => {
            println!("GET /sse-20k");
            patch_elements(&assets.small_page)
        }
        "/franklin-says" => {
            let quote = &assets.quotes[fastrand::usize(..assets.quotes.len())];
            content("text/plain", quote.as_str())
        }
        _ => not_found(),
    }
}

fn content<'a>(content_type: &str, body: impl Into<Cow<'a, str>>) -> BytesResponse<'a> {
    let body = match body.into() {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    };
    let length = body.len();
    let headers = vec![header("Content-Type", content_type)];
    Response::new(200.into(), headers, Cursor::new(body), Some(length), None)
}

/// A page as one `datastar-patch-elements` event.
fn patch_elements(page: &str) -> BytesResponse<'static> {
    let mut event = String::with_capacity(page.len() * 5 / 4);
    event.push_str("event: datastar-patch-elements\n");
    for line in page.lines() {
        event.push_str("data: elements ");
        event.push_str(line);
        event.push('\n');
    }
    event.push('\n');
    content("text/event-stream", event).with_header(header("Cache-Control", "no-cache"))
}

fn not_found() -> BytesResponse<'static> {
    content("text/plain", "").with_status_code(404)
}

fn header(field: &str, value: &str) -> Header {
    Header::from_bytes(field, value).expect("these names and values are valid")
}
