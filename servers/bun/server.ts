// Serves Prony's workloads with Bun.serve.

const { HOST, PORT, CPUS, ASSETS, TLS_CERT, TLS_KEY, WORKER } = process.env;

// Bun runs JavaScript on one thread, so each further CPU gets its own process.
if (!WORKER) {
  const workers = Array.from({ length: Number(CPUS) - 1 }, () =>
    Bun.spawn([process.execPath, import.meta.path], {
      env: { ...process.env, WORKER: "1" },
      stdio: ["ignore", "inherit", "inherit"],
    }),
  );
  process.on("exit", () => workers.forEach((worker) => worker.kill()));
  process.on("SIGTERM", () => process.exit());
  process.on("SIGINT", () => process.exit());
}

const page = await Bun.file(`${ASSETS}/page-100k.html`).text();
const smallPage = await Bun.file(`${ASSETS}/page-20k.html`).text();
const quotes = (await Bun.file(`${ASSETS}/quotes.txt`).text())
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
      Connection: "keep-alive",
    },
  });
}

Bun.serve({
  hostname: HOST,
  port: Number(PORT),
  reusePort: Number(CPUS) > 1,
  tls: TLS_CERT
    ? { cert: Bun.file(TLS_CERT), key: Bun.file(TLS_KEY!) }
    : undefined,
  http2: Boolean(TLS_CERT),
  routes: {
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
  },
  fetch: () => new Response("Not Found", { status: 404 }),
});
