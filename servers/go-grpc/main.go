// Command go-grpc serves Prony's unary gRPC call with grpc-go.
package main

import (
	"context"
	"log"
	"net"
	"os"
	"runtime"
	"strconv"

	"google.golang.org/grpc"

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

	listener, err := net.Listen("tcp", net.JoinHostPort(os.Getenv("HOST"), os.Getenv("PORT")))
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	echo.RegisterEchoServer(server, echoServer{})
	log.Fatal(server.Serve(listener))
}

type echoServer struct {
	echo.UnimplementedEchoServer
}

func (echoServer) Unary(_ context.Context, request *echo.EchoRequest) (*echo.EchoReply, error) {
	return &echo.EchoReply{Payload: request.GetPayload()}, nil
}
