// The part in WebGL: a surface coloured by a field, drawn only when something changed.
import {
  AmbientLight, BufferAttribute, BufferGeometry, DataTexture, DirectionalLight, DoubleSide, LinearFilter, LineBasicMaterial,
  LineLoop, LineSegments, Mesh, MeshBasicMaterial, MeshLambertMaterial, MOUSE, PerspectiveCamera, Plane, Raycaster, Scene,
  SphereGeometry, SRGBColorSpace, TOUCH, Vector2, Vector3, WebGLRenderer,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";

const SIZE = 256;
const FIELD_OF_VIEW = 26;

export function ramp(stops) {
  const pixels = new Uint8Array(4 * SIZE);
  for (let i = 0; i < SIZE; i++) {
    const x = (i / (SIZE - 1)) * (stops.length - 1);
    const k = Math.min(Math.floor(x), stops.length - 2);
    for (let c = 0; c < 3; c++) pixels[4 * i + c] = Math.round(stops[k][c] * (1 - x + k) + stops[k + 1][c] * (x - k));
    pixels[4 * i + 3] = 255;
  }
  return pixels;
}

export class Part {
  constructor(holder, data, redrawn) {
    this.data = data;
    this.redrawn = redrawn;
    this.holder = holder;
    this.renderer = new WebGLRenderer({ antialias: true, alpha: true, powerPreference: "low-power" });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
    this.canvas = this.renderer.domElement;
    holder.prepend(this.canvas);
    this.scene = new Scene();
    this.camera = new PerspectiveCamera(FIELD_OF_VIEW, 1, 0.01, 100);
    this.camera.up.set(0, 0, 1);
    const lamp = new DirectionalLight(0xffffff, 0.55 * Math.PI);
    lamp.position.set(0.2, 0.3, 1);
    this.camera.add(lamp);
    this.scene.add(this.camera, new AmbientLight(0xffffff, 0.52 * Math.PI));
    this.#shape();
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.enableDamping = false;
    // The page still scrolls: by wheel until the part was clicked, by a finger that moves up or down.
    this.canvas.style.touchAction = "pan-y";
    const zooms = (event) => (this.controls.enableZoom = event.ctrlKey || document.activeElement === this.canvas);
    this.canvas.addEventListener("wheel", zooms, { capture: true, passive: true });
    this.canvas.addEventListener("pointerdown", () => (this.controls.enableZoom = true), { capture: true });
    this.controls.addEventListener("change", () => this.draw());
    this.controls.addEventListener("start", () => (this.touched = true));
    this.reset();
    new ResizeObserver(() => this.#fit()).observe(holder);
    this.#fit();
  }

  #shape() {
    const { points, count, triangles, edges } = this.data;
    const lo = [0, 1, 2].map((k) => Math.min(points[k][0], points[k][1]));
    const hi = [...lo];
    for (let k = 0; k < 3; k++) {
      for (let i = 0; i < count; i++) {
        if (points[k][i] < lo[k]) lo[k] = points[k][i];
        if (points[k][i] > hi[k]) hi[k] = points[k][i];
      }
    }
    this.middle = lo.map((a, k) => a / 2 + hi[k] / 2);
    this.half = lo.map((a, k) => hi[k] / 2 - a / 2);
    this.unit = Math.hypot(...this.half) || 1;
    this.base = new Float32Array(3 * count);
    for (let k = 0; k < 3; k++) {
      for (let i = 0; i < count; i++) this.base[3 * i + k] = (points[k][i] - this.middle[k]) / this.unit;
    }
    this.position = new BufferAttribute(this.base.slice(), 3);
    this.uv = new BufferAttribute(new Float32Array(2 * count).fill(0.5), 2);
    this.geometry = new BufferGeometry();
    this.geometry.setAttribute("position", this.position);
    this.geometry.setAttribute("uv", this.uv);
    this.geometry.setIndex(new BufferAttribute(triangles, 1));
    this.maps = Object.fromEntries(Object.entries(this.data.maps).map(([name, stops]) => {
      const texture = new DataTexture(ramp(stops), SIZE, 1);
      texture.colorSpace = SRGBColorSpace;
      texture.minFilter = texture.magFilter = LinearFilter;
      texture.needsUpdate = true;
      return [name, texture];
    }));
    const offset = { side: DoubleSide, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 };
    this.lit = new MeshLambertMaterial({ ...offset, flatShading: true });
    this.plain = new MeshBasicMaterial(offset);
    this.mesh = new Mesh(this.geometry, this.data.dim === 2 ? this.plain : this.lit);
    const sides = new BufferGeometry();
    sides.setAttribute("position", this.position);
    sides.setIndex(new BufferAttribute(edges, 1));
    this.edges = new LineSegments(sides, new LineBasicMaterial({ color: 0x2a3038, transparent: true, opacity: 0.55 }));
    this.net = new Mesh(this.geometry, new MeshBasicMaterial({ wireframe: true, color: 0x11161c, transparent: true, opacity: 0.22 }));
    this.net.visible = false;
    this.renderer.localClippingEnabled = true;
    this.face = new Mesh(new BufferGeometry(), this.lit.clone());
    this.face.visible = false;
    this.face.geometry.setAttribute("position", this.position);
    this.face.geometry.setAttribute("uv", this.uv);
    this.scene.add(this.mesh, this.edges, this.net, this.face);
  }

  local(at) {
    return new Vector3(...[0, 1, 2].map((k) => ((at[k] ?? 0) - this.middle[k]) / this.unit));
  }

  // The drawn node nearest to a point, and the point moved along with it.
  nearest(at) {
    const p = this.local(at);
    let best = Infinity;
    let node = 0;
    for (let i = 0; i < this.data.count; i++) {
      const d = (this.base[3 * i] - p.x) ** 2 + (this.base[3 * i + 1] - p.y) ** 2 + (this.base[3 * i + 2] - p.z) ** 2;
      if (d < best) [best, node] = [d, i];
    }
    return node;
  }

  carried(home, node) {
    const to = this.position.array;
    return new Vector3(...["x", "y", "z"].map((axis, k) => home[axis] + to[3 * node + k] - this.base[3 * node + k]));
  }

  ball(at, radius) {
    const size = radius / this.unit;
    if (this.data.dim === 3) {
      const material = new MeshBasicMaterial({ color: 0xffffff, transparent: true, opacity: 0.25, depthWrite: false });
      this.around = new Mesh(new SphereGeometry(size, 32, 20), material);
    } else {
      const ring = Array.from({ length: 96 }, (_, i) => new Vector3(Math.cos((i * Math.PI) / 48), Math.sin((i * Math.PI) / 48), 0.002));
      const geometry = new BufferGeometry().setFromPoints(ring.map((p) => new Vector3(p.x * size, p.y * size, p.z)));
      this.around = new LineLoop(geometry, new LineBasicMaterial({ color: 0xffffff }));
    }
    this.around.position.copy(this.local(at));
    this.scene.add(this.around);
  }

  noBall() {
    if (this.around) this.scene.remove(this.around);
    this.around = null;
  }

  // Colours from t in [0, 1]; `moved` are displacements or heights in the scene's own unit, or null.
  show(t, map, moved) {
    const uv = this.uv.array;
    for (let i = 0; i < t.length; i++) uv[2 * i] = (0.5 + t[i] * (SIZE - 1)) / SIZE;
    this.uv.needsUpdate = true;
    const to = this.position.array;
    for (let i = 0; i < to.length; i++) to[i] = this.base[i] + (moved ? moved[i] : 0);
    this.position.needsUpdate = true;
    this.geometry.boundingSphere = null;
    const flat = this.data.dim === 2 && !moved?.relief;
    this.mesh.material = flat ? this.plain : this.lit;
    for (const material of [this.lit, this.plain, this.face.material]) {
      const fresh = !material.map;
      material.map = this.maps[map];
      if (fresh) material.needsUpdate = true;
    }
    this.draw();
  }

  // Take away what lies before a cut, and show its face; null closes the part again.
  open(cut) {
    this.level = cut ? (cut.level - this.middle[1]) / this.unit : null;
    const planes = cut ? [new Plane(new Vector3(0, 1, 0), -this.level)] : null;
    for (const item of [this.mesh, this.edges, this.net]) item.material.clippingPlanes = planes;
    this.face.visible = !!cut;
    if (cut) this.face.geometry.setIndex(new BufferAttribute(cut.triangles, 1));
    this.face.geometry.boundingSphere = null;
    this.draw();
  }

  #hits(ray) {
    const found = ray.intersectObjects([this.mesh, this.face].filter((item) => item.visible));
    return found.filter((hit) => this.level == null || hit.point.y >= this.level - 1e-6);
  }

  ghost(on) {
    for (const material of [this.lit, this.plain]) {
      material.transparent = on;
      material.opacity = on ? 0.42 : 1;
      material.depthWrite = !on;
      material.needsUpdate = true;
    }
    this.draw();
  }

  turning(on) {
    this.controls.enableRotate = on;
    this.controls.mouseButtons = { LEFT: on ? MOUSE.ROTATE : MOUSE.PAN, MIDDLE: MOUSE.DOLLY, RIGHT: on ? MOUSE.PAN : MOUSE.ROTATE };
    this.controls.touches = { ONE: on ? TOUCH.ROTATE : TOUCH.PAN, TWO: TOUCH.DOLLY_PAN };
  }

  reset(tilted = this.data.dim === 3) {
    this.touched = false;
    this.tilted = tilted;
    const eye = new Vector3(...(tilted ? this.data.eye : [0, -1e-4, 1])).normalize();
    const far = this.#distance(eye) * (tilted && this.data.dim === 2 ? 1.12 : 1);
    this.controls.target.set(0, 0, 0);
    this.camera.position.copy(eye.multiplyScalar(far));
    this.turning(tilted);
    this.controls.update();
    this.draw();
  }

  // Far enough for every corner of the bounding box to be seen.
  #distance(towards) {
    const slope = Math.tan((FIELD_OF_VIEW * Math.PI) / 360);
    const right = new Vector3(0, 0, 1).cross(towards).normalize();
    const up = towards.clone().cross(right);
    const room = { x: slope * (this.camera.aspect || 1), y: slope };
    let far = 0.1;
    for (let k = 0; k < 8; k++) {
      const corner = new Vector3(...this.half.map((a, axis) => ((k >> axis) & 1 ? a : -a) / this.unit));
      const wide = Math.max(Math.abs(corner.dot(right)) / room.x, Math.abs(corner.dot(up)) / room.y);
      far = Math.max(far, corner.dot(towards) + 1.14 * wide);
    }
    return far;
  }

  turn(dx, dy) {
    this.touched = true;
    const offset = this.camera.position.clone().sub(this.controls.target);
    const far = offset.length();
    if (!this.controls.enableRotate) {
      const step = 0.08 * far * 0.5;
      for (const v of [this.camera.position, this.controls.target]) v.add(new Vector3(dx * step, -dy * step, 0));
    } else {
      const around = Math.atan2(offset.y, offset.x) + 0.12 * dx;
      const up = Math.min(1.55, Math.max(-1.55, Math.asin(offset.z / far) - 0.12 * dy));
      offset.set(Math.cos(up) * Math.cos(around), Math.cos(up) * Math.sin(around), Math.sin(up)).multiplyScalar(far);
      this.camera.position.copy(this.controls.target).add(offset);
    }
    this.controls.update();
    this.draw();
  }

  zoom(factor) {
    this.touched = true;
    this.camera.position.sub(this.controls.target).multiplyScalar(factor).add(this.controls.target);
    this.controls.update();
    this.draw();
  }

  screen(local) {
    const p = local.clone().project(this.camera);
    return { x: ((p.x + 1) / 2) * this.width, y: ((1 - p.y) / 2) * this.height, ahead: p.z < 1 };
  }

  hidden(local) {
    const far = local.clone().sub(this.camera.position);
    const length = far.length();
    return this.#hits(new Raycaster(this.camera.position, far.normalize(), 0, length * 0.995)).length > 0;
  }

  pick(x, y) {
    const ray = new Raycaster();
    ray.setFromCamera(new Vector2((2 * x) / this.width - 1, 1 - (2 * y) / this.height), this.camera);
    const [hit] = this.#hits(ray);
    return hit ? { t: hit.uv.x * SIZE - 0.5, at: hit.point } : null;
  }

  #fit() {
    const { clientWidth, clientHeight } = this.holder;
    if (!clientWidth || !clientHeight) return;
    const first = !this.width || !this.touched;
    [this.width, this.height] = [clientWidth, clientHeight];
    this.renderer.setSize(clientWidth, clientHeight, false);
    this.camera.aspect = clientWidth / clientHeight;
    this.camera.updateProjectionMatrix();
    if (first) this.reset(this.tilted);
    this.draw();
  }

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.renderer.render(this.scene, this.camera);
      this.redrawn();
    });
  }
}
