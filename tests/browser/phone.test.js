import assert from "node:assert/strict";
import { test } from "node:test";

import { phone, useBrowser } from "./lib/browser.js";
import { every, large, unfold } from "./lib/pages.js";

const visit = useBrowser();

for (const [name, file] of every()) {
  test(`${name} does not scroll sideways on a phone`, () =>
    visit(file, { viewport: phone }, async (page) => {
      const overflow = () =>
        page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);
      assert.ok((await overflow()) <= 0, `${await overflow()} px too wide`);
      await unfold(page);
      assert.ok((await overflow()) <= 0, `${await overflow()} px, unfolded`);
    }));
}

test("the first column of a table stays when the table scrolls", () =>
  visit(large, { viewport: phone }, async (page) => {
    const table = page.locator("main table").filter({ visible: true }).first();
    const head = table.locator("tbody tr > th[scope=row]").first();
    const figure = table.locator("tbody tr").first().locator("td").first();
    const left = async (cell) => (await cell.boundingBox()).x;
    const [before, moving] = [await left(head), await left(figure)];
    await table.evaluate((element) => {
      let box = element;
      while (box.scrollWidth <= box.clientWidth) box = box.parentElement;
      box.scrollLeft = 120;
    });
    assert.ok((await left(figure)) <= moving - 100, "the figures scrolled");
    assert.ok(Math.abs((await left(head)) - before) <= 14, "the name stayed");
  }));
