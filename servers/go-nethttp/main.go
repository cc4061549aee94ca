// Command go-nethttp serves Prony's workloads with Go's own net/http.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

func main() {
	cpus, err := strconv.Atoi(os.Getenv("CPUS"))
	if err != nil {
		log.Fatalf("CPUS: %v", err)
	}
	runtime.GOMAXPROCS(cpus)

	page := asset("page-100k.html")
	smallPage := asset("page-20k.html")
	quotes := strings.Split(strings.TrimSpace(string(asset("quotes.txt"))), "\n")

	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, r *http.Request) {
		send(w, "text/plain", []byte("hello from prony\n"))
	})
	mux.HandleFunc("GET /byte", func(w http.ResponseWriter, r *http.Request) {
		send(w, "text/plain", []byte("r"))
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		send(w, "text/html", page)
	})
	mux.HandleFunc("GET /log", func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("GET /log")
		send(w, "text/html", page)
	})
	mux.HandleFunc("GET /sse", func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("GET /sse")
		sendPatch(w, page)
	})
	mux.HandleFunc("GET /sse-20k", func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("GET /sse-20k")
		sendPatch(w, smallPage)
	})
	mux.HandleFunc("GET /franklin-says", func(w http.ResponseWriter, r *http.Request) {
		send(w, "text/plain", []byte(quotes[rand.IntN(len(quotes))]))
	})

	address := net.JoinHostPort(os.Getenv("HOST"), os.Getenv("PORT"))
	if certificate := os.Getenv("TLS_CERT"); certificate != "" {
		// With HTTP/2 and HTTP/1.1.
		log.Fatal(http.ListenAndServeTLS(address, certificate, os.Getenv("TLS_KEY"), mux))
	}
	log.Fatal(http.ListenAndServe(address, mux))
}

func asset(name string) []byte {
	content, err := os.ReadFile(filepath.Join(os.Getenv("ASSETS"), name))
	if err != nil {
		log.Fatal(err)
	}
	return content
}

func send(w http.ResponseWriter, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

// sendPatch sends a page as one datastar-patch-elements event.
func sendPatch(w http.ResponseWriter, page []byte) {
	var event bytes.Buffer
	event.WriteString("event: datastar-patch-elements\n")
	lines := bufio.NewScanner(bytes.NewReader(page))
	for lines.Scan() {
		event.WriteString("data: elements ")
		event.Write(lines.Bytes())
		event.WriteByte('\n')
	}
	event.WriteByte('\n')

	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("Connection", "keep-alive")
	send(w, "text/event-stream", event.Bytes())
}
