// Colors of the light or dark theme that the system has, and words beside the pointer.

/** @param {string} color as #rrggbb or rgb(...) @returns {number[]} red, green, blue */
function channels(color) {
  if (color.startsWith("#")) return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  return (color.match(/[\d.]+/g) || ["0", "0", "0"]).slice(0, 3).map(Number);
}

/** Black or white, whichever is legible on `color`. @param {string} color */
function inkOn(color) {
  const [red, green, blue] = channels(color).map((part) => {
    const light = part / 255;
    return light <= 0.04045 ? light / 12.92 : ((light + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
}

/** Colors of the style sheet, for canvases; `changed` is called when the system changes its theme. */
const theme = { changed: () => {} };

function readTheme() {
  const probe = element("span");
  document.body.append(probe);
  for (const name of ["ink", "muted", "paper", "card", "line", "accent"]) {
    probe.style.color = `var(--${name})`;
    theme[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  theme.changed();
}

readTheme();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", readTheme);

/** Shows lines near a point of the window, the first one as a heading; no lines: nothing. */
function showTip(lines, x, y) {
  const tip = byId("tip");
  tip.hidden = lines.length === 0;
  if (tip.hidden) return;
  tip.replaceChildren(...lines.map((line, place) => element(place ? "span" : "strong", {}, line)));
  const { width, height } = tip.getBoundingClientRect();
  const left = x + 16 + width <= innerWidth - 8 ? x + 16 : x - 16 - width;
  const top = y + 16 + height <= innerHeight - 8 ? y + 16 : y - 16 - height;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${Math.max(8, top)}px`;
}

function hideTip() {
  byId("tip").hidden = true;
}

addEventListener("scroll", hideTip, { passive: true });
