// The axes of charts.

const LOG_SPAN = 10; // an axis whose ends are this many times apart is logarithmic by default

/** The scale of one axis: of numbers, or of names of places. */
class NumberAxis {
  /**
   * @param {{label: string, unit: string, categories?: string[]}} quantity
   * @param {number[]} values that are drawn
   * @param {{isLog?: boolean, zero?: boolean, cut?: boolean, isNamed?: boolean}} how `zero`: begins at 0, `cut`:
   *   unless far from it; `isNamed`: ticks are at values
   */
  constructor(quantity, values, { isLog = false, zero = false, cut = false, isNamed = false } = {}) {
    Object.assign(this, { quantity, isNamed, categories: quantity.categories || [] });
    this.values = [...new Set(values)].sort((a, b) => a - b);
    let [low, high] = [this.values[0] ?? 0, this.values.at(-1) ?? 1];
    this.isLog = isLog && low > 0;
    this.isCut = zero && cut && !this.isLog && low < high && low > 0.06 * (high - low);
    const margin = this.isLog
      ? (high / low) ** 0.04 * (low === high ? 1.6 : 1)
      : (high - low) * 0.06 || Math.abs(high) * 0.1 || 0.5;
    if (this.categories.length) [low, high] = [-0.5, this.categories.length - 0.5];
    else if (this.isLog) [low, high] = [low / margin, high * margin];
    else if (zero && !this.isCut && low >= 0) [low, high] = [0, high + margin || 1];
    else [low, high] = [low - margin, high + margin];
    Object.assign(this, { low, high });
  }

  text(value) {
    if (this.categories.length) return this.categories[value] ?? "";
    if (this.quantity.unit === "part") return `${Number((100 * value).toPrecision(4))} %`;
    return valueText(value, this.quantity.unit);
  }

  /** Values to name, about `most` of them, where round ones of a linear axis do not serve. */
  ticks(most) {
    if (this.categories.length) return this.values;
    const place = (value) => (this.isLog ? Math.log(value) : value);
    const least = (place(this.high) - place(this.low)) / most;
    const ticks = [];
    for (const value of this.isNamed ? this.values : this.roundValues())
      if (!ticks.length || place(value) - place(ticks.at(-1)) >= least) ticks.push(value);
    return ticks;
  }

  roundValues() {
    const powers = [];
    for (let power = Math.floor(Math.log10(this.low)); power <= Math.log10(this.high); power++)
      powers.push(10 ** power);
    const values = powers.flatMap((power) => [power, 2 * power, 5 * power]);
    return values.filter((value) => this.low <= value && value <= this.high);
  }
}

/** A text in lines of up to `most` letters, broken between words. */
function wrapped(text, most) {
  const lines = [""];
  for (const word of shortened(text, 3 * most).split(" ")) {
    if (lines.at(-1) && `${lines.at(-1)} ${word}`.length > most) lines.push(word);
    else lines[lines.length - 1] = `${lines.at(-1)} ${word}`.trim();
  }
  return lines.join("\n");
}
