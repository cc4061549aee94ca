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
      assert.deepEqual(await page.evaluate(shownControls), []);
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

/** The visible controls, but for buttons that look like the text around them, as the heads of sortable columns do. */
const shownControls = () => {
  const isPlain = (control) => {
    const style = getComputedStyle(control);
    return (
      control.closest("th") !== null &&
      style.borderTopWidth === "0px" &&
      style.backgroundColor === "rgba(0, 0, 0, 0)"
    );
  };
  const isShown = (control) =>
    control.checkVisibility({ visibilityProperty: true }) &&
    control.getBoundingClientRect().width > 0;
  return [...document.querySelectorAll("button, input, select")]
    .filter((control) => isShown(control) && !isPlain(control))
    .map((control) => control.outerHTML);
};

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
