// What a reader sets is in the address, so that a link shows the same.

import assert from "node:assert/strict";
import { test } from "node:test";

import { useBrowser } from "./lib/browser.js";
import { Table, kit } from "./lib/pages.js";

const visit = useBrowser();

const state = async (page) => ({
  names: await new Table(page, 4).texts(0, { visible: true }),
  open: await page
    .locator("tr.open")
    .evaluateAll((rows) => rows.map((row) => row.id)),
  sort: await page
    .locator("[aria-sort]")
    .evaluateAll((heads) =>
      heads.map((head) => [head.textContent.trim(), head.ariaSort]),
    ),
  filter: await page
    .locator("form.filter select, form.filter input")
    .evaluateAll((inputs) => inputs.map(({ value }) => value)),
});

async function setEverything(page) {
  const table = new Table(page, 4);
  await page.getByLabel("Workload").selectOption("workload 4");
  await page.getByLabel("Language").selectOption("C++");
  await page.getByRole("searchbox").fill("server-1");
  await table.sortButton("req/s").click();
  await table.row("server-13").getByRole("button").click();
}

test("a link shows the filter, the order and the open rows that its sender saw", async () => {
  let address, sent;
  await visit(kit, {}, async (page) => {
    await setEverything(page);
    [address, sent] = [page.url(), await state(page)];
    assert.equal(sent.open.length, 1);
  });
  assert.notEqual(address.split("#")[1] ?? "", "");
  await visit(kit, { hash: `#${address.split("#")[1]}` }, async (page) => {
    assert.deepEqual(await state(page), sent);
  });
});

test("a page that is loaded again shows the same", () =>
  visit(kit, {}, async (page) => {
    await setEverything(page);
    const before = await state(page);
    await page.reload();
    assert.deepEqual(await state(page), before);
  }));

test("back returns from a section and from another page to what the reader had", () =>
  visit(kit, { loads: true }, async (page) => {
    await setEverything(page);
    const [address, before] = [page.url(), await state(page)];
    await page.locator("nav.sections a").nth(4).click();
    assert.match(page.url(), /#workload-4\?/);
    assert.deepEqual(await state(page), before, "a link to a section keeps it");
    await page.goBack();
    assert.equal(page.url(), address);
    await page.goto("about:blank");
    await page.goBack();
    assert.equal(page.url(), address);
    assert.deepEqual(await state(page), before);
  }));

test("a link to a row opens it and shows it", async () => {
  let id;
  await visit(kit, {}, async (page) => {
    id = await new Table(page, 9).row("server-20").getAttribute("id");
  });
  await visit(kit, { hash: `#${id}` }, async (page) => {
    const row = page.locator(`[id="${id}"]`);
    assert.ok(await row.evaluate((it) => it.matches(".open")));
    // The page scrolls smoothly.
    await page.waitForFunction((id) => {
      const { top } = document.getElementById(id).getBoundingClientRect();
      return top >= 0 && top < innerHeight;
    }, id);
  });
});

test("an address that makes no sense shows the page as it is", () =>
  visit(
    kit,
    {
      hash: "#%zz?sort=nothing:sideways&open=%3Cscript%3E&language=Klingon&text=",
    },
    async (page) => {
      assert.equal(
        await page
          .locator("tbody > tr:not(.more)")
          .filter({ visible: true })
          .count(),
        300,
      );
      assert.equal(await page.locator("tr.open, [aria-sort]").count(), 0);
    },
  ));
