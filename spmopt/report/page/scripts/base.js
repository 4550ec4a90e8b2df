// Elements of the page, and numbers as people read them.

/**
 * An element; attributes that are functions become listeners, children that are strings become text.
 * Names of tensors come from files of others: nothing here is ever parsed as HTML.
 * @param {string} tag
 * @param {Object<string, string|number|boolean|Function|null>} [attributes]
 * @param {...(Node|string)} children
 * @returns {any} the element
 */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function")
      made.addEventListener(name, /** @type {EventListener} */ (value));
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null) made.setAttribute(name, String(value));
  }
  made.append(...children);
  return made;
}

/**
 * @param {string} text @param {() => void} act @param {Object<string, any>} [attributes]
 * @returns {any} a button
 */
function button(text, act, attributes = {}) {
  return element("button", { type: "button", click: act, ...attributes }, text);
}

/** A button that looks like a link. @param {string} text @param {() => void} act */
function link(text, act) {
  return button(text, act, { class: "link" });
}

/** @param {string} id @returns {any} the element */
function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found;
}

/** Tells a screen reader what has changed. @param {string} text */
function say(text) {
  byId("said").textContent = text;
}

const PREFIXES = new Map([
  [-12, "p"],
  [-9, "n"],
  [-6, "µ"],
  [-3, "m"],
  [0, ""],
  [3, "k"],
  [6, "M"],
  [9, "G"],
  [12, "T"],
  [15, "P"],
]);

/**
 * Up to `digits` digits and a decimal prefix: 78.84 ms.
 * @param {number} value @param {string} unit @param {number} [digits]
 */
function si(value, unit, digits = 4) {
  if (value === 0 || !Number.isFinite(value)) return `${value} ${unit}`.trim();
  const rounded = Number(value.toPrecision(digits));
  const power = Math.min(15, Math.max(-12, 3 * Math.floor(Math.log10(Math.abs(rounded)) / 3)));
  const scaled = Number((rounded / 10 ** power).toPrecision(digits));
  return `${scaled} ${PREFIXES.get(power)}${unit}`.trim();
}

/** A part of a whole: 90.5 %. @param {number} part */
function share(part) {
  return `${Number((100 * part).toFixed(1))} %`;
}

/** A relative difference: +13.4 %. @param {number} part */
function percent(part) {
  if (part === 0) return "0 %";
  const value = 100 * part,
    size = Math.max(-6, Math.floor(Math.log10(Math.abs(value))));
  const digits = Number(value.toFixed(size >= 1 ? 1 : size === 0 ? 2 : 1 - size));
  return `${value > 0 ? "+" : ""}${digits} %`;
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
  const letters = Array.from(name);
  if (letters.length <= most) return name;
  const tail = Math.floor(most / 3);
  return `${letters.slice(0, most - tail - 1).join("")}…${letters.slice(letters.length - tail).join("")}`;
}

/**
 * Waits until nothing more has happened for a while.
 * @param {() => void} action @param {number} milliseconds
 */
function settled(action, milliseconds) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, milliseconds);
  };
}

/** Says on the page that it could not be drawn. @param {Error} error */
function troubled(error) {
  const place = byId("trouble");
  place.hidden = false;
  place.textContent = `This page could not be drawn: ${error.message}. It needs a browser of 2024 or later.`;
  throw error;
}
