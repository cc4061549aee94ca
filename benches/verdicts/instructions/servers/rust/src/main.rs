//! Serves the workload `hello` with hyper, after a known amount of work.

use std::convert::Infallible;
use std::env;
use std::error::Error;
use std::hint::black_box;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::runtime;

/// Steps of work for each request.
const WORK: u64 = 200;

fn main() -> Result<(), Box<dyn Error>> {
    runtime::Builder::new_multi_thread()
        .worker_threads(env::var("CPUS")?.parse()?)
        .enable_all()
        .build()?
        .block_on(serve())
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let address = format!("{}:{}", env::var("HOST")?, env::var("PORT")?);
    let listener = TcpListener::bind(address).await?;
    loop {
        // A connection that fails before it is accepted only affects that client.
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let _ = stream.set_nodelay(true);
        tokio::spawn(async move {
            // An error means that the client is gone.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service_fn(respond))
                .await;
        });
    }
}

async fn respond(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::default());
    if request.uri().path() == "/hello" {
        work(black_box(WORK));
        *response.body_mut() = Full::from("hello from prony\n");
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    } else {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    Ok(response)
}

/// Each step needs the result of the one before, so the compiler cannot skip any.
#[inline(never)]
fn work(steps: u64) {
    let mut state = 1_u64;
    for _ in 0..steps {
        state = black_box(state.wrapping_mul(6_364_136_223_846_793_005) + 1);
    }
}
