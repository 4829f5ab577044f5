// The panel around the part: which field, pins, legend, keys.
import { AXES, Field, shown } from "./fields.js";
import { Part, ramp } from "./scene.js";
import { inflate, scaled, whole } from "./unpack.js";

const WARP = 0.1;
const RELIEF = 0.45;
const HOVER = 60000;

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value != null) node.setAttribute(key, value);
  }
  node.append(...children.filter((c) => c != null));
  return node;
}

export class Viewer {
  static async open(box, content, select) {
    if (!document.createElement("canvas").getContext("webgl2")) return new Still(box, content, "no WebGL");
    try {
      const bytes = await inflate(document.getElementById("view-bytes").textContent);
      return new Viewer(box, content, select, bytes);
    } catch (error) {
      return new Still(box, content, error);
    }
  }

  constructor(box, content, select, bytes) {
    this.kind = "webgl";
    this.box = box;
    this.queries = content.queries;
    this.units = content.units ? ` [${content.units}]` : "";
    const data = content.view;
    this.dim = data.dim;
    this.times = data.times ?? null; // loads are then moments, in this order
    const points = data.points.map((part) => scaled(bytes, part));
    const triangles = whole(bytes, data.triangles);
    this.cuts = (data.cuts ?? []).map((cut) => ({ level: cut.level, triangles: whole(bytes, cut.triangles) }));
    this.fields = data.fields.map((meta) => new Field(bytes, meta));
    this.state = { name: this.fields[0].name, load: this.times?.at(-1) ?? this.fields[0].load, component: -1, moved: false };
    this.stage = make("div", { class: "stage" });
    const began = performance.now();
    const shape = { dim: data.dim, eye: data.eye, maps: data.maps, points, count: points[0].length, triangles, edges: whole(bytes, data.edges) };
    this.part = new Part(this.stage, shape, () => {
      if (!box.dataset.frame) box.dataset.frame = Math.round(performance.now() - began);
      this.#place();
    });
    this.hover = triangles.length / 3 <= HOVER;
    this.#canvas();
    this.#pins(select);
    this.readout = make("output", { class: "readout" });
    this.legend = make("div", { class: "scale" });
    this.card = make("div", { class: "card", "aria-live": "polite" });
    this.stage.append(this.readout);
    const frame = make("div", { class: "frame" }, this.stage, this.legend);
    this.tools = make("div", { class: "view-tools", role: "group", "aria-label": "View" });
    const still = box.querySelector("figure");
    box.insertBefore(this.tools, still);
    box.insertBefore(frame, still);
    box.insertBefore(this.card, still);
    box.classList.add("live");
    this.#panel();
    this.show();
    this.#cut();
    this.#occlude();
  }

  get field() {
    const mine = this.fields.filter((f) => f.load === this.state.load || f.load == null);
    if (this.state.name !== "green") return mine.find((f) => f.name === this.state.name) ?? mine[0];
    const query = this.queries.find((q) => q.row === this.selected);
    return (query && mine.find((f) => f.query === query.name)) ?? mine.find((f) => f.query != null) ?? mine[0];
  }

  #canvas() {
    const canvas = this.part.canvas;
    const keys = this.dim === 3 ? "arrow keys turn" : "arrow keys move";
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `The part, coloured by a field; ${keys}, plus and minus zoom, 0 resets`);
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (step) this.part.turn(...step);
      else if (event.key === "+" || event.key === "=") this.part.zoom(0.85);
      else if (event.key === "-") this.part.zoom(1 / 0.85);
      else if (event.key === "0" || event.key === "Home") this.part.reset(this.tilted);
      else return;
      event.preventDefault();
    });
    canvas.addEventListener("webglcontextlost", () => this.box.classList.remove("live"));
    canvas.addEventListener("webglcontextrestored", () => this.box.classList.add("live"));
    let waiting = false;
    canvas.addEventListener("pointermove", (event) => {
      if (waiting || event.buttons || !this.hover || event.pointerType === "touch") return;
      waiting = true;
      requestAnimationFrame(() => ((waiting = false), this.#probe(event)));
    });
    canvas.addEventListener("pointerleave", () => (this.readout.textContent = ""));
    canvas.addEventListener("click", (event) => this.#probe(event));
    this.part.controls.addEventListener("end", () => this.#occlude());
  }

  #probe(event) {
    const frame = this.part.canvas.getBoundingClientRect();
    const hit = this.part.pick(event.clientX - frame.left, event.clientY - frame.top);
    this.readout.textContent = hit ? `≈ ${shown(this.seen.back(hit.t / 255))}${this.units}` : "";
  }

  #pins(select) {
    this.layer = make("div", { class: "pins" });
    this.pins = [];
    this.queries.forEach((query, i) => {
      if (!query.at) return;
      const pin = make("button", { type: "button", class: "pin3", "data-row": query.row, "aria-pressed": false, title: query.name,
        "aria-label": `Query ${i + 1}, ${query.name}`, onclick: () => select(query.row, "pin") }, String(query.mark ?? i + 1));
      const home = this.part.local(query.at);
      const same = this.pins.filter((p) => (this.times || p.query.load === query.load) && p.home.distanceTo(home) < 1e-4).length;
      this.pins.push({ pin, query, home, aside: 22 * same, node: this.part.nearest(query.at) });
      this.layer.append(pin);
    });
    this.stage.append(this.layer);
  }

  #place() {
    const lift = this.tilted ? 15 : 0; // a peak is not hidden by its pin
    for (const { pin, query, home, node, aside } of this.pins ?? []) {
      const at = this.part.screen(this.part.carried(home, node));
      const inside = at.ahead && at.x > 0 && at.y > 0 && at.x < this.part.width && at.y < this.part.height;
      pin.hidden = !inside || (!this.times && query.load != null && query.load !== this.state.load);
      pin.style.transform = `translate(${(at.x + aside).toFixed(1)}px, ${(at.y - lift).toFixed(1)}px)`;
    }
  }

  #occlude() {
    if (this.dim !== 3 || this.pins.length > 30) return;
    for (const { pin, home, node } of this.pins) pin.classList.toggle("behind", this.part.hidden(this.part.carried(home, node)));
  }

  #panel() {
    const names = [...new Set(this.fields.map((f) => (f.query == null ? f.name : "green")))];
    const labels = Object.fromEntries(this.fields.map((f) => [f.query == null ? f.name : "green", f.query == null ? f.label : "Influence"]));
    const choice = make("fieldset", { class: "choice" }, make("legend", { class: "quiet" }, "Field"));
    for (const name of names) {
      const input = make("input", { type: "radio", name: "field", value: name, checked: name === this.state.name,
        onchange: () => ((this.state.name = name), this.show()) });
      choice.append(make("label", {}, input, make("span", {}, labels[name])));
    }
    this.tools.append(choice);
    const loads = [...new Set(this.fields.map((f) => f.load).filter((l) => l != null))];
    if (this.times) {
      this.loads = this.#slider(this.times);
    } else if (loads.length > 1) {
      this.loads = this.#select("Load", loads, (value) => ((this.state.load = value), this.show()));
    }
    if (this.fields.some((f) => f.vector)) {
      const parts = this.fields.find((f) => f.vector).parts.length;
      this.components = this.#select("Component", ["length", ...AXES.slice(0, parts)], (_, k) => ((this.state.component = k - 1), this.show()));
    }
    const vector = this.fields.some((f) => f.vector && f.parts.length === this.dim);
    if (vector || this.dim === 2) this.#toggle(vector ? "Deformed" : "Relief", (on) => ((this.state.moved = on), this.#tilt(on && !vector), this.show()));
    this.#toggle("Mesh", (on) => ((this.part.net.visible = on), this.part.draw()));
    if (this.cuts.length) {
      this.state.open = !vector; // a displacement shows on the outside, a temperature inside
      this.#toggle("Cut open", (on) => ((this.state.open = on), this.#cut()), this.state.open);
    }
    if (this.dim === 3) this.#toggle("See-through", (on) => this.part.ghost(on));
    this.tools.append(make("button", { type: "button", onclick: () => this.part.reset(this.tilted) }, "Reset"));
  }

  #select(label, options, chosen) {
    const menu = make("select", { onchange: () => chosen(menu.value, menu.selectedIndex) }, ...options.map((o) => make("option", { value: o }, o)));
    this.tools.append(make("label", { class: "menu" }, make("span", {}, label), menu));
    return menu;
  }

  #slider(times) {
    const said = make("output", { class: "when" }, this.state.load);
    const shown = (load) => ((said.textContent = load), (this.state.load = load), this.show());
    const input = make("input", { type: "range", min: 0, max: times.length - 1, step: 1, value: times.length - 1,
      "aria-label": "Time", oninput: () => (input.setAttribute("aria-valuetext", times[input.value]), shown(times[input.value])) });
    this.tools.append(make("label", { class: "menu" }, make("span", {}, "Time"), input, said));
    return { set value(load) { input.value = times.indexOf(load); said.textContent = load; } };
  }

  #cut() {
    if (!this.cuts.length) return;
    const query = this.queries.find((q) => q.row === this.selected && q.at);
    const far = (cut) => (query ? Math.abs(cut.level - query.at[1]) : 0);
    this.part.open(this.state.open ? this.cuts.reduce((a, b) => (far(b) < far(a) ? b : a)) : null);
    this.#occlude();
  }

  #toggle(label, changed, checked = false) {
    const input = make("input", { type: "checkbox", checked, onchange: () => changed(input.checked) });
    this.tools.append(make("label", { class: "tick" }, input, make("span", {}, label)));
  }

  #tilt(on) {
    if (this.dim !== 2 || on === !!this.tilted) return;
    this.tilted = on;
    this.part.reset(on);
  }

  #moved() {
    if (!this.state.moved) return null;
    const count = this.seen.t.length;
    const moved = new Float32Array(3 * count);
    const field = this.field.query == null ? this.field : this.fields[0];
    if (field.vector && field.parts.length === this.dim) {
      let most = 0;
      for (const x of field.length) most = Math.max(most, x);
      const by = most > 0 ? WARP / most : 0;
      for (let k = 0; k < this.dim; k++) field.column(k).forEach((x, i) => (moved[3 * i + k] = by * x));
    } else if (this.dim === 2) {
      const zero = this.seen.map === "signs" ? 0.5 : 0;
      this.seen.t.forEach((t, i) => (moved[3 * i + 2] = RELIEF * (t - zero)));
      moved.relief = true;
    }
    return moved;
  }

  show() {
    const { field } = this;
    this.seen = field.seen(this.state.component);
    this.part.show(this.seen.t, this.seen.map, this.#moved());
    this.#scale(field);
    this.#describe(field);
    if (this.components) this.components.disabled = !field.vector;
    this.readout.textContent = "";
  }

  #scale(field) {
    const pixels = ramp(this.part.data.maps[this.seen.map]);
    const strip = make("canvas", { width: 256, height: 1, "aria-hidden": "true" });
    strip.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(pixels), 256, 1), 0, 0);
    const same = this.seen.back(0) === this.seen.back(1);
    const marks = (same ? [0.5] : [0, 0.5, 1]).map((s) => make("span", {}, shown(this.seen.back(s))));
    const part = !field.vector ? "" : this.state.component < 0 ? ", length" : `, ${AXES[this.state.component]}`;
    const title = field.query == null ? `${field.label}${part}${this.units}` : "Influence";
    this.legend.replaceChildren(make("div", {}, title), strip, make("div", { class: "marks" }, ...marks));
  }

  #describe(field) {
    const query = this.queries.find((q) => q.row === this.selected);
    const influence = field.query == null ? null
      : make("p", {}, "Influence of ", make("bdi", {}, field.query), ": how much its value moves with a residual at each place (cube-root scale).");
    if (!query) {
      this.card.replaceChildren(...[influence ?? make("p", { class: "quiet" }, `Choose a pin or a row of the table. Drag to ${this.dim === 3 ? "turn" : "move"}; click, then scroll to zoom.`)]);
      return;
    }
    const row = document.getElementById(query.row);
    const facts = [...row.querySelectorAll("td[data-label]")].filter((td) => td.dataset.label && !td.querySelector("svg"));
    const list = make("dl", {}, ...facts.map((td) => make("div", {}, make("dt", {}, td.dataset.label), make("dd", {}, td.textContent))));
    const link = make("a", { href: `#${query.row}` }, make("bdi", {}, query.name));
    this.card.replaceChildren(...[make("h3", {}, link), list, influence].filter(Boolean));
  }

  select(row) {
    this.selected = row;
    const query = this.queries.find((q) => q.row === row);
    for (const { pin } of this.pins) {
      pin.setAttribute("aria-pressed", pin.dataset.row === row);
      pin.classList.toggle("selected", pin.dataset.row === row);
    }
    if (query?.load != null && this.loads) this.loads.value = this.state.load = query.load;
    this.part.noBall();
    if (query?.ball && query.at) this.part.ball(query.at, query.ball);
    this.show();
    this.#cut();
  }
}

// Without WebGL: the still pictures of the fields, one at a time.
class Still {
  constructor(box, content, error) {
    this.kind = "still";
    const images = [...box.querySelectorAll("image[data-field]")];
    box.dataset.reason = String(error?.message ?? error);
    if (images.length < 2) return;
    const choice = make("fieldset", { class: "choice" }, make("legend", { class: "quiet" }, "Field"));
    images.forEach((image, i) => {
      const input = make("input", { type: "radio", name: "field", value: i, checked: i === 0, onchange: () => {
        images.forEach((other, k) => other.setAttribute("visibility", k === i ? "visible" : "hidden"));
        box.querySelectorAll(".still-scale").forEach((scale, k) => (scale.toggleAttribute("hidden", k !== i)));
      } });
      choice.append(make("label", {}, input, make("span", {}, image.dataset.field)));
    });
    box.insertBefore(make("div", { class: "view-tools" }, choice), box.querySelector("figure"));
  }

  select() {}
}
