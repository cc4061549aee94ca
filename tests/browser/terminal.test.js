import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { program } from "./lib/program.js";
import { reference } from "./lib/reference.js";
import { inTerminal } from "./lib/terminal.js";

const SIZES = [
  { columns: 80, rows: 24 },
  { columns: 120, rows: 40 },
];
/** How long a screen may take to show something, in milliseconds. */
const PATIENCE = 60_000;

let folder, server;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "prony-terminal-"));
  server = await reference();
});

after(async () => {
  server.stop();
  await rm(folder, { recursive: true });
});

for (const size of SIZES) {
  const name = `${size.columns}×${size.rows}`;

  test(`a load of ${name} shows its figures, pauses, and leaves the summary behind`, () =>
    inTerminal(
      `${program} load -c4 -t1 --warmup 0s -d 2m ${server.address}; echo ended with $?`,
      { ...size, folder },
      async (terminal) => {
        const live = await shows(terminal, /last 1 s +\d/);
        assert.match(live, /elapsed/);
        assert.match(live, /errors +none/);
        await terminal.press("p");
        await shows(terminal, /PAUSED/);
        await terminal.press("p");
        await terminal.press("q");
        const end = await shows(terminal, /ended with 130/);
        assert.match(end, /Requests\/sec/, "the summary stays");
        assert.ok(!end.includes("elapsed"), `the screen is gone:\n${end}`);
      },
    ));

  test(`a run of ${name} shows its plan, and Ctrl-C keeps what it measured`, () =>
    inTerminal(
      `${program} run tour --only ceiling --workloads hello --rounds 100 --duration 300ms --warmup 50ms --store ${folder}/${size.columns}.sqlite; echo ended with $?`,
      { ...size, folder },
      async (terminal) => {
        const live = await shows(terminal, /■/);
        assert.match(live, /hello/);
        assert.match(live, /q end, keep results/);
        await terminal.press("C-c");
        const end = await shows(terminal, /ended with 130/);
        assert.ok(!end.includes("■"), `the screen is gone:\n${end}`);
      },
    ));
}

test("a load whose terminal is closed ends, and writes its result", async () => {
  const result = `${folder}/closed.json`;
  await inTerminal(
    `${program} load -c4 -t1 -d 2m --json ${result} ${server.address}`,
    { ...SIZES[0], folder },
    (terminal) => shows(terminal, /last 1 s +\d/),
  );
  const end = Date.now() + PATIENCE;
  while (!(await readFile(result, "utf8").catch(() => ""))) {
    assert.ok(Date.now() < end, "there is no result a minute later");
    await pause(100);
  }
});

test("a load of a few requests has no screen, only its summary", () =>
  inTerminal(
    `script -qc '${program} load -n 100 ${server.address}' ${folder}/typescript; echo ended with $?`,
    { ...SIZES[0], folder },
    async (terminal) => {
      const end = await shows(terminal, /ended with 0/);
      assert.match(end, /Requests\/sec/);
      const written = await readFile(`${folder}/typescript`, "utf8");
      assert.ok(!written.includes("\x1b[?1049h"), "no screen was opened");
    },
  ));

/** Waits until the terminal shows `pattern`, and returns the text of its screen. */
async function shows(terminal, pattern) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const text = plain(await terminal.screen());
    if (pattern.test(text)) return text;
    assert.ok(Date.now() < end, `no ${pattern} within a minute:\n${text}`);
    await pause(100);
  }
}

const plain = (screen) => screen.replace(/\x1b\[[\d;:]*m/g, "");
