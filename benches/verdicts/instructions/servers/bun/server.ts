// Serves the workload `hello` with Bun.serve, after a known amount of work.

// Steps of work for each request.
const WORK = 200;

const { HOST, PORT } = process.env;

Bun.serve({
  hostname: HOST,
  port: Number(PORT),
  routes: {
    "/hello": () =>
      new Response("hello from prony\n", {
        headers: { "Content-Type": "text/plain", "X-Work": work(WORK) },
      }),
  },
  fetch: () => new Response("Not Found", { status: 404 }),
});

// Each step needs the result of the one before.
function work(steps: number) {
  let state = 1;
  for (let step = 0; step < steps; step++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
  }
  return String(state);
}
