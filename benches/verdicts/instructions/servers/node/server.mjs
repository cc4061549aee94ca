// Serves the workload `hello` with Node's own http, after a known amount of work.

import { createServer } from "node:http";

// Steps of work for each request.
const WORK = 200;

const { HOST, PORT } = process.env;

createServer((request, response) => {
  if (request.url === "/hello") {
    response.setHeader("X-Work", work(WORK));
    response.setHeader("Content-Type", "text/plain");
    response.end("hello from prony\n");
  } else {
    response.statusCode = 404;
    response.end();
  }
}).listen({ host: HOST, port: Number(PORT) });

// Each step needs the result of the one before.
function work(steps) {
  let state = 1;
  for (let step = 0; step < steps; step++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
  }
  return state;
}
