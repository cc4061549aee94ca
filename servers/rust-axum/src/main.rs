//! Serves Prony's workloads with axum.

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::{env, fs};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONNECTION;
use axum::response::sse::{Event, Sse};
use axum::response::{Html, IntoResponse};
use axum::routing::get;
use axum::serve::ListenerExt;
use axum_server::accept::NoDelayAcceptor;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use futures_util::stream;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime;

struct Assets {
    page: Bytes,
    page_text: String,
    small_page_text: String,
    quotes: Vec<String>,
}

impl Assets {
    fn read() -> Result<Self, Box<dyn Error>> {
        let folder = env::var("ASSETS")?;
        let read = |name: &str| fs::read_to_string(format!("{folder}/{name}"));
        let page_text = read("page-100k.html")?;
        Ok(Self {
            page: Bytes::from(page_text.clone()),
            page_text,
            small_page_text: read("page-20k.html")?,
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
    let app = Router::new()
        .route("/hello", get("hello from prony\n"))
        .route("/byte", get("r"))
        .route("/", get(page))
        .route("/log", get(page_log))
        .route("/sse", get(sse))
        .route("/sse-20k", get(sse_20k))
        .route("/franklin-says", get(quote))
        .with_state(Arc::new(Assets::read()?));

    let listener = listen()?;
    if let (Ok(certificate), Ok(key)) = (env::var("TLS_CERT"), env::var("TLS_KEY")) {
        let tls = RustlsConfig::from_pem_file(certificate, key).await?;
        axum_server::from_tcp(listener.into_std()?)?
            .acceptor(RustlsAcceptor::new(tls).acceptor(NoDelayAcceptor::new()))
            .serve(app.into_make_service())
            .await?;
    } else {
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, app).await?;
    }
    Ok(())
}

/// Listens with room for a burst of connections; with the default queue of 128 some wait a second.
fn listen() -> Result<TcpListener, Box<dyn Error>> {
    let address: SocketAddr = format!("{}:{}", env::var("HOST")?, env::var("PORT")?).parse()?;
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket.listen(1024)?)
}

async fn page(State(assets): State<Arc<Assets>>) -> Html<Bytes> {
    Html(assets.page.clone())
}

async fn page_log(State(assets): State<Arc<Assets>>) -> Html<Bytes> {
    println!("GET /log");
    Html(assets.page.clone())
}

async fn sse(State(assets): State<Arc<Assets>>) -> impl IntoResponse {
    println!("GET /sse");
    patch_elements(&assets.page_text)
}

async fn sse_20k(State(assets): State<Arc<Assets>>) -> impl IntoResponse {
    println!("GET /sse-20k");
    patch_elements(&assets.small_page_text)
}

async fn quote(State(assets): State<Arc<Assets>>) -> String {
    assets.quotes[fastrand::usize(..assets.quotes.len())].clone()
}

/// A page as one `datastar-patch-elements` event.
fn patch_elements(page: &str) -> impl IntoResponse + use<> {
    let mut data = String::with_capacity(page.len() * 5 / 4);
    for line in page.lines() {
        if !data.is_empty() {
            data.push('\n');
        }
        data.push_str("elements ");
        data.push_str(line);
    }
    let event = Event::default().event("datastar-patch-elements").data(data);
    let events = stream::iter([Ok::<_, Infallible>(event)]);
    ([(CONNECTION, "keep-alive")], Sse::new(events))
}
