// What is shown of a field: one component or the length of its vectors, as colours from 0 to 1, with its legend.
import { scaled } from "./unpack.js";

export const AXES = ["x", "y", "z"];

export class Field {
  constructor(bytes, meta) {
    Object.assign(this, meta);
    this.bytes = bytes;
    this.vector = meta.parts.length > 1;
  }

  column(k) {
    this.columns ??= [];
    return (this.columns[k] ??= scaled(this.bytes, this.parts[k]));
  }

  get length() {
    if (!this.lengths) {
      const columns = this.parts.map((_, k) => this.column(k));
      this.lengths = Float64Array.from(columns[0], (_, i) => Math.hypot(...columns.map((c) => c[i])));
    }
    return this.lengths;
  }

  // component: -1 is the length of a vector
  seen(component) {
    const whole = !this.vector || component < 0;
    const v = !this.vector ? this.column(0) : whole ? this.length : this.column(component);
    const part = this.vector && whole ? null : this.parts[this.vector ? component : 0];
    let lo = part ? (this.range?.[0] ?? part.least) : Infinity;
    let hi = part ? (this.range?.[1] ?? part.most) : -Infinity;
    if (!part) {
      for (const x of v) {
        if (x < lo) lo = x;
        if (x > hi) hi = x;
      }
    }
    const signed = this.signed || (this.vector && !whole && lo < 0 && hi > 0);
    if (signed) {
      hi = Math.max(Math.abs(lo), Math.abs(hi));
      lo = -hi;
    }
    const half = hi / 2 - lo / 2;
    const t = Float32Array.from(v, (x) => (half > 0 ? (x / 2 - lo / 2) / half : 0.5));
    const back = (s) => {
      const x = lo * (1 - s) + hi * s;
      return Math.sign(x) * Math.abs(x) ** this.power;
    };
    return { t, back, map: signed ? "signs" : "sizes" };
  }
}

export function shown(x) {
  if (x === 0) return "0";
  const size = Math.abs(x);
  const text = size >= 1e-3 && size < 1e6 ? String(Number(x.toPrecision(4))) : x.toExponential(2);
  return text.replace("e+", "e").replace(/^-/, "\u2212");
}
