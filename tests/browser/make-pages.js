// Writes the pages that the tests look at, by the program itself: `node make-pages.js`.

import { mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { enlarged } from "./lib/large.js";
import { pages, prony, root, run, store } from "./lib/program.js";
import { record, writeReport } from "./lib/record.js";

/** Runs an example of a package: one that is built already, if PRONY_EXAMPLES says where, because Cargo by itself would
 * build what it depends on once more. */
function example(name, crate, parameters = []) {
  const built = process.env.PRONY_EXAMPLES;
  if (built) return run(path.resolve(root, built, name), parameters);
  const words = ["run", "--quiet", "-p", crate, "--example", name, "--"];
  return run("cargo", [...words, ...parameters]);
}

/** Reports of made-up runs, of every kind of load. */
const samples = () =>
  example("sample_report", "prony-report", [path.join(pages, "sample")]);

/** A page of the kit: 10 tables of 30 rows that open, with every control. */
async function kit() {
  const page = await example("sample_page", "prony-present");
  await writeFile(path.join(pages, "kit.html"), page);
}

/** The report of 30 servers and 10 workloads, made of the record that the docs' pictures are of. */
async function large() {
  await writeReport(
    enlarged(await record(), 30, 10),
    path.join(pages, "large"),
  );
}

/** A record file with two short runs, of servers that need no build, and the site of it. */
async function site() {
  for (const round of [1, 2]) {
    console.log(`run ${round} of 2, for the site`);
    await prony([
      ...["run", "tour", "--only", "ceiling,node-http,python-httpserver"],
      ...["--server", path.join(root, "servers/node-http")],
      ...["--workloads", "hello,page", "--rounds", "3"],
      ...["--duration", "200ms", "--warmup", "50ms", "--store", store],
    ]);
  }
  await prony(["site", path.join(pages, "site"), "--store", store]);
}

await rm(pages, { recursive: true, force: true });
await mkdir(pages, { recursive: true });
await samples();
await kit();
await large();
await site();
console.log(pages);
