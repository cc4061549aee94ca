// The pages that `make-pages.js` wrote, and what they have in common.

import { existsSync, readdirSync } from "node:fs";
import path from "node:path";

import { pages } from "./program.js";

export const sample = path.join(pages, "sample/tour/report.html");
export const large = path.join(pages, "large/report.html");

export const site = path.join(pages, "site");

/** Every page to look at: its name and its file. */
export function every() {
  if (!existsSync(pages)) {
    throw new Error(`${pages} is missing: run \`npm run pages\` first`);
  }
  const found = readdirSync(pages, { recursive: true }).filter((name) =>
    name.endsWith(".html"),
  );
  return found.sort().map((name) => [name, path.join(pages, name)]);
}

/** Opens everything that is folded away. */
export async function unfold(page) {
  await page.evaluate(() => {
    for (const fold of document.querySelectorAll("details")) fold.open = true;
  });
}

/** The texts of the cells of every table, in any order; those of an open row are left out. */
export const figures = (page) => cells(page, false);

/** The same, of the cells that are visible. */
export const shownFigures = (page) => cells(page, true);

const cells = (page, shown) =>
  page.evaluate((shown) => {
    const all = [...document.querySelectorAll("table td, table th")];
    const cells = all.filter((cell) => !shown || cell.checkVisibility());
    return cells.map((cell) => cell.textContent.trim()).sort();
  }, shown);
