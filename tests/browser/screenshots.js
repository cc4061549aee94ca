// Takes pictures of every page, to look at: `npm run screenshots -- FOLDER`. Three widths, light and dark; the whole page,
// and what a reader sees first.

import { mkdir } from "node:fs/promises";
import path from "node:path";

import { desktop, launch, phone, tablet, url } from "./lib/browser.js";
import { every } from "./lib/pages.js";

const folder = path.resolve(process.argv[2] ?? "screenshots");
await mkdir(folder, { recursive: true });
const browser = await launch();
for (const [name, file] of every()) {
  for (const viewport of [phone, tablet, desktop]) {
    for (const colorScheme of ["light", "dark"]) {
      const page = await browser.newPage({ viewport, colorScheme });
      await page.goto(url(file));
      const stem = path.join(
        folder,
        `${name.replace(/[\\/]/g, "-").replace(/\.html$/, "")}-${viewport.width}-${colorScheme}`,
      );
      await page.screenshot({ path: `${stem}-first.png` });
      await page.screenshot({ path: `${stem}.png`, fullPage: true });
      await page.close();
    }
  }
}
await browser.close();
console.log(folder);
