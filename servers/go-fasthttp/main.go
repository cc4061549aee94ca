// Command go-fasthttp serves Prony's workloads with fasthttp.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
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

	handler := func(ctx *fasthttp.RequestCtx) {
		if !ctx.IsGet() {
			ctx.NotFound()
			return
		}
		switch string(ctx.Path()) {
		case "/hello":
			sendText(ctx, "hello from prony\n")
		case "/byte":
			sendText(ctx, "r")
		case "/":
			sendPage(ctx, page)
		case "/log":
			fmt.Println("GET /log")
			sendPage(ctx, page)
		case "/sse":
			fmt.Println("GET /sse")
			sendPatch(ctx, page)
		case "/sse-20k":
			fmt.Println("GET /sse-20k")
			sendPatch(ctx, smallPage)
		case "/franklin-says":
			sendText(ctx, quotes[rand.IntN(len(quotes))])
		default:
			ctx.NotFound()
		}
	}

	address := net.JoinHostPort(os.Getenv("HOST"), os.Getenv("PORT"))
	log.Fatal(fasthttp.ListenAndServe(address, handler))
}

func asset(name string) []byte {
	content, err := os.ReadFile(filepath.Join(os.Getenv("ASSETS"), name))
	if err != nil {
		log.Fatal(err)
	}
	return content
}

func sendText(ctx *fasthttp.RequestCtx, text string) {
	ctx.SetContentType("text/plain")
	ctx.SetBodyString(text)
}

func sendPage(ctx *fasthttp.RequestCtx, page []byte) {
	ctx.SetContentType("text/html")
	ctx.Response.SetBodyRaw(page) // The page never changes, so it need not be copied.
}

// sendPatch sends a page as one datastar-patch-elements event, written into the pooled body of the response.
func sendPatch(ctx *fasthttp.RequestCtx, page []byte) {
	ctx.SetContentType("text/event-stream")
	ctx.Response.Header.Set("Cache-Control", "no-cache")

	ctx.WriteString("event: datastar-patch-elements\n")
	lines := bufio.NewScanner(bytes.NewReader(page))
	for lines.Scan() {
		ctx.WriteString("data: elements ")
		ctx.Write(lines.Bytes())
		ctx.WriteString("\n")
	}
	ctx.WriteString("\n")
}
