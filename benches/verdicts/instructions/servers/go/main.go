// Command known-difference serves the workload hello with Go's own net/http, after a known amount of work.
package main

import (
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
)

// Steps of work for each request.
const workSteps = 200

func main() {
	cpus, err := strconv.Atoi(os.Getenv("CPUS"))
	if err != nil {
		log.Fatalf("CPUS: %v", err)
	}
	runtime.GOMAXPROCS(cpus)

	http.HandleFunc("GET /hello", func(w http.ResponseWriter, r *http.Request) {
		work(workSteps)
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "hello from prony\n")
	})
	address := net.JoinHostPort(os.Getenv("HOST"), os.Getenv("PORT"))
	log.Fatal(http.ListenAndServe(address, nil))
}

// work does steps that each need the result of the one before.
//
//go:noinline
func work(steps int) uint64 {
	state := uint64(1)
	for range steps {
		state = state*6364136223846793005 + 1
	}
	return state
}
