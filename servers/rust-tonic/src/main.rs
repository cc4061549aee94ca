//! Serves Prony's unary gRPC call with tonic.

use std::env;
use std::error::Error;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

use crate::proto::echo_server::{Echo, EchoServer};
use crate::proto::{EchoReply, EchoRequest};

mod proto {
    tonic::include_proto!("prony.echo.v1");
}

struct Echoer;

#[tonic::async_trait]
impl Echo for Echoer {
    async fn unary(&self, request: Request<EchoRequest>) -> Result<Response<EchoReply>, Status> {
        let EchoRequest { payload } = request.into_inner();
        Ok(Response::new(EchoReply { payload }))
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
    Server::builder()
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
