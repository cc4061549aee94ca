import assert from "node:assert/strict";
import { test } from "node:test";

import { useBrowser } from "./lib/browser.js";
import { every, figures, shownFigures } from "./lib/pages.js";

const visit = useBrowser();

for (const [name, file] of every()) {
  test(`a print of ${name} has every table, and nothing to press`, () =>
    visit(file, {}, async (page) => {
      const all = await figures(page);
      await page.emulateMedia({ media: "print" });
      assert.deepEqual(await shownFigures(page), all);
      const controls = page.locator("button, input, select");
      for (const control of await controls.all()) {
        assert.ok(
          !(await control.isVisible()) || (await plain(control)),
          `a print shows ${await control.evaluate((it) => it.outerHTML)}`,
        );
      }
    }));

  test(`a print of ${name} on A4 cuts no table off`, () =>
    visit(file, { viewport: { width: 703, height: 1000 } }, async (page) => {
      await page.emulateMedia({ media: "print" });
      const wide = await page.evaluate(() =>
        [...document.querySelectorAll("table")]
          .filter((table) => table.getBoundingClientRect().right > innerWidth)
          .map((table) => table.innerText.slice(0, 80)),
      );
      assert.deepEqual(wide, []);
    }));
}

/** Whether a button looks like the text around it, as the head of a sortable column does in print. */
const plain = (control) =>
  control.evaluate((element) => {
    const style = getComputedStyle(element);
    return (
      element.closest("th") !== null &&
      style.borderTopWidth === "0px" &&
      style.backgroundColor === "rgba(0, 0, 0, 0)"
    );
  });

test("a print in the dark is black on white", () =>
  visit(every()[0][1], { colorScheme: "dark" }, async (page) => {
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    const [ground, ink] = await page.evaluate(() => {
      const style = getComputedStyle(document.body);
      return [style.backgroundColor, style.color];
    });
    assert.equal(ground, "rgb(255, 255, 255)");
    const light = ink.match(/\d+/g).map(Number);
    assert.ok(Math.max(...light.slice(0, 3)) < 100, `the ink is ${ink}`);
  }));
