// Elements of the page, its data, and numbers as people read them.

/**
 * Makes an element. Attributes that are functions become listeners, children that are strings text:
 * names of tensors come from files of others, and nothing here is ever parsed as HTML.
 */
function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Makes elements from a template: dom`<p class="key">${text}</p>`. */
const dom = htm.bind(function (...parts) {
  this[0] = 3; // no caching: an element has one place
  return element(...parts);
});

function filled(made, attributes, children = []) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null) made.setAttribute(name, String(value));
  }
  const shown = children.flat(4).filter((child) => child !== null && child !== false);
  made.append(...shown.map((child) => (typeof child === "string" ? visible(child) : child)));
  return made;
}

/** Escapes control characters and line ends: \n, \x1b. */
function visible(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (letter) => {
    const code = letter.codePointAt(0).toString(16);
    const long = code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
    return { "\t": "\\t", "\n": "\\n", "\r": "\\r" }[letter] || long;
  });
}

function button(text, act, attributes = {}) {
  return element("button", { type: "button", click: act, ...attributes }, text);
}

/** Makes a button that looks like a link. */
function link(text, act) {
  return button(text, act, { class: "link" });
}

function checkbox(label, checked, act, id = null) {
  const box = element("input", { type: "checkbox", id, checked, change: () => act(box.checked) });
  return dom`<label class="check">${box}${label}</label>`;
}

/** Makes a choice of some names, as buttons of which one is pressed. */
function choiceOf(label, names, chosen, choose) {
  const id = `choice-${label.replaceAll(" ", "-")}`;
  const radios = names.map((name) => {
    const radio = dom`<input type="radio" name=${id} value=${name} checked=${name === chosen}
      change=${() => choose(name)} />`;
    return dom`<label>${radio}<span>${name}</span></label>`;
  });
  return dom`<fieldset class="choice"><legend>${label}</legend>${radios}</fieldset>`;
}

function byId(id) {
  return document.getElementById(id);
}

function fill(id, ...content) {
  byId(id).replaceChildren(...content.flat());
}

/** Keeps a number and its unit on one line. */
function unbroken(text) {
  return text.replace(/(\d) (?=(?:%|[pnµmkMGTP]?(?:s|B|J|W|FLOP)(?![A-Za-z])))/gu, "$1\u00a0");
}

function items(lines) {
  return lines.map((line) => dom`<li>${line}</li>`);
}

/** Tells a screen reader what has changed. */
function announce(text) {
  byId("said").textContent = visible(text);
}

/** Reads a block of data, compressed JSON in base64; null if the page has none of that name. */
async function block(name) {
  const holder = byId(`data-${name}`);
  if (!holder) return null;
  const bytes = Uint8Array.from(atob(holder.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** Turns columns into rows. */
function rowsOf(columns) {
  const entries = Object.entries(columns);
  return entries[0][1].map((_, at) => Object.fromEntries(entries.map(([name, values]) => [name, values[at]])));
}

/** Writes up to `digits` digits and a decimal prefix: 78.84 ms. */
function si(value, unit, digits = 4) {
  if (value === 0 || !Number.isFinite(value)) return `${value} ${unit}`.trim();
  const rounded = Number(value.toPrecision(digits));
  const power = Math.min(15, Math.max(-12, 3 * Math.floor(Math.log10(Math.abs(rounded)) / 3)));
  const scaled = Number((rounded / 10 ** power).toPrecision(digits));
  return `${scaled} ${["p", "n", "µ", "m", "", "k", "M", "G", "T", "P"][power / 3 + 4]}${unit}`.trim();
}

/** Writes a capacity of memory: 384 KiB, or in the unit `B` 393.2 kB. */
function capacity(bytes, unit = "iB", digits = 4) {
  if (unit === "B") return si(bytes, "B", digits);
  const power = bytes < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(bytes) / 10));
  return `${Number((bytes / 1024 ** power).toPrecision(digits))} ${["", "Ki", "Mi", "Gi", "Ti"][power]}B`;
}

/** Writes a part of a whole: 90.5 %. */
function share(part) {
  return `${Number((100 * part).toFixed(1))} %`;
}

/** Writes a relative difference: +13.4 %, and from ten times on 107.7 times. */
function percent(part) {
  if (part === 0 || part >= 9) return part ? `${Number((1 + part).toPrecision(4))} times` : "0 %";
  const value = 100 * part;
  const size = Math.max(-6, Math.floor(Math.log10(Math.abs(value))));
  const digits = Number(value.toFixed(size >= 1 ? 1 : size === 0 ? 2 : 1 - size));
  return `${value > 0 ? "+" : ""}${digits} %`;
}

/** Writes a value with its unit; `part`: a relative distance, `iB`: bytes of a memory. */
function valueText(value, unit) {
  if (value === null || value === undefined) return "–";
  if (unit === "part") return percent(value);
  if (unit === "iB") return capacity(value);
  return unit ? si(value, unit) : String(Number(value.toPrecision(6)));
}

function count(value) {
  return Math.round(value).toLocaleString("en-US");
}

/** Writes `1 step`, `2 steps`. */
function counted(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** Shortens a name to `most` letters of its beginning and its end. */
function shortened(name, most = 80) {
  const letters = Array.from(visible(name));
  if (letters.length <= most) return letters.join("");
  const tail = Math.floor(most / 3);
  return `${letters.slice(0, most - tail - 1).join("")}…${letters.slice(letters.length - tail).join("")}`;
}

/** Waits until nothing more has happened for a while. */
function debounced(action, milliseconds) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, milliseconds);
  };
}

function showError(error) {
  byId("trouble").hidden = false;
  byId("trouble").textContent =
    `This page could not be drawn: ${error.message}. It needs a browser of 2024 or later.`;
  throw error;
}
