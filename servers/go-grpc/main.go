// Command go-grpc serves Prony's gRPC calls with grpc-go.
package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"os"
	"runtime"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/reflection"

	"prony/servers/go-grpc/echo"
)

// This needs protoc, protoc-gen-go and protoc-gen-go-grpc in the versions named in the generated files.
//go:generate protoc -I ../../workloads --go_out=echo --go_opt=paths=source_relative,Mecho.proto=./echo --go-grpc_out=echo --go-grpc_opt=paths=source_relative,Mecho.proto=./echo echo.proto

func main() {
	cpus, err := strconv.Atoi(os.Getenv("CPUS"))
	if err != nil {
		log.Fatalf("CPUS: %v", err)
	}
	runtime.GOMAXPROCS(cpus)

	var options []grpc.ServerOption
	if certificate := os.Getenv("TLS_CERT"); certificate != "" {
		tls, err := credentials.NewServerTLSFromFile(certificate, os.Getenv("TLS_KEY"))
		if err != nil {
			log.Fatal(err)
		}
		options = append(options, grpc.Creds(tls))
	}
	server := grpc.NewServer(options...)
	echo.RegisterEchoServer(server, echoServer{})
	reflection.Register(server)

	listener, err := net.Listen("tcp", net.JoinHostPort(os.Getenv("HOST"), os.Getenv("PORT")))
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(server.Serve(listener))
}

type echoServer struct {
	echo.UnimplementedEchoServer
}

func (echoServer) Unary(_ context.Context, request *echo.EchoRequest) (*echo.EchoReply, error) {
	return &echo.EchoReply{Payload: request.GetPayload()}, nil
}

func (echoServer) ServerStream(request *echo.StreamRequest, stream grpc.ServerStreamingServer[echo.EchoReply]) error {
	for range request.GetCount() {
		if err := stream.Send(&echo.EchoReply{Payload: request.GetPayload()}); err != nil {
			return err
		}
	}
	return nil
}

func (echoServer) ClientStream(stream grpc.ClientStreamingServer[echo.EchoRequest, echo.Summary]) error {
	summary := &echo.Summary{}
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(summary)
		}
		if err != nil {
			return err
		}
		summary.Payload = request.GetPayload()
		summary.Count++
	}
}

func (echoServer) BidiStream(stream grpc.BidiStreamingServer[echo.EchoRequest, echo.EchoReply]) error {
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(&echo.EchoReply{Payload: request.GetPayload()}); err != nil {
			return err
		}
	}
}
