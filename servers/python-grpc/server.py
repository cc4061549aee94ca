"""Serves Prony's gRPC calls with grpcio's asyncio API."""

import asyncio
import os
from multiprocessing import Process
from multiprocessing.connection import wait
from pathlib import Path

import grpc
from echo_pb2 import EchoReply, Summary
from echo_pb2_grpc import EchoServicer, add_EchoServicer_to_server


class Echo(EchoServicer):
    async def Unary(self, request, context):
        return EchoReply(payload=request.payload)

    async def ServerStream(self, request, context):
        for _ in range(request.count):
            yield EchoReply(payload=request.payload)

    async def ClientStream(self, requests, context):
        summary = Summary()
        async for request in requests:
            summary.payload = request.payload
            summary.count += 1
        return summary

    async def BidiStream(self, requests, context):
        async for request in requests:
            yield EchoReply(payload=request.payload)


async def serve():
    # The processes share the port.
    server = grpc.aio.server(options=[("grpc.so_reuseport", 1)])
    add_EchoServicer_to_server(Echo(), server)
    address = f"{os.environ['HOST']}:{os.environ['PORT']}"
    if certificate := os.environ.get("TLS_CERT"):
        key = Path(os.environ["TLS_KEY"]).read_bytes()
        chain = Path(certificate).read_bytes()
        server.add_secure_port(address, grpc.ssl_server_credentials([(key, chain)]))
    else:
        server.add_insecure_port(address)
    await server.start()
    await server.wait_for_termination()


def run():
    asyncio.run(serve())


def main():
    workers = [Process(target=run, daemon=True) for _ in range(int(os.environ["CPUS"]))]
    for worker in workers:
        worker.start()
    # A worker that ends is not replaced, so that the failure shows.
    wait([worker.sentinel for worker in workers])
    raise SystemExit("a worker has ended")


if __name__ == "__main__":
    main()
