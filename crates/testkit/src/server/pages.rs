//! The right responses to the repository's workloads over HTTP/1.1.

use std::env;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Request, Response};

/// Empty outside of a project.
fn asset(name: &str) -> Vec<u8> {
    let folder = env::var_os("ASSETS").unwrap_or_default();
    fs::read(Path::new(&folder).join(name)).unwrap_or_default()
}

static PAGE: LazyLock<Vec<u8>> = LazyLock::new(|| asset("page-100k.html"));
static SMALL_PAGE: LazyLock<Vec<u8>> = LazyLock::new(|| asset("page-20k.html"));
static QUOTES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let text = asset("quotes.txt");
    let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec);
    lines.filter(|line| !line.is_empty()).collect()
});

/// The lines of `quotes.txt`.
pub fn quotes() -> &'static [Vec<u8>] {
    &QUOTES
}

pub fn right(request: &Request) -> Response {
    match request.path.as_str() {
        "/hello" => Response::text("hello from prony\n"),
        "/byte" => Response::text("r"),
        "/" => Response::new(200, "text/html", PAGE.clone()),
        "/log" => logged(request, Response::new(200, "text/html", PAGE.clone())),
        "/sse" => logged(request, patch_of(&PAGE)),
        "/sse-20k" => logged(request, patch_of(&SMALL_PAGE)),
        "/franklin-says" => Response::text(drawn().clone()),
        _ => Response::new(404, "text/plain", "there is nothing here"),
    }
}

fn logged(request: &Request, mut response: Response) -> Response {
    response.output = format!("{} {}\n", request.method, request.path);
    response
}

/// The page as one event that Datastar understands.
pub fn patch_of(page: &[u8]) -> Response {
    let mut event = b"event: datastar-patch-elements\n".to_vec();
    let page = page.strip_suffix(b"\n").unwrap_or(page);
    for line in page.split(|&byte| byte == b'\n') {
        event.extend_from_slice(b"data: elements ");
        event.extend_from_slice(line);
        event.push(b'\n');
    }
    event.push(b'\n');
    let mut response = Response::new(200, "text/event-stream", event);
    response
        .headers
        .push(("cache-control", "no-cache".to_owned()));
    response
}

/// One of the quotes, each as likely as the others, independently of the ones before (SplitMix64).
fn drawn() -> &'static Vec<u8> {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    static STATE: LazyLock<AtomicU64> =
        LazyLock::new(|| AtomicU64::new(u64::from(std::process::id()) << 32));
    let mut bits = STATE.fetch_add(STEP, Ordering::Relaxed);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    &QUOTES[(bits % QUOTES.len() as u64) as usize]
}
