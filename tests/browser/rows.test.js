import assert from "node:assert/strict";
import { test } from "node:test";

import { phone, useBrowser } from "./lib/browser.js";
import { Table, kit } from "./lib/pages.js";

const visit = useBrowser();

for (const viewport of [undefined, phone]) {
  test(`a row opens and closes${viewport ? " on a phone" : ""}`, () =>
    visit(kit, viewport ? { viewport } : {}, async (page) => {
      const table = new Table(page, 2);
      const button = table.row("server-07").getByRole("button");
      const details = page.getByText("./server-07 --port 8080").nth(2);
      assert.equal(await button.getAttribute("aria-expanded"), "false");
      assert.ok(!(await details.isVisible()));

      await button.click();
      assert.equal(await button.getAttribute("aria-expanded"), "true");
      assert.ok(await details.isVisible());
      assert.equal(
        await page.locator("tr.open").count(),
        1,
        "no other row opened",
      );
      assert.match(await button.getAttribute("aria-label"), /server-07/);

      await button.click();
      assert.equal(await button.getAttribute("aria-expanded"), "false");
      assert.ok(!(await details.isVisible()));
    }));
}

test("the details stay below their row when the table sorts, and leave with it when it is filtered out", () =>
  visit(kit, {}, async (page) => {
    const table = new Table(page, 0);
    await table.row("server-07").getByRole("button").click();
    await table.sortButton("req/s").click();
    const below = table
      .row("server-07")
      .locator("xpath=following-sibling::tr[1]");
    assert.ok((await below.innerText()).includes("./server-07 --port"));
    await page.getByRole("searchbox").fill("server-08");
    assert.ok(!(await below.isVisible()));
  }));

test("everything is reached and used by the keyboard alone", () =>
  visit(kit, {}, async (page) => {
    const focused = () =>
      page.evaluate(() => {
        const { outerHTML, className, id } = document.activeElement;
        return { html: outerHTML.slice(0, 90), className, id };
      });
    const seen = [];
    for (let step = 0; step < 40; step += 1) {
      await page.keyboard.press("Tab");
      const at = await focused();
      seen.push(at.html);
      const visible = await page.evaluate(() => {
        const element = document.activeElement;
        const style = getComputedStyle(element);
        return (
          element.matches(":focus-visible") &&
          (style.outlineStyle !== "none" ||
            style.boxShadow !== "none" ||
            style.borderColor !== "")
        );
      });
      assert.ok(visible, `the focus is visible at ${at.html}`);
      if (at.className === "row") {
        await page.keyboard.press("Enter");
        assert.equal(await page.locator("tr.open").count(), 1);
        break;
      }
    }
    for (const control of [
      "skip",
      "filter-text",
      "filter-language",
      "sort",
      "row",
    ]) {
      assert.ok(
        seen.some((html) => html.includes(`"${control}"`)),
        `${control}: ${seen}`,
      );
    }
  }));

test("without scripts each row has its details below it", () =>
  visit(kit, { javaScriptEnabled: false }, async (page) => {
    const details = new Table(page, 0).section.locator("tr.more details");
    assert.equal(await details.count(), 30);
    await details.nth(7).locator("summary").click();
    assert.ok(
      await details.nth(7).getByText("./server-07 --port 8080").isVisible(),
    );
  }));
