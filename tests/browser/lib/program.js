// The program under test, and what it writes.

import { execFile } from "node:child_process";
import { access } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const root = path.resolve(
  fileURLToPath(new URL("../../..", import.meta.url)),
);

/** Where `make-pages.js` writes the pages and the tests read them. */
export const pages = process.env.PRONY_PAGES
  ? path.resolve(process.env.PRONY_PAGES)
  : path.join(root, ".prony/browser");

/** The record file of the site. */
export const store = path.join(pages, "runs.sqlite");

export const program = path.resolve(
  root,
  process.env.PRONY ?? "target/debug/prony",
);

const execute = promisify(execFile);

/** Runs a command in `folder` and returns its standard output; its exit status must be 0. */
export async function run(command, parameters, folder = root) {
  const { stdout } = await execute(command, parameters, {
    cwd: folder,
    maxBuffer: 1 << 28,
    timeout: 600_000,
  });
  return stdout;
}

export const prony = (parameters, folder) => run(program, parameters, folder);

export async function exists(file) {
  return access(file).then(
    () => true,
    () => false,
  );
}
