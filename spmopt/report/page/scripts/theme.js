// Light or dark, and the colours of both.

const THEMES = ["system", "light", "dark"];

/** @param {string} colour as #rrggbb or rgb(...) @returns {number[]} red, green, blue */
function channels(colour) {
  if (colour.startsWith("#")) {
    return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  }
  return (colour.match(/[\d.]+/g) || ["0", "0", "0"]).slice(0, 3).map(Number);
}

/** Black or white, whichever is legible on `colour`. @param {string} colour */
function inkOn(colour) {
  const [red, green, blue] = channels(colour).map((part) => {
    const light = part / 255;
    return light <= 0.04045 ? light / 12.92 : ((light + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
}

/** The theme of the page: that of the system, unless the reader chose one. */
class Theme {
  /** @param {() => void} changed */
  constructor(changed) {
    this.changed = changed;
    this.ink = this.muted = this.paper = this.card = this.line = this.accent = "";
    this.choice = "system";
    this.button = byId("theme");
    this.button.addEventListener("click", () => {
      this.choose(THEMES[(THEMES.indexOf(this.choice) + 1) % THEMES.length]);
    });
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", () => this.choose(this.choice));
    this.read();
  }

  /** @param {string} choice */
  choose(choice) {
    this.choice = THEMES.includes(choice) ? choice : "system";
    document.documentElement.dataset.theme = this.choice;
    this.button.textContent = `Theme: ${this.choice}`;
    this.read();
    this.changed();
  }

  /** Colours of the style sheet, for canvases. */
  read() {
    const probe = element("span");
    document.body.append(probe);
    for (const name of ["ink", "muted", "paper", "card", "line", "accent"]) {
      probe.style.color = `var(--${name})`;
      this[name] = getComputedStyle(probe).color;
    }
    probe.remove();
  }
}
