// The run that the pictures in the docs are of: what `prony export` wrote, compressed.

import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { gunzipSync } from "node:zlib";

import { prony, root } from "./program.js";

const compressed = path.join(root, "docs/pictures/record.json.gz");

export async function record() {
  return JSON.parse(gunzipSync(await readFile(compressed)));
}

/** Writes the report of an exported run to `folder`, and the run itself beside it. */
export async function writeReport(run, folder) {
  const file = `${folder}.json`;
  await writeFile(file, JSON.stringify(run));
  await prony(["report", file, "--out", folder]);
}
