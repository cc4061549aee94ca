// Deno runs JavaScript on one thread, so each further CPU gets a worker.
const server = new URL("server.ts", import.meta.url);
for (let i = 1; i < Number(Deno.env.get("CPUS")); i++) {
  new Worker(server, { type: "module" });
}
await import(server.href);
