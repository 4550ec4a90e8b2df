// Elements of the page, its data, and numbers as people read them.

/**
 * An element; attributes that are functions become listeners, children that are strings become text.
 * Names of tensors come from files of others: nothing here is ever parsed as HTML.
 * @param {string} tag
 * @param {Object<string, string|number|boolean|Function|null>|null} attributes
 * @param {...any} children nodes, strings, and arrays of these; null and false are left out
 * @returns {any} the element
 */
function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for SVG, as `element`. */
function drawn(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** Elements from a template, by `element`: dom`<p class="key">${text}</p>`. */
const dom = htm.bind(function (...parts) {
  this[0] = 3; // what is the same each time is made anew, too: an element has one place
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

/** Text in which control characters and line ends are seen: \n, \x1b. @param {string} text */
function visible(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (letter) => {
    const code = letter.codePointAt(0).toString(16);
    const long = code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
    return { "\t": "\\t", "\n": "\\n", "\r": "\\r" }[letter] || long;
  });
}

/** @param {string} text @param {() => void} act @param {Object<string, any>} [attributes] */
function button(text, act, attributes = {}) {
  return element("button", { type: "button", click: act, ...attributes }, text);
}

/** A button that looks like a link. @param {string} text @param {() => void} act */
function link(text, act) {
  return button(text, act, { class: "link" });
}

/** A box to tick, with its label. @param {(checked: boolean) => void} act */
function checkbox(label, checked, act, id = null) {
  const box = element("input", { type: "checkbox", id, checked, change: () => act(box.checked) });
  return dom`<label class="check">${box}${label}</label>`;
}

/** @param {string} id @returns {any} the element */
function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found;
}

/** Puts content in the place of what an element has. @param {string} id */
function fill(id, ...content) {
  byId(id).replaceChildren(...content.flat());
}

/** Text in which a number and its unit stay on one line. @param {string} text */
function unbroken(text) {
  return text.replace(/(\d) (?=(?:%|[pnµmkMGTP]?(?:s|B|J|W|FLOP)(?![A-Za-z])))/gu, "$1\u00a0");
}

/** Paragraphs of a list. @param {string[]} lines */
function items(lines) {
  return lines.map((line) => dom`<li>${line}</li>`);
}

/** Tells a screen reader what has changed. @param {string} text */
function announce(text) {
  byId("said").textContent = visible(text);
}

/**
 * The value of a block of data, compressed JSON in base64; null if the page has none of that name.
 * @param {string} name
 * @returns {Promise<any>}
 */
async function block(name) {
  const holder = document.getElementById(`data-${name}`);
  if (!holder) return null;
  const bytes = Uint8Array.from(atob(holder.textContent || ""), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/**
 * Up to `digits` digits and a decimal prefix: 78.84 ms.
 * @param {number} value @param {string} unit @param {number} [digits]
 */
function si(value, unit, digits = 4) {
  if (value === 0 || !Number.isFinite(value)) return `${value} ${unit}`.trim();
  const rounded = Number(value.toPrecision(digits));
  const power = Math.min(15, Math.max(-12, 3 * Math.floor(Math.log10(Math.abs(rounded)) / 3)));
  const scaled = Number((rounded / 10 ** power).toPrecision(digits));
  return `${scaled} ${["p", "n", "µ", "m", "", "k", "M", "G", "T", "P"][power / 3 + 4]}${unit}`.trim();
}

/** Bytes as they were most likely written: 24 MB, but 8 MiB where that is shorter. */
function sized(bytes) {
  const decimal = si(bytes, "B");
  const isExact = Number(bytes.toPrecision(4)) === bytes;
  const most = isExact ? decimal.split(" ")[0].length : decimal.length;
  for (const [place, prefix] of ["Ti", "Gi", "Mi", "Ki"].entries()) {
    const scaled = bytes / 2 ** (40 - 10 * place);
    const digits = String(Number(scaled.toPrecision(4)));
    const isRound = scaled >= 1 && scaled < 1024 && Number(digits) === scaled;
    if (isRound && digits.length < most)
      return `${digits} ${prefix}B`;
  }
  return decimal;
}

/** A part of a whole: 90.5 %. @param {number} part */
function share(part) {
  return `${Number((100 * part).toFixed(1))} %`;
}

/** A relative difference: +13.4 %. @param {number} part */
function percent(part) {
  if (part === 0) return "0 %";
  const value = 100 * part;
  const size = Math.max(-6, Math.floor(Math.log10(Math.abs(value))));
  const digits = Number(value.toFixed(size >= 1 ? 1 : size === 0 ? 2 : 1 - size));
  return `${value > 0 ? "+" : ""}${digits} %`;
}

/** A value with its unit; relative distances have the unit `part`. */
function valueText(value, unit) {
  if (value === null || value === undefined) return "–";
  if (unit === "part") return percent(value);
  if (unit === "B") return sized(value);
  return unit ? si(value, unit) : String(Number(value.toPrecision(6)));
}

/** A whole number, in groups of three digits. @param {number} value */
function count(value) {
  return Math.round(value).toLocaleString("en-US");
}

/** `1 step`, `2 steps`. @param {number} number @param {string} noun */
function counted(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** At most `most` letters of a name, its beginning and its end. @param {string} name */
function shortened(name, most = 80) {
  const letters = Array.from(visible(name));
  if (letters.length <= most) return letters.join("");
  const tail = Math.floor(most / 3);
  return `${letters.slice(0, most - tail - 1).join("")}…${letters.slice(letters.length - tail).join("")}`;
}

/** Waits until nothing more has happened for a while. @param {() => void} action */
function debounced(action, milliseconds) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, milliseconds);
  };
}

/** Says on the page that it could not be drawn. @param {Error} error */
function showError(error) {
  byId("trouble").hidden = false;
  byId("trouble").textContent =
    `This page could not be drawn: ${error.message}. It needs a browser of 2024 or later.`;
  throw error;
}
