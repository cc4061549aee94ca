//! Serves Prony's workloads with warp.

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::{env, fs};

use futures_util::stream;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime;
use warp::sse::Event;
use warp::{Filter, Reply};

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
    runtime::Builder::new_multi_thread()
        .worker_threads(env::var("CPUS")?.parse()?)
        .enable_all()
        .build()?
        .block_on(serve())
}

async fn serve() -> Result<(), Box<dyn Error>> {
    // Needed until the process ends, so it is never freed.
    let assets: &Assets = Box::leak(Box::new(Assets::read()?));

    let hello = warp::path!("hello").map(|| "hello from prony\n");
    let byte = warp::path!("byte").map(|| "r");
    let page = warp::path::end().map(|| warp::reply::html(assets.page.as_str()));
    let page_log = warp::path!("log").map(|| {
        println!("GET /log");
        warp::reply::html(assets.page.as_str())
    });
    let sse = warp::path!("sse").map(|| {
        println!("GET /sse");
        patch_elements(&assets.page)
    });
    let sse_20k = warp::path!("sse-20k").map(|| {
        println!("GET /sse-20k");
        patch_elements(&assets.small_page)
    });
    let quote = warp::path!("franklin-says")
        .map(|| assets.quotes[fastrand::usize(..assets.quotes.len())].as_str());
    let routes = hello
        .or(byte)
        .or(page)
        .or(page_log)
        .or(sse)
        .or(sse_20k)
        .or(quote);

    warp::serve(warp::get().and(routes))
        .incoming(listen()?)
        .run()
        .await;
    Ok(())
}

/// Listens with room for a burst of connections; with the default queue of 128 some wait a second.
/// Connections inherit from the listener that Nagle's algorithm is disabled.
fn listen() -> Result<TcpListener, Box<dyn Error>> {
    let address: SocketAddr = format!("{}:{}", env::var("HOST")?, env::var("PORT")?).parse()?;
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.set_nodelay(true)?;
    socket.bind(address)?;
    Ok(socket.listen(1024)?)
}

/// A page as one `datastar-patch-elements` event.
fn patch_elements(page: &str) -> impl Reply + use<> {
    let mut data = String::with_capacity(page.len() * 5 / 4);
    for line in page.lines() {
        if !data.is_empty() {
            data.push('\n');
        }
        data.push_str("elements ");
        data.push_str(line);
    }
    let event = Event::default().event("datastar-patch-elements").data(data);
    warp::sse::reply(stream::iter([Ok::<_, Infallible>(event)]))
}
