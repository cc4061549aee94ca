import assert from "node:assert/strict";
import { test } from "node:test";

import { phone, useBrowser } from "./lib/browser.js";
import { Table, kit } from "./lib/pages.js";

const visit = useBrowser();
const tip = (page) => page.getByRole("tooltip");
const cell = (page, row) =>
  new Table(page, 0).rows.nth(row).locator("[data-tip]").first();

test("the pointer over a figure shows its interval and rounds, and elsewhere nothing", () =>
  visit(kit, {}, async (page) => {
    assert.equal(await tip(page).count(), 0);
    await cell(page, 1).hover();
    assert.match(await tip(page).innerText(), /95 % interval.*\n.*rounds: 5/);
    const described = await cell(page, 1).getAttribute("aria-describedby");
    assert.equal(described, await tip(page).getAttribute("id"));
    await page.locator("h1").hover();
    assert.equal(await tip(page).count(), 0);
  }));

test("a tap shows a tip within the screen of a phone, and a tap elsewhere hides it", () =>
  visit(
    kit,
    { viewport: phone, hasTouch: true, isMobile: true },
    async (page) => {
      await cell(page, 2).tap();
      const box = await tip(page).boundingBox();
      assert.ok(box.x >= 0 && box.x + box.width <= 390, JSON.stringify(box));
      await page.locator("h1").tap();
      assert.equal(await tip(page).count(), 0);
    },
  ));

test("the keyboard shows tips, arrow keys lead on, and Escape hides them", () =>
  visit(kit, {}, async (page) => {
    await cell(page, 0).focus();
    const first = await tip(page).innerText();
    await page.keyboard.press("ArrowRight");
    assert.notEqual(await tip(page).innerText(), first);
    await page.keyboard.press("ArrowLeft");
    assert.equal(await tip(page).innerText(), first);
    await page.keyboard.press("Escape");
    assert.equal(await tip(page).count(), 0);
  }));
