import assert from "node:assert/strict";
import { test } from "node:test";

import { useBrowser } from "./lib/browser.js";
import { every, figures, shownFigures } from "./lib/pages.js";

const visit = useBrowser();

for (const [name, file] of every()) {
  test(`${name} shows every figure without scripts, and no control that needs one`, async () => {
    let expected;
    await visit(file, {}, async (page) => (expected = await figures(page)));
    await visit(file, { javaScriptEnabled: false }, async (page) => {
      const summaries = page.locator("summary");
      for (const summary of await summaries.all()) {
        if (await summary.isVisible()) await summary.click();
      }
      assert.deepEqual(await shownFigures(page), expected);
      const controls = page.locator("button, input, select");
      assert.equal(await controls.filter({ visible: true }).count(), 0);
    });
  });
}
