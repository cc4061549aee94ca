//! Serves Prony's gRPC calls with tonic.

use std::error::Error;
use std::net::SocketAddr;
use std::pin::Pin;
use std::{env, fs};

use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime;
use tokio_stream::{Stream, StreamExt};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status, Streaming};

use crate::proto::echo_server::{Echo, EchoServer};
use crate::proto::{EchoReply, EchoRequest, StreamRequest, Summary};

mod proto {
    tonic::include_proto!("prony.echo.v1");
}

struct Echoer;

type Replies = Pin<Box<dyn Stream<Item = Result<EchoReply, Status>> + Send>>;

#[tonic::async_trait]
impl Echo for Echoer {
    async fn unary(&self, request: Request<EchoRequest>) -> Result<Response<EchoReply>, Status> {
        let EchoRequest { payload } = request.into_inner();
        Ok(Response::new(EchoReply { payload }))
    }

    type ServerStreamStream = Replies;

    async fn server_stream(
        &self,
        request: Request<StreamRequest>,
    ) -> Result<Response<Replies>, Status> {
        let StreamRequest { payload, count } = request.into_inner();
        let replies = (0..count).map(move |_| {
            let payload = payload.clone();
            Ok(EchoReply { payload })
        });
        Ok(Response::new(Box::pin(tokio_stream::iter(replies))))
    }

    async fn client_stream(
        &self,
        request: Request<Streaming<EchoRequest>>,
    ) -> Result<Response<Summary>, Status> {
        let mut requests = request.into_inner();
        let mut summary = Summary::default();
        while let Some(EchoRequest { payload }) = requests.message().await? {
            summary.payload = payload;
            summary.count += 1;
        }
        Ok(Response::new(summary))
    }

    type BidiStreamStream = Replies;

    async fn bidi_stream(
        &self,
        request: Request<Streaming<EchoRequest>>,
    ) -> Result<Response<Replies>, Status> {
        let replies = request.into_inner().map(|request| {
            let EchoRequest { payload } = request?;
            Ok(EchoReply { payload })
        });
        Ok(Response::new(Box::pin(replies)))
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
    let incoming = TcpIncoming::from(listen()?).with_nodelay(Some(true));
    let mut server = Server::builder();
    if let (Ok(certificate), Ok(key)) = (env::var("TLS_CERT"), env::var("TLS_KEY")) {
        let identity = Identity::from_pem(fs::read(certificate)?, fs::read(key)?);
        server = server.tls_config(ServerTlsConfig::new().identity(identity))?;
    }
    server
        .add_service(EchoServer::new(Echoer))
        .serve_with_incoming(incoming)
        .await?;
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
