// Writes the pages that the tests look at, by the program itself: `node make-pages.js`.

import { mkdir, rm } from "node:fs/promises";
import path from "node:path";

import { enlarged } from "./lib/large.js";
import { pages, run } from "./lib/program.js";
import { record, writeReport } from "./lib/record.js";

/** Reports of made-up runs, of every kind of load. */
async function samples() {
  const example = ["run", "--quiet", "-p", "prony-report", "--example"];
  await run("cargo", [
    ...example,
    "sample_report",
    "--",
    path.join(pages, "sample"),
  ]);
}

/** The report of 30 servers and 10 workloads, made of the record that the docs' pictures are of. */
async function large() {
  await writeReport(
    enlarged(await record(), 30, 10),
    path.join(pages, "large"),
  );
}

await rm(pages, { recursive: true, force: true });
await mkdir(pages, { recursive: true });
await Promise.all([samples(), large()]);
console.log(pages);
