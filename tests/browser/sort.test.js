import assert from "node:assert/strict";
import { test } from "node:test";

import { useBrowser } from "./lib/browser.js";
import { Table, figures, kit, large } from "./lib/pages.js";

const visit = useBrowser();
const NAME = 0;
const RATE = 2;
const P99 = 3;

/** `45.3 k` in figures. */
const size = (text) =>
  parseFloat(text) *
  (text.includes("k") ? 1e3 : 1) *
  (text.includes("M") ? 1e6 : 1);

const isSorted = (numbers, sign) =>
  numbers.every((it, place) => !place || sign * (it - numbers[place - 1]) >= 0);

test("figures sort from the highest, then from the lowest, then as the page had them", () =>
  visit(kit, {}, async (page) => {
    const table = new Table(page, 3);
    const before = await figures(page);
    const original = await table.texts(NAME);
    const rates = async () => (await table.texts(RATE)).map(size);
    const compared = async () => (await rates()).slice(0, -1);
    assert.ok(
      !isSorted(await compared(), -1) && !isSorted(await compared(), 1),
    );

    await table.sortButton("req/s").click();
    assert.ok(isSorted(await compared(), -1), `${await rates()}`);
    assert.equal(
      await table.head("req/s").getAttribute("aria-sort"),
      "descending",
    );
    // The last row of the page's own order is not comparable, and stays the last.
    assert.equal((await table.texts(NAME)).at(-1), original.at(-1));
    assert.deepEqual(await figures(page), before, "no figure changed");

    await table.sortButton("req/s").click();
    assert.ok(isSorted(await compared(), 1), `${await rates()}`);
    assert.equal(
      await table.head("req/s").getAttribute("aria-sort"),
      "ascending",
    );

    await table.sortButton("req/s").click();
    assert.deepEqual(await table.texts(NAME), original);
    assert.equal(await table.head("req/s").getAttribute("aria-sort"), null);
    assert.deepEqual(await figures(page), before, "no figure changed");
  }));

test("a row keeps its own figures when it moves", () =>
  visit(kit, {}, async (page) => {
    const table = new Table(page, 0);
    const pairs = async () => {
      const [names, rates] = [await table.texts(NAME), await table.texts(RATE)];
      return names.map((name, place) => `${name} ${rates[place]}`).sort();
    };
    const before = await pairs();
    await table.sortButton("req/s").click();
    assert.deepEqual(await pairs(), before);
  }));

test("words sort from the first letter, and rows without a figure stay last both ways", () =>
  visit(kit, {}, async (page) => {
    const table = new Table(page, 0);
    await table.sortButton("language").click();
    assert.equal(
      await table.head("language").getAttribute("aria-sort"),
      "ascending",
    );
    const languages = (await table.texts(1)).slice(0, -1);
    assert.deepEqual(languages, [...languages].sort());

    for (const direction of ["descending", "ascending"]) {
      await table.sortButton("p99").click();
      assert.equal(
        await table.head("p99").getAttribute("aria-sort"),
        direction,
      );
      assert.ok(
        (await table.texts(NAME)).at(-1).startsWith("server-05"),
        direction,
      );
      assert.match((await table.texts(P99)).at(-1), /^[–-]?$/);
    }
  }));

test("one table sorts, the others stay", () =>
  visit(kit, {}, async (page) => {
    const other = new Table(page, 1);
    const before = await other.texts(NAME);
    await new Table(page, 0).sortButton("req/s").click();
    assert.deepEqual(await other.texts(NAME), before);
  }));

test("Enter and the space bar sort too", () =>
  visit(kit, {}, async (page) => {
    const table = new Table(page, 0);
    await table.sortButton("req/s").focus();
    await page.keyboard.press("Enter");
    assert.equal(
      await table.head("req/s").getAttribute("aria-sort"),
      "descending",
    );
    await page.keyboard.press("Space");
    assert.equal(
      await table.head("req/s").getAttribute("aria-sort"),
      "ascending",
    );
  }));

test("no column of a report of 30 servers loses a figure when it sorts", () =>
  visit(large, {}, async (page) => {
    const before = await figures(page);
    const section = page
      .locator("main section")
      .filter({ has: page.locator("button.sort") })
      .first();
    const buttons = await section.locator("button.sort").all();
    assert.ok(buttons.length > 3, `${buttons.length} columns sort`);
    for (const button of buttons) await button.click();
    assert.deepEqual(await figures(page), before);
  }));
