// Serves Prony's workloads with Node's own http, or with its http2 if there is a certificate.

import cluster from "node:cluster";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createSecureServer } from "node:http2";

const { HOST, PORT, CPUS, ASSETS, TLS_CERT, TLS_KEY } = process.env;

// Node runs JavaScript on one thread, so each CPU gets its own process.
if (cluster.isPrimary && Number(CPUS) > 1) {
  // A worker that ends is not replaced, so that the failure shows.
  cluster.on("exit", (_worker, code) => process.exit(code ?? 1));
  for (let i = 0; i < Number(CPUS); i++) cluster.fork();
} else {
  serve();
}

function serve() {
  const page = readFileSync(`${ASSETS}/page-100k.html`);
  const pageText = page.toString();
  const smallPageText = readFileSync(`${ASSETS}/page-20k.html`, "utf8");
  const quotes = readFileSync(`${ASSETS}/quotes.txt`, "utf8")
    .trim()
    .split("\n");

  const routes = {
    "/hello": (response) => send(response, "text/plain", "hello from prony\n"),
    "/byte": (response) => send(response, "text/plain", "r"),
    "/": (response) => send(response, "text/html", page),
    "/log": (response) => {
      console.log("GET /log");
      send(response, "text/html", page);
    },
    "/sse": (response) => {
      console.log("GET /sse");
      sendPatch(response, pageText);
    },
    "/sse-20k": (response) => {
      console.log("GET /sse-20k");
      sendPatch(response, smallPageText);
    },
    "/franklin-says": (response) =>
      send(
        response,
        "text/plain",
        quotes[Math.floor(Math.random() * quotes.length)],
      ),
  };

  const respond = (request, response) => {
    const route = request.method === "GET" && routes[request.url];
    if (route) {
      route(response);
    } else {
      response.statusCode = 404;
      response.end();
    }
  };

  const server = TLS_CERT
    ? createSecureServer(
        {
          cert: readFileSync(TLS_CERT),
          key: readFileSync(TLS_KEY),
          allowHTTP1: true,
        },
        respond,
      )
    : createServer(respond);
  server.listen({ host: HOST, port: Number(PORT), backlog: 1024 });
}

function send(response, contentType, body) {
  response.setHeader("Content-Type", contentType);
  response.end(body);
}

/** Sends a page as one datastar-patch-elements event. */
function sendPatch(response, page) {
  let event = "event: datastar-patch-elements\n";
  for (const line of page.trimEnd().split("\n")) {
    event += `data: elements ${line}\n`;
  }
  response.setHeader("Cache-Control", "no-cache");
  send(response, "text/event-stream", event + "\n");
}
