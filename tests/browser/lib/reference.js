// Prony's reference server on a free port of loopback.

import { spawn } from "node:child_process";
import { createServer } from "node:net";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { program, root } from "./program.js";

/** Starts it with `flags`; `address` is that of its workload `hello`, and `stop()` ends it. */
export async function reference(flags = []) {
  const port = await freePort();
  const server = spawn(program, ["reference", ...flags], {
    env: {
      ...process.env,
      HOST: "127.0.0.1",
      PORT: String(port),
      CPUS: "1",
      ASSETS: path.join(root, "workloads/assets"),
    },
    stdio: "ignore",
  });
  await pause(500);
  return {
    address: `http://127.0.0.1:${port}/hello`,
    stop: () => server.kill(),
  };
}

function freePort() {
  return new Promise((resolve) => {
    const listener = createServer().listen(0, "127.0.0.1", () => {
      const { port } = listener.address();
      listener.close(() => resolve(port));
    });
  });
}
