// The arrays that packing.py made: byte planes apart, deflated, in base64.

export async function inflate(text) {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function joined(bytes, { at, count, bytes: width }) {
  const out = width === 2 ? new Uint16Array(count) : new Uint32Array(count);
  for (let k = 0; k < width; k++) {
    const plane = at + k * count;
    for (let i = 0; i < count; i++) out[i] |= bytes[plane + i] << (8 * k);
  }
  return out;
}

export function scaled(bytes, part) {
  const steps = joined(bytes, part);
  const out = new Float64Array(steps.length);
  const tiny = 1e-9 * (part.hi - part.lo);
  for (let i = 0; i < out.length; i++) {
    const t = steps[i] / part.levels;
    const half = part.lo * (1 - t) + part.hi * t;
    out[i] = Math.abs(half) < tiny ? 0 : Math.min(Math.max(2 * half, part.least), part.most);
  }
  return out;
}

export function whole(bytes, part) {
  const steps = joined(bytes, part);
  let last = 0;
  for (let i = 0; i < steps.length; i++) {
    last += (steps[i] >>> 1) ^ -(steps[i] & 1);
    steps[i] = last;
  }
  return steps;
}
