//! A gRPC server with reflection: the service `shop.v1.Catalog`, whose every method returns an empty message.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use bytes::Bytes;
use h2::server::{self, SendResponse};
use http::{HeaderMap, HeaderValue, Request, Response};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

use prony_testkit::certificate::Certificate;
use prony_testkit::{connections, tls_server};

/// What the server reflects: its service and the files that define it.
const SERVICE: &str = "shop.v1.Catalog";
const FILES: &[u8] = include_bytes!("../../../../engine/traffic/tests/protoc/shop.protoset");

/// A `grpc-timeout`, 20 ms, that is over at once.
const OVER: &str = "20000000n";
const DEADLINE_EXCEEDED: u16 = 4;
const UNIMPLEMENTED: u16 = 12;

/// The paths and the metadata `token` of the calls.
pub(super) type Calls = Arc<std::sync::Mutex<Vec<(String, Option<String>)>>>;

/// Which versions of reflection a server has.
#[derive(Clone, Copy)]
pub(super) enum Reflects {
    V1,
    OnlyV1Alpha,
    Nothing,
}

pub(super) struct GrpcServer {
    address: SocketAddr,
    calls: Calls,
}

impl GrpcServer {
    pub(super) fn start(reflects: Reflects) -> Self {
        Self::of(reflects, None)
    }

    /// With the newer reflection.
    pub(super) fn over_tls(certificate: &Certificate) -> Self {
        let mut config = tls_server::config(certificate, None);
        config.alpn_protocols = vec![b"h2".to_vec()];
        Self::of(Reflects::V1, Some(Arc::new(config).into()))
    }

    fn of(reflects: Reflects, tls: Option<TlsAcceptor>) -> Self {
        let calls = Calls::default();
        let all = Arc::clone(&calls);
        let address = connections::serve(move |stream| {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_io().build().unwrap();
            runtime.block_on(accept(stream, tls.clone(), reflects, Arc::clone(&all)));
        });
        Self { address, calls }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The certificates of the tests are for this host.
    pub(super) fn https_url(&self) -> String {
        format!("https://localhost:{}/", self.address.port())
    }

    pub(super) fn calls(&self) -> Vec<(String, Option<String>)> {
        self.calls.lock().unwrap().clone()
    }
}

async fn accept(stream: TcpStream, tls: Option<TlsAcceptor>, reflects: Reflects, calls: Calls) {
    stream.set_nonblocking(true).unwrap();
    let stream = tokio::net::TcpStream::from_std(stream).unwrap();
    match tls {
        None => serve(stream, reflects, calls).await,
        // A client in plain text gets an alert.
        Some(tls) => {
            if let Ok(stream) = tls.accept(stream).await {
                serve(stream, reflects, calls).await;
            }
        }
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, reflects: Reflects, calls: Calls) {
    // Prony looks with a bare connection whether the server is there.
    let Ok(mut connection) = server::handshake(stream).await else {
        return;
    };
    while let Some(Ok((request, respond))) = connection.accept().await {
        tokio::task::spawn(respond_to(request, respond, reflects, Arc::clone(&calls)));
    }
}

async fn respond_to(
    request: Request<h2::RecvStream>,
    respond: SendResponse<Bytes>,
    reflects: Reflects,
    calls: Calls,
) {
    let path = request.uri().path().to_owned();
    let token = request.headers().get("token");
    let token = token.map(|token| token.to_str().unwrap().to_owned());
    calls.lock().unwrap().push((path.clone(), token));
    let reflection = match reflects {
        Reflects::V1 => "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        Reflects::OnlyV1Alpha => "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        Reflects::Nothing => "",
    };
    let timeout = request.headers().get("grpc-timeout");
    let is_over = timeout.is_some_and(|timeout| timeout == OVER);
    let mut body = request.into_body();
    let mut bytes = Vec::new();
    while let Some(Ok(piece)) = body.data().await {
        body.flow_control().release_capacity(piece.len()).unwrap();
        bytes.extend_from_slice(&piece);
    }
    match path.strip_prefix('/').and_then(|path| path.split_once('/')) {
        _ if path == reflection => respond_with(respond, Ok(reflected(&bytes[5..]))),
        Some((SERVICE, _)) if is_over => respond_with(respond, Err(DEADLINE_EXCEEDED)),
        Some((SERVICE, _)) => respond_with(respond, Ok(Vec::new())),
        _ => respond_with(respond, Err(UNIMPLEMENTED)),
    }
}

/// A message, or the number of a status.
fn respond_with(mut respond: SendResponse<Bytes>, result: Result<Vec<u8>, u16>) {
    let mut response = Response::new(());
    let fields = response.headers_mut();
    fields.insert("content-type", HeaderValue::from_static("application/grpc"));
    let message = match result {
        Err(status) => {
            fields.insert("grpc-status", status.into());
            respond.send_response(response, true).unwrap();
            return;
        }
        Ok(message) => message,
    };
    // A client that has gone away needs no response.
    let Ok(mut send) = respond.send_response(response, false) else {
        return;
    };
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    let framed = [&[0], &length[..], &message].concat();
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", 0.into());
    let sent = send.send_data(framed.into(), false);
    let _ = sent.and_then(|()| send.send_trailers(trailers));
}

/// The response to a reflection request (grpc/reflection/v1/reflection.proto).
fn reflected(request: &[u8]) -> Vec<u8> {
    let (field, value) = (request[0] >> 3, &request[2..]);
    let symbol = std::str::from_utf8(value).unwrap();
    match field {
        7 => bytes_field(6, &bytes_field(1, &bytes_field(1, SERVICE.as_bytes()))),
        4 if symbol.starts_with("shop.v1.") => bytes_field(4, FILES),
        _ => bytes_field(7, &bytes_field(2, b"no such symbol")),
    }
}

/// A field with a length. The files of a descriptor set have the number 1, as in the response.
fn bytes_field(number: u8, value: &[u8]) -> Vec<u8> {
    let (mut encoded, mut length) = (vec![number << 3 | 2], value.len());
    while length > 127 {
        encoded.push(length as u8 | 128);
        length >>= 7;
    }
    encoded.push(length as u8);
    encoded.extend_from_slice(value);
    encoded
}
