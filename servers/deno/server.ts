// Serves Prony's workloads with Deno.serve.

const assets = Deno.env.get("ASSETS");
const page = await Deno.readTextFile(`${assets}/page-100k.html`);
const smallPage = await Deno.readTextFile(`${assets}/page-20k.html`);
const quotes = (await Deno.readTextFile(`${assets}/quotes.txt`))
  .trim()
  .split("\n");

const text = (body: string) =>
  new Response(body, { headers: { "Content-Type": "text/plain" } });

const html = (body: string) =>
  new Response(body, { headers: { "Content-Type": "text/html" } });

/** A page as one datastar-patch-elements event. */
function patchElements(page: string) {
  let event = "event: datastar-patch-elements\n";
  for (const line of page.trimEnd().split("\n")) {
    event += `data: elements ${line}\n`;
  }
  return new Response(event + "\n", {
    headers: {
      "Content-Type": "text/event-stream",
      "Cache-Control": "no-cache",
    },
  });
}

const routes: Record<string, () => Response> = {
  "/hello": () => text("hello from prony\n"),
  "/byte": () => text("r"),
  "/": () => html(page),
  "/log": () => {
    console.log("GET /log");
    return html(page);
  },
  "/sse": () => {
    console.log("GET /sse");
    return patchElements(page);
  },
  "/sse-20k": () => {
    console.log("GET /sse-20k");
    return patchElements(smallPage);
  },
  "/franklin-says": () =>
    text(quotes[Math.floor(Math.random() * quotes.length)]),
};

// With a certificate, Deno offers HTTP/2 and HTTP/1.1 over TLS.
const certificate = Deno.env.get("TLS_CERT");
const tls = certificate && {
  cert: await Deno.readTextFile(certificate),
  key: await Deno.readTextFile(Deno.env.get("TLS_KEY")!),
};

const notFound = () => new Response("Not Found", { status: 404 });

Deno.serve(
  {
    hostname: Deno.env.get("HOST"),
    port: Number(Deno.env.get("PORT")),
    reusePort: Number(Deno.env.get("CPUS")) > 1,
    tcpBacklog: 1024,
    ...tls,
    // Otherwise every thread prints where it listens.
    onListen() {},
  },
  (request) => (routes[new URL(request.url).pathname] ?? notFound)(),
);
