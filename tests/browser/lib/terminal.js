// A terminal's screen, captured by tmux and drawn as HTML.

import { randomUUID } from "node:crypto";

import { run } from "./program.js";

/** Colours 0 to 15, of a dark and of a light terminal. */
const PALETTES = {
  dark: [
    "#191f26 #f08a84 #7fce8f #e9b35c #7cb7f5 #d3a0ee #5cc9d6 #c9d1da",
    "#74808d #f7a59f #9fe0ac #f5cd86 #a2cdfa #e3c0f6 #8fdfe8 #ffffff",
  ]
    .join(" ")
    .split(" "),
  light: [
    "#1c2430 #a32a2a #1d6f35 #8a5000 #1f5fae #7a3b9a #0b6b78 #566170",
    "#6b7684 #bf3a3a #27853f #a06000 #2c6fc2 #8d4bb0 #0f7d8c #1c2430",
  ]
    .join(" ")
    .split(" "),
};
const GROUND = {
  dark: { ink: "#e3e8ee", ground: "#191f26" },
  light: { ink: "#1c2430", ground: "#ffffff" },
};

/** Runs `command` in a terminal of `columns` × `rows` while `use(terminal)` looks at it, then ends it. */
export async function inTerminal(command, { columns, rows, folder }, use) {
  const tmux = (...parameters) =>
    run("tmux", ["-L", socket, "-f", "/dev/null", ...parameters], folder);
  const socket = `prony-${randomUUID()}`;
  const size = ["-x", String(columns), "-y", String(rows)];
  await tmux(
    "new-session",
    "-d",
    ...size,
    "env",
    "TERM=screen-256color",
    "COLORTERM=truecolor",
    "sh",
    "-c",
    `${command}; cat`,
  );
  try {
    await use({
      /** The screen, with its colours as escape sequences. */
      screen: () => tmux("capture-pane", "-e", "-p", "-N"),
      press: (key) => tmux("send-keys", key),
    });
  } finally {
    await tmux("kill-server");
  }
}

/** A screen with escape sequences as HTML, in the colours of a dark or a light terminal. */
export function html(screen, theme) {
  const { ink, ground } = GROUND[theme];
  const style = { ...PLAIN };
  const lines = screen.replace(/\n+$/, "").split("\n");
  const drawn = lines.map((line) => `<div>${cells(line, style, theme)}</div>`);
  return `<!doctype html><meta charset="utf-8"><style>
    body{margin:0;background:${ground};color:${ink}}
    main{display:inline-block;padding:14px 18px;font:14px/17px "DejaVu Sans Mono",monospace;white-space:pre}
    div{height:17px}
    </style><main>${drawn.join("")}</main>`;
}

const PLAIN = {
  bold: false,
  dim: false,
  reverse: false,
  ink: null,
  ground: null,
};

function cells(line, style, theme) {
  const parts = line.split(/\x1b\[([\d;:]*)m/);
  return parts
    .map((part, place) => {
      if (place % 2 === 0) return part && span(part, style, theme);
      apply(part.split(/[;:]/).map(Number), style, theme);
      return "";
    })
    .join("");
}

function span(text, style, theme) {
  let [ink, ground] = [style.ink, style.ground];
  if (style.reverse) {
    [ink, ground] = [ground ?? GROUND[theme].ground, ink ?? GROUND[theme].ink];
  }
  const rules = [
    ink && `color:${ink}`,
    ground && `background:${ground}`,
    style.bold && "font-weight:700",
    style.dim && "opacity:.7",
  ].filter(Boolean);
  const escaped = text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  return rules.length
    ? `<span style="${rules.join(";")}">${escaped}</span>`
    : escaped;
}

/** Applies the codes of one SGR sequence to `style`. */
function apply(codes, style, theme) {
  const palette = PALETTES[theme];
  for (let place = 0; place < codes.length; place += 1) {
    const code = codes[place];
    if (code === 0) Object.assign(style, PLAIN);
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 7) style.reverse = true;
    else if (code === 22) style.bold = style.dim = false;
    else if (code === 27) style.reverse = false;
    else if (code === 39) style.ink = null;
    else if (code === 49) style.ground = null;
    else if (code >= 30 && code < 38) style.ink = palette[code - 30];
    else if (code >= 40 && code < 48) style.ground = palette[code - 40];
    else if (code >= 90 && code < 98) style.ink = palette[code - 82];
    else if (code >= 100 && code < 108) style.ground = palette[code - 92];
    else if (code === 38 || code === 48) {
      const part = code === 38 ? "ink" : "ground";
      if (codes[place + 1] === 5) {
        style[part] = indexed(codes[place + 2], palette);
        place += 2;
      } else {
        style[part] = `rgb(${codes.slice(place + 2, place + 5).join(",")})`;
        place += 4;
      }
    }
  }
}

/** A colour of the 256 that terminals have. */
function indexed(index, palette) {
  if (index < 16) return palette[index];
  if (index >= 232) {
    const grey = 8 + 10 * (index - 232);
    return `rgb(${grey},${grey},${grey})`;
  }
  const level = (step) => (step === 0 ? 0 : 55 + 40 * step);
  const cube = index - 16;
  const parts = [Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6];
  return `rgb(${parts.map(level).join(",")})`;
}
