// Makes the pictures in the docs: `npm run pictures`. The charts and the report come from docs/pictures/record.json.gz, the
// screens of the terminal from a live load on loopback.
//
// `npm run pictures -- charts` makes only these; `-- --check` makes the charts and fails if the docs have others.

import assert from "node:assert/strict";
import {
  copyFile,
  mkdtemp,
  readFile,
  readdir,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { launch, url } from "./lib/browser.js";
import { program, root, run } from "./lib/program.js";
import { record, writeReport } from "./lib/record.js";
import { reference } from "./lib/reference.js";
import { html, inTerminal } from "./lib/terminal.js";

const folder = path.join(root, "docs/pictures");
const THEMES = ["light", "dark"];
/** What a PNG may have, in bytes. */
const LIMIT = 150_000;
/** How long a run may take until its third round, builds included, in milliseconds. */
const PATIENCE = 20 * 60_000;

const themed = (name, theme, suffix) =>
  `${name}${theme === "dark" ? "-dark" : ""}.${suffix}`;

/** Writes the report of the record to a folder that does not outlive `use(folder)`. */
async function withReport(use) {
  const place = await mkdtemp(path.join(tmpdir(), "prony-pictures-"));
  try {
    const report = path.join(place, "report");
    await writeReport(await record(), report);
    await use(report);
  } finally {
    await rm(place, { recursive: true });
  }
}

const charts = () =>
  withReport(async (report) => {
    for (const name of await pictured()) {
      await copyFile(
        path.join(report, "charts", name),
        path.join(folder, name),
      );
    }
  });

/** Fails if a chart in the docs is not what the record gives. */
const check = () =>
  withReport(async (report) => {
    for (const name of await pictured()) {
      const [made, shown] = await Promise.all(
        [path.join(report, "charts"), folder].map((place) =>
          readFile(path.join(place, name), "utf8"),
        ),
      );
      assert.equal(
        shown,
        made,
        `docs/pictures/${name} is not what its record gives: run \`npm run pictures --prefix tests/browser\``,
      );
    }
  });

/** The charts that the docs show, by the names that a report gives them. */
async function pictured() {
  const names = await readdir(folder);
  const charts = names.filter((name) => name.endsWith(".svg"));
  assert.ok(charts.length > 0, "docs/pictures has no chart");
  return charts;
}

/** The report's first screen, and a row that is open. */
const report = () =>
  withReport(async (report) => {
    const browser = await launch();
    for (const colorScheme of THEMES) {
      const page = await browser.newPage({
        viewport: { width: 1280, height: 900 },
        colorScheme,
      });
      await page.goto(url(path.join(report, "report.html")));
      await save(await page.screenshot(), themed("report", colorScheme, "png"));
    }
    await browser.close();
  });

/** The screens of `prony load` and `prony run`. */
async function terminals() {
  const browser = await launch();
  const draw = async (screen, name) => {
    for (const theme of THEMES) {
      const page = await browser.newPage({ deviceScaleFactor: 1.25 });
      await page.setContent(html(screen, theme));
      await save(
        await page.locator("main").screenshot(),
        themed(name, theme, "png"),
      );
      await page.close();
    }
  };
  await loadScreen(draw);
  await runScreen(draw);
  await browser.close();
}

/** A server that takes about 2 ms for a request and freezes now and then, under a rising rate. */
async function loadScreen(draw) {
  const server = await reference([
    ...["--service", "exponential:2ms"],
    ...["--workers", "8"],
  ]);
  try {
    await inTerminal(
      `${program} load --stages 500/s..3k/s:20s --warmup 0s ${server.address}`,
      { columns: 100, rows: 30, folder },
      async (terminal) => {
        await pause(15_000);
        await draw(await terminal.screen(), "load");
      },
    );
  } finally {
    server.stop();
  }
}

/** The run of the record again, in its third round. */
async function runScreen(draw) {
  const place = await mkdtemp(path.join(tmpdir(), "prony-pictures-"));
  const command = [
    ...[program, "run", "tour", "--workloads", "hello,page", "--rounds", "5"],
    "--only",
    "ceiling,rust-hyper,rust-axum,go-nethttp,node-http,python-httpserver",
    ...["--server", "servers/rust-axum", "--server", "servers/node-http"],
    ...["--store", path.join(place, "run.sqlite")],
  ].join(" ");
  try {
    await inTerminal(
      command,
      { columns: 100, rows: 30, folder: root },
      async (terminal) => {
        const end = Date.now() + PATIENCE;
        let screen = "";
        while (!/round 3/.test(screen)) {
          assert.ok(Date.now() < end, `no third round:\n${screen}`);
          await pause(1_000);
          screen = await terminal.screen();
        }
        await draw(screen, "run");
      },
    );
  } finally {
    await rm(place, { recursive: true });
  }
}

/** Writes a PNG, with fewer colours if `pngquant` is installed. */
async function save(png, name) {
  const file = path.join(folder, name);
  await writeFile(file, png);
  await run("pngquant", [
    "--force",
    "--skip-if-larger",
    "--strip",
    "--quality",
    "70-95",
    "--output",
    file,
    file,
  ]).catch((error) =>
    console.log(
      `${name} keeps all its colours: ${error.message.split("\n")[0]}`,
    ),
  );
  const { size } = await stat(file);
  assert.ok(size < LIMIT, `${name} has ${size} bytes`);
  console.log(`${name}: ${size} bytes`);
}

const parts = { charts, report, terminals, "--check": check };
const wanted = process.argv.slice(2);
for (const name of wanted.length ? wanted : ["charts", "report", "terminals"]) {
  assert.ok(parts[name], `there is no part \`${name}\`: ${Object.keys(parts)}`);
  await parts[name]();
}
