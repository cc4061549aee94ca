// One Chromium for each test file, and pages that must stay quiet: no request leaves them, nothing fails in them.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

export const phone = { width: 390, height: 844 };
export const tablet = { width: 820, height: 1180 };
export const desktop = { width: 1280, height: 900 };

export const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });

/** A tab that records what the page requests and what goes wrong in it. */
class Tab {
  constructor(page) {
    this.page = page;
    this.requests = [];
    this.troubles = [];
    page.on("request", (request) => this.requests.push(request.url()));
    page.on("pageerror", (error) => this.troubles.push(String(error)));
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) {
        this.troubles.push(message.text());
      }
    });
  }

  /** What the page requested besides itself. */
  get foreign() {
    const own = this.page.url().split(/[?#]/)[0];
    return this.requests.filter(
      (url) => url.split(/[?#]/)[0] !== own && !url.startsWith("data:"),
    );
  }
}

/**
 * For the tests of a file: `visit(address, options, look)` opens a page, calls `look(page, tab)` and closes it. A file's
 * path is an address too. Whatever is looked at, the page may neither fail nor load anything.
 */
export function useBrowser() {
  let browser;
  before(async () => (browser = await launch()));
  after(() => browser?.close());
  return async function visit(address, options, look) {
    const { loads = false, hash = "", ...context } = options;
    const tabs = await browser.newContext({
      viewport: desktop,
      colorScheme: "light",
      ...context,
    });
    tabs.setDefaultTimeout(5_000);
    try {
      const page = await tabs.newPage();
      const tab = new Tab(page);
      await page.goto(url(address) + hash);
      await look(page, tab);
      assert.deepEqual(tab.troubles, [], "the console is empty");
      if (!loads) {
        assert.deepEqual(tab.foreign, [], "the page loads nothing");
      }
    } finally {
      await tabs.close();
    }
  };
}

export const url = (address) =>
  /^https?:/.test(address) ? address : pathToFileURL(address).href;
