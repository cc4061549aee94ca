// Prony's reference server on a free port of loopback.

import { spawn } from "node:child_process";
import { connect, createServer } from "node:net";
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
  await listening(port);
  return {
    address: `http://127.0.0.1:${port}/hello`,
    stop: () => server.kill(),
  };
}

/** Waits until something listens on the port, for a minute. */
async function listening(port) {
  const end = Date.now() + 60_000;
  while (!(await accepts(port))) {
    if (Date.now() > end) throw new Error(`nothing listens on port ${port}`);
    await pause(20);
  }
}

function accepts(port) {
  return new Promise((resolve) => {
    const client = connect(port, "127.0.0.1");
    client.once("error", () => resolve(false));
    client.once("connect", () => {
      client.destroy();
      resolve(true);
    });
  });
}

function freePort() {
  return new Promise((resolve) => {
    const listener = createServer().listen(0, "127.0.0.1", () => {
      const { port } = listener.address();
      listener.close(() => resolve(port));
    });
  });
}
