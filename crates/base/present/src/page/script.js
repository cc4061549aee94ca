// Sorts and filters tables, opens rows and shows tips. It changes no figure, and a page is complete without it. Everything that
// the reader sets is in the fragment, `#anchor?sort=…&open=…&text=…&language=…`, which works for files too.
"use strict";
(() => {
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const all = (selector, within = document) => [
    ...within.querySelectorAll(selector),
  ];
  const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };
  // A page that is opened as a file may have no storage.
  const storage = (act) => {
    try {
      return act(localStorage);
    } catch {
      return null;
    }
  };
  const setTheme = (theme) =>
    theme === "light" || theme === "dark"
      ? (root.dataset.theme = theme)
      : delete root.dataset.theme;

  root.classList.add("js");
  setTheme(storage((store) => store.getItem("prony-theme")));

  let tables = [];
  let filters = new Map();
  let count;
  let anchor = "";

  // --- The fragment

  function readFragment() {
    const [before, ...rest] = location.hash.slice(1).split("?");
    try {
      anchor = decodeURIComponent(before);
    } catch {
      anchor = before;
    }
    return new URLSearchParams(rest.join("?"));
  }

  function fragment() {
    const state = new URLSearchParams();
    for (const [name, input] of filters)
      if (input.value) state.set(name, input.value);
    for (const { key, sorted } of tables)
      if (sorted)
        state.append("sort", `${key}:${sorted.direction}:${sorted.title}`);
    for (const row of all("tr.open")) state.append("open", row.id);
    const query = state.toString();
    return `#${encodeURIComponent(anchor)}${query && "?" + query}`;
  }

  function save() {
    const next = fragment();
    if (next === (location.hash || "#")) return;
    try {
      history.replaceState(null, "", next);
    } catch {
      location.replace(next);
    }
  }

  function restore(scroll) {
    const state = readFragment();
    for (const [name, input] of filters) {
      input.value = state.get(name) ?? "";
      if (input.selectedIndex === -1) input.value = "";
    }
    const sorts = state.getAll("sort").map((sort) => sort.split(":"));
    for (const table of tables) {
      const found = sorts.find(([key]) => key === table.key);
      const title = found?.slice(2).join(":");
      const column = table.titles.indexOf(title);
      const known = column >= 0 && ["up", "down"].includes(found[1]);
      sort(table, known ? { column, title, direction: found[1] } : null);
    }
    const open = new Set(state.getAll("open"));
    const target = byId(anchor);
    if (target?.matches("tr[id]")) open.add(anchor);
    for (const row of all("tbody tr[id]")) toggle(row, open.has(row.id));
    filter();
    if (scroll && target) {
      for (let up = target; up; up = up.parentElement)
        if (up.localName === "details") up.open = true;
      target.scrollIntoView();
    }
  }

  // The tables that sort and filter: not those within an open row.
  const outerTables = (within) =>
    all("table", within).filter((table) => !table.closest(".more"));

  // --- Sorting

  const collator = new Intl.Collator("en", { numeric: true });

  function prepare(element, place) {
    const section = element.closest("section, header");
    const number = outerTables(section).indexOf(element);
    const body = element.tBodies[0];
    const rows = [...body.rows].filter((row) => row.parentNode === body);
    const entries = [];
    for (const row of rows)
      if (row.matches(".more")) entries.at(-1).more = row;
      else entries.push({ row });
    // Rows without a name belong to the row above.
    const blocks = [];
    for (const entry of entries) {
      const name = entry.row.querySelector("th")?.textContent.trim();
      if (name === "" && blocks.length) blocks.at(-1).push(entry);
      else blocks.push([entry]);
    }
    const heads = [...element.tHead.rows[0].cells];
    const titles = heads.map((head) => head.textContent.trim());
    const key = `${section.id || "top"}~${number}`;
    const table = { element, body, blocks, heads, titles, key, sorted: null };
    if (blocks.length > 1)
      heads.forEach((head, column) => {
        if (!titles[column]) return;
        const button = make("button", { type: "button", className: "sort" });
        button.append(...head.childNodes);
        head.append(button);
        button.addEventListener("click", () => {
          sort(table, next(table, column));
          save();
        });
      });
    return table;
  }

  // Words begin with the first letter and figures with the highest; the third click restores the order of the page.
  function next({ sorted, heads, titles }, column) {
    const first = heads[column].matches(".text") ? "up" : "down";
    const second = first === "up" ? "down" : "up";
    const was = sorted?.column === column ? sorted.direction : null;
    if (was === second) return null;
    const direction = was === first ? second : first;
    return { column, title: titles[column], direction };
  }

  function valueOf([{ row }], column) {
    const cell = row.cells[column];
    if (!cell || cell.colSpan > 1 || cell.matches(".none")) return null;
    if (cell.dataset.order) return Number(cell.dataset.order);
    const text = cell.firstChild?.textContent.trim() || cell.textContent.trim();
    return cell.matches("th, .text") ? text : figure(text);
  }

  const PREFIXES = { n: -9, µ: -6, m: -3, k: 3, M: 6, G: 9, T: 12 };

  // The size of a figure as Prony writes them: `45.3 k`, `1.20 ms`, `12.7 MiB`; null for words.
  function figure(text) {
    const parts = /^[^\d\p{L}]*?([-−+]?)(\d[\d.,]*)\s*(\p{L}*)/u.exec(text);
    if (!parts) return null;
    const [, sign, digits, unit] = parts;
    const size = Number(digits.replaceAll(",", ""));
    const times = { min: 60, h: 3600 }[unit];
    const power = /^([nµmkMGT](i?[sBJ])?)$/.test(unit) ? PREFIXES[unit[0]] : 0;
    const base = unit[1] === "i" ? 2 ** (10 / 3) : 10;
    const factor = times ?? (unit === "m" ? 1 : base ** power);
    return (/[-−]/.test(sign) ? -1 : 1) * size * factor;
  }

  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return collator.compare(a, b);
  }

  function sort(table, sorted) {
    if (!sorted && !table.sorted) return;
    table.sorted = sorted;
    table.element.classList.toggle("sorted", Boolean(sorted));
    table.heads.forEach((head, column) => {
      if (sorted?.column !== column) return head.removeAttribute("aria-sort");
      const order = sorted.direction === "up" ? "ascending" : "descending";
      head.setAttribute("aria-sort", order);
    });
    const sign = sorted?.direction === "down" ? -1 : 1;
    const keyed = table.blocks.map((block) => ({
      block,
      value: sorted && valueOf(block, sorted.column),
      // Rows that are not comparable with the others, and then those without a figure, stay last.
      last: block[0].row.matches(".aside") ? 1 : 0,
    }));
    if (sorted)
      keyed.sort((a, b) => {
        const missing = (a.value === null) - (b.value === null);
        if (missing || a.last !== b.last) return missing || a.last - b.last;
        return a.value === null ? 0 : sign * compare(a.value, b.value);
      });
    for (const { block } of keyed)
      for (const { row, more } of block)
        table.body.append(row, ...(more ? [more] : []));
  }

  // --- Rows that open

  function toggle(row, open) {
    const more = row.nextElementSibling;
    if (!more?.matches(".more")) return;
    row.classList.toggle("open", open);
    row.querySelector("button.row")?.setAttribute("aria-expanded", open);
    more.querySelector("details").open = open;
  }

  function addOpener(row) {
    const name = row.querySelector("th");
    if (!name) return;
    const more = row.nextElementSibling;
    more.id = `${row.id}.more`;
    const button = make("button", { type: "button", className: "row" });
    const words = name.firstChild?.textContent.trim();
    button.setAttribute("aria-label", `Details of ${words}`);
    button.setAttribute("aria-controls", more.id);
    button.setAttribute("aria-expanded", false);
    name.prepend(button);
    button.addEventListener("click", () => {
      toggle(row, !row.matches(".open"));
      save();
    });
  }

  // --- The filter

  const facetsOf = (element) =>
    new URLSearchParams(element?.dataset.facets ?? "");
  let lines = [];

  function addFilter() {
    const rows = tables.flatMap(({ blocks }) =>
      blocks.flat().map(({ row }) => row),
    );
    const known = rows.filter(
      (row) => row.dataset.facets || row.closest("section[data-facets]"),
    );
    lines = (known.length ? known : rows).map((row) => {
      const section = row.closest("section");
      const facets = facetsOf(section);
      const own = facetsOf(row);
      for (const name of new Set(own.keys())) facets.delete(name);
      for (const [name, value] of own) facets.append(name, value);
      const title = section?.querySelector("h2")?.textContent ?? "";
      const text = `${title} ${row.textContent} ${[...facets.values()].join(" ")}`;
      return { row, section, facets, text: text.toLowerCase() };
    });
    if (lines.length < 4) return;
    const values = new Map();
    for (const { facets } of lines)
      for (const [name, value] of facets)
        values.set(name, (values.get(name) ?? new Set()).add(value));
    const text = make("input", { type: "search", id: "filter-text" });
    const form = make("form", { className: "filter", role: "search" });
    form.setAttribute("aria-label", "Filter the tables");
    const add = (name, shown, input) => {
      filters.set(name, input);
      form.append(make("label", {}, make("span", {}, shown), input));
    };
    add("text", "Filter the tables", text);
    for (const [name, found] of values) {
      if (found.size < 2) continue;
      const options = [...found].sort(collator.compare);
      const select = make("select", { id: `filter-${name}` });
      select.append(new Option("all", ""));
      select.append(...options.map((value) => new Option(value, value)));
      add(name, name[0].toUpperCase() + name.slice(1), select);
    }
    const reset = make("button", { type: "reset" }, "Reset");
    count = make("output", { className: "count" });
    count.setAttribute("aria-live", "polite");
    form.append(reset, count);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => (filter(), save()));
    form.addEventListener("reset", () => setTimeout(() => (filter(), save())));
    byId("main").prepend(form);
  }

  function filter() {
    if (!count) return;
    const text = filters.get("text").value.trim().toLowerCase();
    const chosen = [...filters].filter(
      ([name, { value }]) => name !== "text" && value,
    );
    const shown = new Map();
    let number = 0;
    for (const line of lines) {
      const { row, section, facets } = line;
      const matches =
        line.text.includes(text) &&
        chosen.every(
          ([name, { value }]) =>
            !facets.has(name) || facets.getAll(name).includes(value),
        );
      row.hidden = !matches;
      const more = row.nextElementSibling;
      if (more?.matches(".more")) more.hidden = !matches;
      number += matches;
      if (section) shown.set(section, shown.get(section) || matches);
    }
    for (const [section, some] of shown) section.hidden = !some;
    const filtered = number < lines.length;
    root.classList.toggle("filtered", filtered);
    count.textContent = filtered
      ? `${number} of ${lines.length} rows. Charts show all servers.`
      : `${lines.length} rows`;
  }

  // --- Tips

  function addTips() {
    const tip = make("div", { id: "tip", role: "tooltip", hidden: true });
    byId("main").append(tip);
    let at = null;
    const hide = () => {
      at?.removeAttribute("aria-describedby");
      at = null;
      tip.hidden = true;
    };
    const place = () => {
      const box = at.getBoundingClientRect();
      const { offsetWidth: width, offsetHeight: height } = tip;
      const left = Math.min(box.left, root.clientWidth - width - 8);
      const below = box.bottom + 6;
      const top = below + height > innerHeight ? box.top - height - 6 : below;
      tip.style.left = `${Math.max(8, left)}px`;
      tip.style.top = `${Math.max(8, top)}px`;
    };
    const show = (target) => {
      const holder = target?.closest?.("[data-tip]");
      if (!holder || holder === at) return holder || hide();
      hide();
      at = holder;
      tip.textContent = holder.dataset.tip;
      tip.hidden = false;
      holder.setAttribute("aria-describedby", "tip");
      place();
    };
    for (const element of all("table [title]")) {
      element.dataset.tip = element.title;
      element.removeAttribute("title");
    }
    // One stop of the tabulator key for each table; the arrow keys lead on.
    for (const { element } of tables)
      element.querySelector("tbody [data-tip]")?.setAttribute("tabindex", 0);
    const over = (event) => tip.contains(event.target) || show(event.target);
    document.addEventListener("pointerover", over);
    document.addEventListener("click", over);
    document.addEventListener("focusin", (event) => show(event.target));
    // Focus scrolls to a cell, and its tip follows it.
    const scrolled = () =>
      at && (at.contains(document.activeElement) ? place() : hide());
    const passive = { capture: true, passive: true };
    document.addEventListener("scroll", scrolled, passive);
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") return hide();
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const cell = event.target.closest?.("tbody [data-tip]");
      if (!step || cell !== event.target) return;
      const cells = all("tbody [data-tip]", cell.closest("table"));
      const to = cells[cells.indexOf(cell) + step];
      if (!to) return;
      event.preventDefault();
      cell.removeAttribute("tabindex");
      to.setAttribute("tabindex", 0);
      to.focus();
      show(to);
    });
  }

  // --- The theme

  function addTheme() {
    const select = make("select", { id: "theme" });
    for (const theme of ["system", "light", "dark"])
      select.append(new Option(theme, theme));
    select.value = root.dataset.theme ?? "system";
    select.addEventListener("change", () => {
      setTheme(select.value);
      storage((store) => store.setItem("prony-theme", select.value));
    });
    const label = make("label", { className: "theme" }, "Theme ", select);
    document.querySelector("header").prepend(label);
  }

  document.addEventListener("DOMContentLoaded", () => {
    tables = outerTables().map(prepare);
    for (const more of all("tr.more")) addOpener(more.previousElementSibling);
    addFilter();
    addTheme();
    addTips();
    // A page that is loaded once more stays where its reader was.
    const [navigation] = performance.getEntriesByType("navigation");
    restore(navigation?.type !== "reload");
    addEventListener("hashchange", () => restore(true));
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.('a[href^="#"]');
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      const id = link.getAttribute("href").slice(1);
      if (id === "main") return;
      event.preventDefault();
      anchor = id;
      const next = fragment();
      if (next === location.hash) restore(true);
      else location.hash = next;
    });
  });
})();
