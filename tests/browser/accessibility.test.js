// axe looks at a page of every kind, light and dark, on a phone and on a desk, with everything folded and unfolded. It takes
// seconds for each.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

import { desktop, phone, useBrowser } from "./lib/browser.js";
import { kinds, unfold } from "./lib/pages.js";

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const visit = useBrowser();

/** What axe finds in the page: a line for each rule and the elements that break it. */
async function findings(page) {
  await page.addScriptTag({ path: axe });
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  return violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes.map((node) => `${node.target} ${node.failureSummary}`).join(" | ")}`,
  );
}

for (const [name, file] of kinds()) {
  for (const [colorScheme, viewport] of [
    ["light", phone],
    ["dark", desktop],
  ]) {
    test(`axe finds nothing in ${name}, ${colorScheme}, ${viewport.width} px wide`, () =>
      visit(file, { colorScheme, viewport }, async (page) => {
        assert.deepEqual(await findings(page), []);
      }));
  }
  test(`axe finds nothing in ${name} with everything open`, () =>
    visit(file, {}, async (page) => {
      await unfold(page);
      assert.deepEqual(await findings(page), []);
    }));
}
