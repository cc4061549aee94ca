// The site of a record file with two runs, opened from the disk.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { useBrowser } from "./lib/browser.js";
import { every, site } from "./lib/pages.js";

const visit = useBrowser();
const front = path.join(site, "index.html");

const ofSite = every().filter(([, file]) => file.startsWith(site));

test("the site has a front page and a page for each run, server, machine and comparison", () => {
  const count = (folder) => readdirSync(path.join(site, folder)).length;
  assert.equal(count("runs"), 2);
  assert.equal(count("servers"), 3);
  assert.equal(count("machines"), 1);
  assert.ok(count("compare") >= 1);
});

for (const [name, file] of ofSite) {
  test(`every link of ${name} is relative and leads somewhere`, () =>
    visit(file, {}, async (page) => {
      const links = await page.evaluate(() =>
        [...document.querySelectorAll("a[href]")].map((link) => {
          const href = link.getAttribute("href");
          return { href, leads: new URL(href, document.baseURI).href };
        }),
      );
      assert.ok(links.length > 0);
      const reachable = new Set(ofSite.map(([, target]) => target));
      for (const { href, leads } of links) {
        if (/^https?:/.test(href)) continue;
        assert.ok(!href.startsWith("/"), `${href} is absolute`);
        const target = fileURLToPath(leads.split("#")[0]);
        assert.ok(reachable.has(target), `${href} leads nowhere`);
        if (href.startsWith("#") && href.length > 1) {
          const anchor = page.locator(`[id="${href.slice(1)}"]`);
          assert.equal(await anchor.count(), 1, `${href} leads nowhere`);
        }
      }
    }));
}

test("the front page leads to a run, the run to its server, the server back to the front page", () =>
  visit(front, { loads: true }, async (page) => {
    const follow = async (pattern) => {
      const link = page.locator(`main a[href*="${pattern}"]`);
      await link.filter({ visible: true }).first().click();
    };
    await follow("runs/");
    assert.match(page.url(), /\/runs\/[^/]+\.html/);
    await follow("servers/");
    assert.match(page.url(), /\/servers\/[^/]+\.html/);
    await page.locator("nav.trail a[href$='index.html']").first().click();
    assert.match(page.url(), /\/index\.html/);
  }));

test("a comparison shows both runs side by side with a verdict for each server", () => {
  const folder = path.join(site, "compare");
  const [runs] = readdirSync(folder).filter(
    (name) => name.split("~").length === 2,
  );
  return visit(path.join(folder, runs), {}, async (page) => {
    const text = await page.locator("body").innerText();
    for (const run of runs.replace(".html", "").split("~")) {
      assert.ok(text.includes(run), `the page names ${run}`);
    }
    const rows = page.locator("main table tbody tr");
    for (const server of ["node-http", "python-httpserver"]) {
      const row = rows.filter({ hasText: server }).first();
      assert.match(
        await row.innerText(),
        /improved|worse|no change seen|inconclusive|limited/i,
      );
    }
  });
});

test("a server's page has its history: a chart and a table with a row for each run", () =>
  visit(path.join(site, "servers/node-http.html"), {}, async (page) => {
    assert.ok((await page.locator("main svg.chart").count()) > 0);
    const runs = readdirSync(path.join(site, "runs"));
    for (const run of runs) {
      const link = page.locator(`main table a[href$="${run}"]`);
      assert.ok((await link.count()) > 0, `no row leads to ${run}`);
    }
  }));
