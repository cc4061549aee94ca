//! Serves Prony's workloads with hyper, without a framework on top.

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::{env, fs};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime;
use tokio_rustls::TlsAcceptor;

struct Assets {
    page: Bytes,
    page_text: String,
    small_page_text: String,
    quotes: Vec<Bytes>,
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
            quotes: read("quotes.txt")?
                .lines()
                .map(|quote| Bytes::from(quote.to_owned()))
                .collect(),
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
    let assets = Arc::new(Assets::read()?);
    let listener = listen()?;
    let tls = tls_acceptor()?;
    loop {
        // A connection that fails before it is accepted only affects that client.
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let _ = stream.set_nodelay(true);
        let assets = Arc::clone(&assets);
        let tls = tls.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let response = response_to(&request, &assets);
                async move { Ok::<_, Infallible>(response) }
            });
            // An error means that the client is gone.
            if let Some(tls) = tls {
                let Ok(stream) = tls.accept(stream).await else {
                    return;
                };
                let _ = auto::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            } else {
                let _ = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            }
        });
    }
}

/// TLS with HTTP/2 and HTTP/1.1, if there is a certificate.
fn tls_acceptor() -> Result<Option<TlsAcceptor>, Box<dyn Error>> {
    let (Ok(certificate), Ok(key)) = (env::var("TLS_CERT"), env::var("TLS_KEY")) else {
        return Ok(None);
    };
    let chain = CertificateDer::pem_file_iter(certificate)?.collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_file(key)?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".into(), b"http/1.1".into()];
    Ok(Some(TlsAcceptor::from(Arc::new(config))))
}

/// Listens with room for a burst of connections; with the default queue of 128 some wait a second.
fn listen() -> Result<TcpListener, Box<dyn Error>> {
    let address: SocketAddr = format!("{}:{}", env::var("HOST")?, env::var("PORT")?).parse()?;
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket.listen(1024)?)
}

fn response_to(request: &Request<Incoming>, assets: &Assets) -> Response<Full<Bytes>> {
    if request.method() != Method::GET {
        return not_found();
    }
    match request.uri().path() {
        "/hello" => content("text/plain", "hello from prony\n"),
        "/byte" => content("text/plain", "r"),
        "/" => content("text/html", assets.page.clone()),
        "/log" => {
            println!("GET /log");
            content("text/html", assets.page.clone())
        }
        "/sse" => {
            println!("GET /sse");
            patch_elements(&assets.page_text)
        }
        "/sse-20k" => {
            println!("GET /sse-20k");
            patch_elements(&assets.small_page_text)
        }
        "/franklin-says" => {
            let quote = &assets.quotes[fastrand::usize(..assets.quotes.len())];
            content("text/plain", quote.clone())
        }
        _ => not_found(),
    }
}

fn content(content_type: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A page as one `datastar-patch-elements` event.
fn patch_elements(page: &str) -> Response<Full<Bytes>> {
    let mut event = String::with_capacity(page.len() * 5 / 4);
    event.push_str("event: datastar-patch-elements\n");
    for line in page.lines() {
        event.push_str("data: elements ");
        event.push_str(line);
        event.push('\n');
    }
    event.push('\n');

    let mut response = content("text/event-stream", event);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(CONNECTION, HeaderValue::from_static("keep-alive"));
    response
}

fn not_found() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}
