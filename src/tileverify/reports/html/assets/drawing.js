"use strict";
/* Drawings of footprints: the grid of blocks, the array, and what each side touches.  Data as `kernel.drawing_json`. */
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const WIDEST = 880, HEIGHT = 360, CELL = 20, LARGE = 40, MESH = 6, BESIDE = 250, NARROW = 560;
  const FEW_BOXES = 700, MOST_BOXES = 2500;

  function svg(tag, attributes, ...children) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  function html(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  // ---------------------------------------------------------------------------------------------- boxes
  const volume = box => { let n = 1; for (let k = 0; k < box.length; k += 2) n *= box[k + 1] - box[k]; return n; };

  function meet(first, second) {
    const common = [];
    for (let k = 0; k < first.length; k += 2) {
      const low = Math.max(first[k], second[k]), high = Math.min(first[k + 1], second[k + 1]);
      if (low >= high) return null;
      common.push(low, high);
    }
    return common;
  }

  const meets = (mine, other) => mine.flatMap(a => other.map(b => meet(a, b)).filter(Boolean));

  /** The parts of a box that lie outside of the array. */
  function outside(box, shape) {
    const parts = [], rest = box.slice();
    for (let k = 0; k < shape.length; k++) {
      for (const [low, high] of [[rest[2 * k], Math.min(rest[2 * k + 1], 0)], [Math.max(rest[2 * k], shape[k]), rest[2 * k + 1]]]) {
        if (low < high) { const part = rest.slice(); part[2 * k] = low; part[2 * k + 1] = high; parts.push(part); }
      }
      rest[2 * k] = Math.max(rest[2 * k], 0); rest[2 * k + 1] = Math.min(rest[2 * k + 1], shape[k]);
      if (rest[2 * k] >= rest[2 * k + 1]) break;
    }
    return parts;
  }

  function named(array, boxes, count) {
    if (!boxes.length) return "nothing of " + array;
    const axes = [];
    for (let k = 0; k < boxes[0].length; k += 2) axes.push(boxes[0][k + 1] === boxes[0][k] + 1 ? boxes[0][k] : boxes[0][k] + ":" + boxes[0][k + 1]);
    const more = count - volume(boxes[0]);
    return array + "[" + axes.join(", ") + "]" + (more > 0 ? " and " + elements(more, " more") : "");
  }

  const elements = (count, word) => count.toLocaleString("en") + (word || "") + (count === 1 ? " element" : " elements");
  const block = id => "(" + id.join(", ") + ")";

  // ---------------------------------------------------------------------------------------------- plane
  /** The part `domain` of the last one or two axes on paper; one axis is wrapped like text. */
  class Plane {
    constructor(domain, tile, width, height) {
      this.flat = domain.length === 1;
      this.domain = domain;
      if (this.flat) {
        const [low, high] = domain[0], count = high - low, size = tile.length ? tile[tile.length - 1] : 0;
        let wrap = count <= 32 ? count : Math.max(32, Math.ceil(count / 18));
        if (count > 32 && size > 1) wrap = size <= 64 && count / size <= 18 && size >= 16 ? size : wrap <= size && size % 32 === 0 && wrap <= 64 ? 32 : Math.ceil(wrap / size) * size;
        this.wrap = Math.max(1, Math.min(wrap, count));
        this.columns = this.wrap; this.rows = Math.max(1, Math.ceil(count / this.wrap));
      } else {
        this.columns = Math.max(1, domain[1][1] - domain[1][0]); this.rows = Math.max(1, domain[0][1] - domain[0][0]);
      }
      const most = this.columns <= 12 && this.rows <= 8 ? LARGE : CELL;
      this.cw = Math.min(most, width / this.columns); this.ch = Math.min(most, height / this.rows);
      if (this.rows * this.ch < 24) this.ch = 24 / this.rows;
      this.left = 12 + 7 * String(this.flat ? domain[0][1] : domain[0][1]).length; this.top = 18;
      this.width = this.left + this.columns * this.cw + 6; this.height = this.top + this.rows * this.ch + 6;
    }

    get mesh() { return this.cw >= MESH && this.ch >= MESH; }

    /** Rectangles for a box given by the flat ranges of the drawn axes. */
    rects(box) {
      const clipped = meet(box, this.domain.flat());
      if (!clipped) return [];
      if (!this.flat) {
        const [top, bottom, left, right] = clipped;
        return [this.rect(left - this.domain[1][0], top - this.domain[0][0], right - left, bottom - top)];
      }
      const found = [];
      let start = clipped[0] - this.domain[0][0];
      const end = clipped[1] - this.domain[0][0];
      while (start < end) {
        const row = Math.floor(start / this.wrap), until = Math.min(end, (row + 1) * this.wrap);
        const whole = start === row * this.wrap && Math.floor(end / this.wrap) - row;
        if (whole >= 1) { found.push(this.rect(0, row, this.wrap, whole)); start = (row + whole) * this.wrap; }
        else { found.push(this.rect(start - row * this.wrap, row, until - start, 1)); start = until; }
      }
      return found;
    }

    rect(column, row, columns, rows) {
      return { x: this.left + column * this.cw, y: this.top + row * this.ch, w: Math.max(columns * this.cw, 1), h: Math.max(rows * this.ch, 1) };
    }

    /** The index of the drawn axes at a point, or null. */
    at(x, y) {
      const column = Math.floor((x - this.left) / this.cw), row = Math.floor((y - this.top) / this.ch);
      if (column < 0 || row < 0 || column >= this.columns || row >= this.rows) return null;
      if (!this.flat) return [row + this.domain[0][0], column + this.domain[1][0]];
      const index = row * this.wrap + column + this.domain[0][0];
      return index < this.domain[0][1] ? [index] : null;
    }

    paper(label, shape, tile) {
      const root = svg("svg", { viewBox: "0 0 " + this.width + " " + this.height, width: Math.ceil(this.width), height: Math.ceil(this.height), role: "img", "aria-label": label });
      const inside = shape.map(size => [0, size]).flat();
      for (const r of this.rects(this.domain.flat())) if (meet(this.domain.flat(), inside) === null || !same(this.domain.flat(), meet(this.domain.flat(), inside))) root.append(box(r, "beyond"));
      for (const r of this.rects(inside)) root.append(box(r, "ground"));
      if (this.mesh) this.fine(root, inside);
      this.labels(root, shape);
      return root;
    }

    fine(root, inside) {
      const path = [];
      for (const r of this.rects(inside)) {
        for (let x = r.x + this.cw; x < r.x + r.w - 0.5; x += this.cw) path.push("M" + x + " " + r.y + "v" + r.h);
        for (let y = r.y + this.ch; y < r.y + r.h - 0.5; y += this.ch) path.push("M" + r.x + " " + y + "h" + r.w);
      }
      root.append(svg("path", { d: path.join(""), class: "mesh" }));
    }

    /** The borders of tiles, above the footprints. */
    borders(root, shape, tile) {
      const coarse = [];
      if (!tile.length) return;
      for (const r of this.rects(shape.map(size => [0, size]).flat())) {
        const column = tile[tile.length - 1], row = this.flat ? 0 : tile[tile.length - 2];
        const origin = this.flat ? this.left : this.left - this.domain[1][0] * this.cw;
        if (column > 1 && column * this.cw >= 5) for (let x = origin + column * this.cw; x < r.x + r.w - 0.5; x += column * this.cw) if (x > r.x + 0.5 && (!this.flat || this.wrap % column === 0)) coarse.push("M" + x + " " + r.y + "v" + r.h);
        const down = this.top - (this.flat ? 0 : this.domain[0][0] * this.ch);
        if (row > 1 && row * this.ch >= 5) for (let y = down + row * this.ch; y < r.y + r.h - 0.5; y += row * this.ch) if (y > r.y + 0.5) coarse.push("M" + r.x + " " + y + "h" + r.w);
      }
      if (coarse.length) root.append(svg("path", { d: coarse.join(""), class: "tiles" }));
    }

    labels(root, shape) {
      const put = (x, y, text, anchor) => root.append(svg("text", { x: x, y: y, "text-anchor": anchor }, String(text)));
      const rows = this.flat ? this.wrap : 1, first = this.domain[0][0];
      const every = Math.max(1, Math.ceil(15 / this.ch));
      for (let row = 0; row < this.rows; row += nice(every)) put(this.left - 5, this.top + row * this.ch + Math.min(this.ch / 2 + 4, 12), first + row * rows, "end");
      const start = this.flat ? 0 : this.domain[1][0], wide = Math.max(1, Math.ceil(34 / this.cw));
      const sign = this.flat && this.rows > 1 ? "+" : "";
      for (let column = 0; column < this.columns; column += nice(wide)) put(this.left + column * this.cw + Math.min(this.cw / 2, 8), this.top - 6, sign + (start + column + (this.flat && this.rows === 1 ? first : 0)), "middle");
    }
  }

  const same = (a, b) => a.length === b.length && a.every((value, k) => value === b[k]);
  const nice = step => { let n = 1; while (n < step) n *= 2; return n; };
  const box = (r, name) => svg("rect", { x: r.x, y: r.y, width: r.w, height: r.h, class: name });

  // -------------------------------------------------------------------------------------------- drawing
  class Drawing {
    constructor(figure, data) {
      this.figure = figure; this.data = data;
      this.axes = data.shape.length; this.drawn = Math.min(this.axes, 2);
      this.single = data.sides.length === 1;
      this.linked = !this.single && !data.between;
      this.layout();
      this.reset();
      new ResizeObserver(() => { if (this.width !== this.room()) this.update(); }).observe(figure);
    }

    /** Pixels for the array, so that text keeps its size on a phone. */
    room() {
      const whole = this.figure.clientWidth || NARROW;
      return Math.max(220, Math.min(WIDEST, whole - (whole < NARROW ? 70 : BESIDE)));
    }

    reset() {
      this.state = this.data.sides.map(side => ({ track: side.start[0], step: side.start[1] }));
      const shown = this.data.shared[0] || this.boxes(0)[0] || this.data.shape.flatMap(() => [0, 1]);
      this.lead = this.leading(shown);
      this.update(false);
    }

    leading(shown) {
      return Array.from({ length: this.axes - this.drawn }, (_, k) => Math.min(Math.max(shown[2 * k], 0), Math.max(this.data.shape[k] - 1, 0)));
    }

    step(side) {
      const track = this.data.sides[side].tracks[this.state[side].track];
      return track && track[1].length ? track[1][Math.min(this.state[side].step, track[1].length - 1)] : null;
    }

    boxes(side) { const step = this.step(side); return step ? step[0] : []; }

    // ------------------------------------------------------------------------------------------ layout
    layout() {
      const data = this.data;
      this.caption = html("p", { "aria-live": "polite" });
      this.again = html("button", { type: "button", class: "again" }, data.finding === null ? "Back to the start" : "Back to the fault");
      this.again.addEventListener("click", () => this.reset());
      this.knobs = html("div", { class: "knobs" });
      this.blocks = html("div");
      this.array = html("div");
      this.zoomed = html("div", { class: "zoomed" });
      this.pointer = html("p", { class: "pointer", "aria-hidden": "true" });
      const stage = html("div", { class: "stage" }, this.blocks, html("div", {}, this.array, this.pointer), this.zoomed);
      this.figure.replaceChildren(html("figcaption", {}, this.caption, this.again), stage, this.knobs, this.legend());
      this.makeKnobs();
    }

    legend() {
      const swatch = name => { const s = svg("svg", { width: 22, height: 14, "aria-hidden": "true" }); s.append(svg("rect", { x: 1, y: 1, width: 20, height: 12, class: "foot " + name })); return s; };
      const keys = html("div", { class: "keys-of" });
      const words = this.single ? ["what it touches"] : ["A: " + this.data.sides[0].name, "B: " + this.data.sides[1].name];
      words.forEach((text, side) => keys.append(html("span", {}, swatch("ab"[side]), text)));
      if (this.data.finding !== null) keys.append(html("span", {}, swatch("x"), this.single ? "at fault" : "both"));
      const all = this.everything();
      this.others = html("input", { type: "checkbox" });
      this.others.checked = all.length > 2 && all.length <= FEW_BOXES;
      this.others.addEventListener("change", () => this.update());
      if (all.length > 1) keys.append(html("label", {}, this.others, "every block, faintly"));
      return keys;
    }

    everything() {
      if (this.all) return this.all;
      const known = new Set();
      this.all = [];
      for (const side of this.data.sides) for (const track of side.tracks) for (const step of track[1]) for (const each of step[0]) {
        const key = each.join();
        if (!known.has(key) && this.all.length < MOST_BOXES) { known.add(key); this.all.push(each); }
      }
      return this.all;
    }

    makeKnobs() {
      this.dials = [];
      const add = (side, label, most, read, write, text) => {
        const range = html("input", { type: "range", min: 0, max: 0, step: 1 });
        const output = html("output");
        const letter = this.single ? "" : this.linked && label === "block" ? "" : "AB"[side] || "";
        const name = html("span", { class: letter ? "side " + letter.toLowerCase() : "", "aria-hidden": "true" }, letter);
        const row = html("label", { class: "knob " + (side === 1 ? "b" : "a") }, name, html("span", {}, label), range, output);
        range.setAttribute("aria-label", (letter ? letter + " " : "") + label);
        range.addEventListener("input", () => { write(Number(range.value)); this.update(true); });
        this.dials.push({ row, range, output, most, read, text, label });
        this.knobs.append(row);
      };
      this.data.sides.forEach((side, number) => {
        if (!this.linked || number === 0) add(number, "block", () => side.tracks.length - 1, () => this.state[number].track,
          value => { for (const each of this.linked ? [0, 1] : [number]) { this.state[each].track = value; } this.follow(number); },
          () => block(side.tracks[this.state[number].track][0]));
        add(number, side.loops.length ? side.loops.join(", ") : "execution", () => Math.max(side.tracks[this.state[number].track][1].length - 1, 0),
          () => this.state[number].step, value => { this.state[number].step = value; this.follow(number); },
          () => { const step = this.step(number); return step && step[2].length ? "iteration " + step[2].join(", ") : "execution " + this.state[number].step; });
      });
      for (let axis = 0; axis < this.axes - this.drawn; axis++) add(-1, "axis " + axis, () => this.data.shape[axis] - 1, () => this.lead[axis], value => { this.lead[axis] = value; }, () => String(this.lead[axis]));
    }

    follow(side) {
      const shown = (this.single ? [] : this.common())[0] || this.boxes(side)[0];
      if (shown) this.lead = this.leading(shown);
    }

    common() {
      if (this.single) {
        if (this.data.finding === null) return [];
        const beyond = this.boxes(0).flatMap(each => outside(each, this.data.shape));
        return beyond.length || this.moved() ? beyond : this.data.shared;
      }
      if (this.data.between && this.state[0].track === this.state[1].track) return [];
      return meets(this.boxes(0), this.boxes(1));
    }

    moved() { return this.state.some((each, side) => each.track !== this.data.sides[side].start[0] || each.step !== this.data.sides[side].start[1]); }

    // ------------------------------------------------------------------------------------------ update
    update() {
      this.state.forEach((each, side) => {
        const track = this.data.sides[side].tracks[each.track];
        each.step = Math.min(each.step, Math.max((track ? track[1].length : 1) - 1, 0));
      });
      const sentence = this.sentence();
      this.caption.textContent = sentence;
      this.again.hidden = !this.moved();
      for (const dial of this.dials) {
        const most = dial.most();
        dial.range.max = most; dial.range.value = dial.read(); dial.row.hidden = most < 1;
        dial.output.textContent = dial.text(); dial.range.setAttribute("aria-valuetext", dial.text());
      }
      this.drawBlocks();
      this.drawArray(sentence);
    }

    sentence() {
      const { array, sides, shape } = this.data;
      const words = sides.map((side, number) => {
        const step = this.step(number), who = "block " + block(side.tracks[this.state[number].track][0]);
        return who + (step ? " " + verb(side.access) + " " + named(array, step[0], step[1]) + (step[3] ? " (not all drawn)" : "") : " does not get there");
      });
      const common = this.common();
      const count = common.reduce((sum, each) => sum + volume(each), 0);
      let verdict = "";
      if (this.single) {
        const beyond = common.length && outside(common[0], shape).length;
        if (count) verdict = beyond ? " That is " + elements(count) + " outside: the shape is (" + shape.join(", ") + ")." : " At fault: " + named(array, common, count) + ".";
        else if (this.data.finding !== null && this.moved()) verdict = " Nothing is wrong here.";
        else if (sides[0].access === "store" && this.step(0)) verdict = this.alone() ? " No other block stores there." : "";
      } else if (this.data.between && this.state[0].track === this.state[1].track) verdict = " That is one block: it does not race with itself.";
      else verdict = count ? " Both touch " + named(array, common, count) + ": " + elements(count, " in common").replace(" in common", "") + "." : " They have no element in common.";
      const text = words.join("; ") + "." + verdict;
      return text[0].toUpperCase() + text.slice(1);
    }

    /** Whether none of the other blocks that ran touches what the chosen one does now. */
    alone() {
      const chosen = this.state[0].track, mine = this.boxes(0);
      return this.data.sides[0].tracks.every((track, number) => number === chosen || track[1].every(step => !meets(mine, step[0]).length));
    }

    drawBlocks() {
      const [gx, gy, gz] = this.data.grid, tracks = this.data.sides[0].tracks, total = gx * gy * gz;
      const wrapped = gy * gz === 1, columns = wrapped ? Math.min(gx, 8) : Math.min(gx, 32);
      const size = Math.min(30, Math.max(9, 176 / columns));
      const place = id => wrapped ? [id[0] % columns, Math.floor(id[0] / columns)] : [id[0] % columns, id[1] + id[2] * gy + id[2] * 0.35 + Math.floor(id[0] / columns) * (gy * gz + 0.5)];
      const rows = Math.max(...tracks.map(track => place(track[0])[1])) + 1;
      const left = wrapped ? 0 : 30, top = 16, wide = Math.max(columns * size + left + 2, 46), high = rows * size + top + 2;
      const root = svg("svg", { viewBox: -left + " " + -top + " " + wide + " " + high, width: wide, height: high, "aria-hidden": "true" });
      const label = (x, y, text) => root.append(svg("text", { x, y, class: "axis" }, text));
      label(2, -5, "x →");
      if (!wrapped) for (let z = 0; z < gz; z++) {
        if (z === 0 || size * gy >= 11) label(-left, place([0, 0, z])[1] * size + Math.min(size, 22) / 2 + 6, gz === 1 ? "y ↓" : gy === 1 ? "z = " + z : "z" + z + " y");
      }
      tracks.forEach((track, number) => {
        const [x, y] = place(track[0]), mine = this.state.map(each => each.track === number);
        const name = mine[0] && mine[1] ? (this.linked ? "a" : "same") : mine[0] ? "a" : mine[1] ? "b" : "";
        const cell = svg("rect", { x: x * size + 2, y: y * size + 2, width: size - 2, height: size - 2, rx: Math.min(3, size / 6), class: "block " + name });
        const tip = "block " + block(track[0]) + (this.single || this.linked ? "" : "; with Shift for B");
        const group = svg("g", { role: "presentation" }, svg("title", {}, tip), cell);
        if (size >= 15 && name && !this.single) group.append(svg("text", { x: x * size + 1 + size / 2, y: y * size + size / 2 + 5, "text-anchor": "middle", class: "name" }, this.linked || name === "same" ? "AB" : name.toUpperCase()));
        group.addEventListener("click", event => {
          const side = event.shiftKey && !this.single ? 1 : 0;
          for (const each of this.linked ? [0, 1] : [side]) this.state[each].track = number;
          this.follow(side); this.update();
        });
        root.append(group);
      });
      const title = html("h5", {}, "Grid ", html("code", {}, this.data.grid.join(" × ")));
      const launch = this.data.launch ? [html("p", { class: "pointer" }, this.data.launch)] : [];
      const note = tracks.length < total ? [html("p", { class: "pointer" }, tracks.length + " of " + total.toLocaleString("en") + " blocks")] : [];
      this.blocks.replaceChildren(title, root, ...launch, ...note);
    }

    /** The range of each drawn axis: the array, and what lies behind its end as far as it is near. */
    domain() {
      const first = this.axes - this.drawn;
      return this.data.shape.slice(first).map((size, k) => {
        const axis = first + k, room = Math.max(size, 2 * (this.data.tile[axis] || 1), 16);
        let low = 0, high = size;
        for (const each of [...this.data.shared, ...this.data.sides.flatMap((_, side) => this.boxes(side))]) {
          if (each[2 * axis] >= -room && each[2 * axis] < size + room) { low = Math.min(low, each[2 * axis]); high = Math.max(high, Math.min(each[2 * axis + 1], size + room)); }
        }
        return [low, Math.max(high, low + 1)];
      });
    }

    /** Ranges of the drawn axes of those boxes that the fixed leading axes go through. */
    cut(boxes) {
      const first = this.axes - this.drawn;
      return boxes.filter(each => this.lead.every((value, k) => each[2 * k] <= value && value < each[2 * k + 1])).map(each => each.slice(2 * first));
    }

    paint(plane, label) {
      const shape = this.data.shape.slice(this.axes - this.drawn);
      const root = plane.paper(label, shape, this.data.tile.slice(-this.drawn));
      const put = (boxes, name) => this.cut(boxes).forEach(each => plane.rects(each).forEach(r => root.append(box(r, name))));
      if (this.others.checked) put(this.everything(), "others");
      for (let side = this.data.sides.length - 1; side >= 0; side--) put(this.boxes(side), "foot " + "ab"[side]);
      put(this.common(), "foot x");
      plane.borders(root, shape, this.data.tile.slice(-this.drawn));
      for (const each of this.cut(this.common()).slice(0, 4)) for (const r of plane.rects(each).slice(0, 1)) {
        if (r.w * r.h < 140) root.append(svg("circle", { cx: r.x + r.w / 2, cy: r.y + r.h / 2, r: 12, class: "halo" }));
      }
      return root;
    }

    drawArray(label) {
      this.width = this.room();
      const data = this.data, domain = this.domain();
      const plane = new Plane(domain, data.tile, this.width, HEIGHT);
      const root = this.paint(plane, label);
      root.addEventListener("pointermove", event => this.tell(event, root, plane));
      root.addEventListener("pointerleave", () => { this.pointer.textContent = ""; });
      const at = this.axes > 2 ? "[" + this.lead.join(", ") + ", :, :] of " : " ";
      const title = html("h5", {}, data.array + " ", html("code", {}, (this.axes > 2 ? at : "") + data.dtype + "[" + data.shape.join(", ") + "]"));
      this.array.replaceChildren(title, root);
      this.drawZoom(plane, domain, label);
    }

    drawZoom(plane, domain, label) {
      const focus = this.cut(this.common())[0] || null;
      const area = focus ? plane.rects(focus)[0] : null;
      if (plane.mesh || !area || (area.w > 40 && area.h > 30)) { this.zoomed.replaceChildren(); return; }
      const span = plane.flat ? [96] : [10, 32];
      const window_ = domain.map(([low, high], k) => {
        const middle = Math.floor((focus[2 * k] + Math.min(focus[2 * k + 1], focus[2 * k] + span[k])) / 2);
        const start = Math.max(low, Math.min(middle - Math.floor(span[k] / 2), high - span[k]));
        return [start, Math.min(high, start + span[k])];
      });
      const close = new Plane(window_, [], this.width, 220);
      const names = window_.map(([low, high]) => low + ":" + high).join(", ");
      this.zoomed.replaceChildren(html("h5", {}, "Closer ", html("code", {}, this.data.array + "[" + [...this.lead, names].join(", ") + "]")), this.paint(close, label));
    }

    tell(event, root, plane) {
      const area = root.getBoundingClientRect(), scale = plane.width / area.width;
      const index = plane.at((event.clientX - area.left) * scale, (event.clientY - area.top) * scale);
      if (!index) { this.pointer.textContent = ""; return; }
      const whole = [...this.lead, ...index];
      const holds = each => whole.every((value, k) => each[2 * k] <= value && value < each[2 * k + 1]);
      const found = new Set();
      for (const side of this.data.sides) for (const track of side.tracks) if (track[1].some(step => step[0].some(holds))) found.add(block(track[0]));
      const few = [...found].slice(0, 5), more = found.size - few.length;
      this.pointer.textContent = this.data.array + "[" + whole.join(", ") + "]  " + (found.size ? (found.size === 1 ? "block " : "blocks ") + few.join(" ") + (more > 0 ? " and " + more + " more" : "") : "no block");
    }
  }

  const verb = access => ({ load: "loads", store: "stores", atomic: "updates" })[access] || "touches";

  window.tileverify = { draw: (figure, data) => new Drawing(figure, data), Drawing, html, svg };
})();
