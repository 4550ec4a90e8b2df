// Numbers along an axis: where they are, which are named, and how.

/** Bytes as they were most likely written: 24 MB, but 8 MiB where that is shorter. */
function sized(bytes) {
  const decimal = si(bytes, "B"),
    exact = Number(bytes.toPrecision(4)) === bytes;
  const most = exact ? decimal.split(" ")[0].length : decimal.length;
  for (const [power, prefix] of [
    [40, "Ti"],
    [30, "Gi"],
    [20, "Mi"],
    [10, "Ki"],
  ]) {
    const scaled = bytes / 2 ** power,
      digits = String(Number(scaled.toPrecision(4)));
    if (scaled >= 1 && Number(digits) === scaled && digits.length < most)
      return `${digits} ${prefix}B`;
  }
  return decimal;
}

/** A value with its unit; relative distances have the unit `part`. */
function valueText(value, unit) {
  if (value === null || value === undefined) return "–";
  if (unit === "part") return percent(value);
  if (unit === "B") return sized(value);
  return unit ? si(value, unit) : String(Number(value.toPrecision(6)));
}

/**
 * One axis: values to parts of its length, and ticks.
 * @typedef {{label: string, unit: string, categories?: string[]}} Quantity
 */
class NumberAxis {
  /**
   * @param {Quantity} quantity @param {number[]} values that are shown
   * @param {{isLog?: boolean, zero?: boolean, cut?: boolean}} how a cut axis may begin above nothing
   */
  constructor(quantity, values, { isLog = false, zero = false, cut = false } = {}) {
    this.quantity = quantity;
    this.values = [...new Set(values)].sort((a, b) => a - b);
    let [low, high] = [this.values[0] ?? 0, this.values[this.values.length - 1] ?? 1];
    this.isLog = isLog && low > 0;
    this.isCut = zero && cut && !this.isLog && low > 0.8 * high && low < high;
    const room = this.isLog
      ? Math.log(high / low) * 0.04 || 0.5
      : (high - low) * 0.06 || Math.abs(high) * 0.1 || 0.5;
    if (quantity.categories?.length) [low, high] = [-0.5, quantity.categories.length - 0.5];
    else if (this.isLog) [low, high] = [low / Math.exp(room), high * Math.exp(room)];
    else if (zero && !this.isCut && low >= 0) [low, high] = [0, high + room || 1];
    else [low, high] = [low - room, high + room];
    Object.assign(this, { low, high });
  }

  /** Where a value is, from 0 to 1. */
  part(value) {
    const { low, high } = this;
    return this.isLog ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  }

  text(value) {
    const { categories, unit } = this.quantity;
    if (categories?.length) return shortened(categories[value] ?? "", 40);
    if (unit === "part") return `${Number((100 * value).toPrecision(4))} %`;
    return valueText(value, unit);
  }

  /** Values to name, about `most` of them. */
  ticks(most) {
    if (this.quantity.categories?.length) return this.values;
    if (this.isLog) return this.apart(most);
    const step = roundStep((this.high - this.low) / Math.max(1, most)),
      found = [];
    for (let tick = Math.ceil(this.low / step); tick * step <= this.high; tick++)
      found.push(Number((tick * step).toPrecision(12)));
    return found;
  }

  /** Of the values those that are far enough from the one before; round ones if there are many. */
  apart(most) {
    const { low, high } = this,
      round = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
      for (const digit of [1, 2, 5]) round.push(digit * 10 ** power);
    }
    const all =
      this.values.length > 40
        ? round.filter((value) => low <= value && value <= high)
        : this.values;
    const found = [];
    for (const value of all) {
      if (!found.length || this.part(value) - this.part(found[found.length - 1]) >= 1 / most)
        found.push(value);
    }
    return found;
  }
}
