import assert from "node:assert/strict";
import { test } from "node:test";

import { useBrowser } from "./lib/browser.js";
import { kit } from "./lib/pages.js";

const visit = useBrowser();

/** How light the page's ground is, from 0 to 255. */
const lightness = (page) =>
  page.evaluate(() => {
    const parts = getComputedStyle(document.body).backgroundColor.match(/\d+/g);
    return Math.max(...parts.slice(0, 3).map(Number));
  });

test("the page is light or dark like the system", async () => {
  await visit(kit, {}, async (page) =>
    assert.ok((await lightness(page)) > 200),
  );
  await visit(kit, { colorScheme: "dark" }, async (page) =>
    assert.ok((await lightness(page)) < 60),
  );
});

test("a reader chooses the other, and the page that is loaded again keeps it", () =>
  visit(kit, {}, async (page) => {
    await page.getByLabel("Theme").selectOption("dark");
    assert.ok((await lightness(page)) < 60);
    await page.reload();
    assert.ok((await lightness(page)) < 60);
    await page.getByLabel("Theme").selectOption("system");
    assert.ok((await lightness(page)) > 200);
  }));
