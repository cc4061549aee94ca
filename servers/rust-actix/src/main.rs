//! Serves Prony's workloads with Actix Web.

use std::error::Error;
use std::{env, fs};

use actix_web::http::header::{CacheControl, CacheDirective, ContentType};
use actix_web::web::{Bytes, Data, get};
use actix_web::{App, HttpResponse, HttpServer};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

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

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let assets = Data::new(Assets::read()?);
    let app = move || {
        App::new()
            .app_data(assets.clone())
            .route("/hello", get().to(hello))
            .route("/byte", get().to(byte))
            .route("/", get().to(page))
            .route("/log", get().to(page_log))
            .route("/sse", get().to(sse))
            .route("/sse-20k", get().to(sse_20k))
            .route("/franklin-says", get().to(quote))
    };
    let address = (env::var("HOST")?, env::var("PORT")?.parse()?);
    let server = HttpServer::new(app)
        .workers(env::var("CPUS")?.parse()?)
        .tcp_nodelay(true);
    let server = match tls_config()? {
        Some(config) => server.bind_rustls_0_23(address, config)?,
        None => server.bind(address)?,
    };
    server.run().await?;
    Ok(())
}

/// The configuration of TLS, if there is a certificate. Actix Web adds ALPN for HTTP/2 and HTTP/1.1.
fn tls_config() -> Result<Option<ServerConfig>, Box<dyn Error>> {
    let (Ok(certificate), Ok(key)) = (env::var("TLS_CERT"), env::var("TLS_KEY")) else {
        return Ok(None);
    };
    let chain = CertificateDer::pem_file_iter(certificate)?.collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_file(key)?;
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    Ok(Some(config))
}

async fn hello() -> &'static str {
    "hello from prony\n"
}

async fn byte() -> &'static str {
    "r"
}

async fn page(assets: Data<Assets>) -> HttpResponse {
    html(&assets)
}

async fn page_log(assets: Data<Assets>) -> HttpResponse {
    println!("GET /log");
    html(&assets)
}

async fn sse(assets: Data<Assets>) -> HttpResponse {
    println!("GET /sse");
    patch_elements(&assets.page_text)
}

async fn sse_20k(assets: Data<Assets>) -> HttpResponse {
    println!("GET /sse-20k");
    patch_elements(&assets.small_page_text)
}

async fn quote(assets: Data<Assets>) -> String {
    assets.quotes[fastrand::usize(..assets.quotes.len())].clone()
}

fn html(assets: &Assets) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(ContentType::html())
        .body(assets.page.clone())
}

/// A page as one `datastar-patch-elements` event.
fn patch_elements(page: &str) -> HttpResponse {
    let mut event = String::with_capacity(page.len() * 5 / 4);
    event.push_str("event: datastar-patch-elements\n");
    for line in page.lines() {
        event.push_str("data: elements ");
        event.push_str(line);
        event.push('\n');
    }
    event.push('\n');

    HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header(CacheControl(vec![CacheDirective::NoCache]))
        .body(event)
}
