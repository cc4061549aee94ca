// The pages that `make-pages.js` wrote, and what they have in common.

import { existsSync, readdirSync } from "node:fs";
import path from "node:path";

import { pages } from "./program.js";

export const sample = path.join(pages, "sample/tour/report.html");
export const large = path.join(pages, "large/report.html");

/** 10 tables of 30 servers, whose rows open. */
export const kit = path.join(pages, "kit.html");
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

/** A page of each kind: of the site one of each folder; of the reports one with a document's tables and one without. */
export function kinds() {
  const seen = new Set([
    "large",
    "sample/hydragen",
    "sample/noisy",
    "sample/zap",
  ]);
  return every().filter(([name]) => {
    const kind = name.startsWith("site/compare/")
      ? `site/compare, ${name.includes("~20") ? "runs" : "servers"}`
      : path.dirname(name) === "site"
        ? name
        : path.dirname(name);
    const isNew = !seen.has(kind);
    seen.add(kind);
    return isNew;
  });
}

/** Opens everything that is folded away. */
export async function unfold(page) {
  await page.evaluate(() => {
    for (const fold of document.querySelectorAll("details")) fold.open = true;
  });
}

/** A section's table in the kit's page: its rows, and a column of theirs. */
export class Table {
  constructor(page, workload) {
    this.page = page;
    this.section = page.locator(`#workload-${workload}`);
    this.rows = this.section.locator("tbody > tr:not(.more)");
  }

  head(title) {
    return this.section.getByRole("columnheader", { name: title });
  }

  sortButton(title) {
    return this.head(title).getByRole("button");
  }

  /** The texts of a column's cells, from the top: of all rows, or of those that are visible. */
  texts(column, { visible = false } = {}) {
    return this.rows.evaluateAll(
      (rows, [column, visible]) =>
        rows
          .filter((row) => !visible || row.checkVisibility())
          .map((row) => row.cells[column].textContent.trim()),
      [column, visible],
    );
  }

  row(name) {
    return this.rows.filter({ hasText: name });
  }
}

/** The texts of the cells of every table, in any order; those of the rows' details are left out. */
export const figures = (page) => cells(page, false);

/** The same, of the cells that are visible. */
export const shownFigures = (page) => cells(page, true);

const cells = (page, shown) =>
  page.evaluate((shown) => {
    const all = [...document.querySelectorAll("table td, table th")].filter(
      (cell) => !cell.closest("tr.more"),
    );
    const cells = all.filter((cell) => !shown || cell.checkVisibility());
    return cells.map((cell) => cell.textContent.trim()).sort();
  }, shown);
