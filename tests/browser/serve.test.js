// The same pages, live: `prony serve` on a port that the system chooses.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, readdir } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";

import { useBrowser } from "./lib/browser.js";
import { site } from "./lib/pages.js";
import { pages, program, prony, root, store } from "./lib/program.js";

const visit = useBrowser();
const live = path.join(pages, "live.sqlite");
let service, address, runs;

before(async () => {
  await copyFile(store, live);
  runs = (await readdir(path.join(site, "runs"))).sort();
  const parameters = ["serve", "--listen", "127.0.0.1:0", "--store", live];
  service = spawn(program, parameters, {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(createInterface(service.stdout), "line");
  address = line.trim();
});

after(async () => {
  service.kill("SIGINT");
  await once(service, "exit");
});

test("it serves on loopback only", () =>
  assert.match(address, /^http:\/\/127\.0\.0\.1:\d+\/$/));

test("the front page leads to a run, and no page requests another host", () =>
  visit(address, { loads: true }, async (page, tab) => {
    const link = page.locator(`main a[href$="${runs[1]}"]`);
    await link.filter({ visible: true }).first().click();
    assert.equal(page.url(), `${address}runs/${runs[1]}`);
    for (const request of tab.requests) {
      assert.ok(request.startsWith(address), request);
    }
  }));

test("any two runs can be compared, and so can one server of each", () =>
  visit(`${address}compare.html`, { loads: true }, async (page) => {
    const [base, run] = runs.map((name) => name.replace(".html", ""));
    await page.getByLabel("Base run").selectOption(base);
    await page.getByLabel("New run").selectOption(run);
    await page.getByLabel("New server").fill("node-http");
    await page.getByLabel("Base server").fill("python-httpserver");
    await page.getByRole("button", { name: "Compare" }).click();
    const text = await page.locator("main > :not(#any-two)").allTextContents();
    assert.match(
      text.join(),
      /improved|worse|no change seen|inconclusive|limited/i,
      "it says a verdict",
    );
    const title = await page.locator("h1").innerText();
    assert.match(title, /node-http/);
    assert.match(title, /python-httpserver/);
    assert.ok(page.url().includes(`new=${run}`), "the address can be shared");
  }));

test("a page that does not exist says so, and leads back", () =>
  visit(address, { loads: true }, async (page, tab) => {
    const response = await page.goto(`${address}runs/nothing.html`);
    assert.equal(response.status(), 404);
    assert.match(await page.locator("h1").innerText(), /no such page/);
    await page.locator("main a").first().click();
    assert.equal(page.url(), `${address}index.html`);
    // Chromium reports the status in the console.
    tab.troubles = tab.troubles.filter((text) => !text.includes("404"));
  }));

test("an open front page shows a run that is recorded meanwhile", () =>
  visit(address, { loads: true }, async (page) => {
    const links = page.locator("main a[href*='runs/']");
    const known = async () => {
      const all = await links.evaluateAll((all) => all.map(({ href }) => href));
      return new Set(all);
    };
    const before = await known();
    await prony([
      ...["run", "tour", "--only", "ceiling", "--workloads", "hello"],
      ...["--rounds", "1", "--duration", "200ms", "--warmup", "50ms"],
      ...["--store", live],
    ]);
    const deadline = Date.now() + 60_000;
    const isNew = async () =>
      [...(await known())].some((it) => !before.has(it));
    while (!(await isNew().catch(() => false))) {
      assert.ok(
        Date.now() < deadline,
        "the page shows the run within a minute",
      );
      await page.waitForTimeout(200);
    }
  }));
