import assert from "node:assert/strict";
import { test } from "node:test";

import { useBrowser } from "./lib/browser.js";
import { Table, figures, kit } from "./lib/pages.js";

const visit = useBrowser();
const shown = (page) =>
  page.locator("tbody > tr:not(.more)").filter({ visible: true });
const count = (page) => page.locator("form.filter output").innerText();

test("a facet leaves the rows that have its value, in every table", () =>
  visit(kit, {}, async (page) => {
    const before = await figures(page);
    assert.equal(await shown(page).count(), 300);
    assert.match(await count(page), /^300 rows/);
    await page.getByLabel("Language").selectOption("Go");
    for (const workload of [0, 9]) {
      const languages = await new Table(page, workload).texts(1, {
        visible: true,
      });
      assert.deepEqual(new Set(languages), new Set(["Go"]));
    }
    // 7 of the 30 servers of each table are written in Go.
    assert.equal(await shown(page).count(), 70);
    assert.match(await count(page), /^70 of 300 rows/);
    assert.deepEqual(await figures(page), before, "no figure changed");
  }));

test("the facet of a section leaves that section", () =>
  visit(kit, {}, async (page) => {
    await page.getByLabel("Workload").selectOption("workload 4");
    assert.equal(await shown(page).count(), 30);
    const sections = page.locator("main section").filter({ visible: true });
    assert.deepEqual(await sections.locator("h2").allInnerTexts(), [
      "Workload 4",
    ]);
  }));

test("facets and text hold together, and Reset shows everything again", () =>
  visit(kit, {}, async (page) => {
    await page.getByLabel("Workload").selectOption("workload 4");
    await page.getByLabel("Language").selectOption("C++");
    await page.getByRole("searchbox").fill("SERVER-1");
    const names = await new Table(page, 4).texts(0, { visible: true });
    assert.deepEqual(
      names.map((name) => name.slice(0, 9)),
      ["server-13", "server-17"],
    );
    assert.match(await count(page), /^2 of 300 rows/);
    await page.getByRole("button", { name: "Reset" }).click();
    await page.waitForFunction(
      () => !document.documentElement.matches(".filtered"),
    );
    assert.equal(await shown(page).count(), 300);
    assert.equal(await page.getByRole("searchbox").inputValue(), "");
  }));

test("a text that no row has leaves none, and says so", () =>
  visit(kit, {}, async (page) => {
    await page.getByRole("searchbox").fill("no such server");
    assert.equal(await shown(page).count(), 0);
    assert.match(await count(page), /^0 of 300 rows/);
    assert.ok(await page.getByRole("button", { name: "Reset" }).isVisible());
  }));

test("a print shows what the filter leaves", () =>
  visit(kit, {}, async (page) => {
    await page.getByLabel("Workload").selectOption("workload 4");
    await page.emulateMedia({ media: "print" });
    assert.equal(await shown(page).count(), 30);
  }));
