"use strict";
/* A difference drawn on its array: which elements differ, and both values of them.  Data as `equality.difference_json`. */
(() => {
  const { Drawing, html, svg } = window.tileverify;
  const ROWS = 12;

  class Difference extends Drawing {
    constructor(figure, data) {
      super(figure, { ...data, finding: null, between: true, launch: "", grid: [], tile: [], sides: [], shared: data.boxes });
    }

    reset() {
      this.lead = this.leading(this.data.chosen.flatMap(each => [each, each + 1]));
      this.state = [];
      this.update();
    }

    common() { return this.data.shared; }

    sentence() {
      const { array, shape, count } = this.data, all = shape.reduce((product, size) => product * size, 1);
      const drawn = this.data.elements.length < count ? " The first " + this.data.elements.length.toLocaleString("en") + " are drawn." : "";
      return count.toLocaleString("en") + " of " + all.toLocaleString("en") + (all === 1 ? " element of " : " elements of ") + array + (count === 1 ? " differs." : " differ.") + drawn;
    }

    legend() {
      const swatch = svg("svg", { width: 22, height: 14, "aria-hidden": "true" }, svg("rect", { x: 1, y: 1, width: 20, height: 12, class: "foot x" }));
      this.others = html("input", { type: "checkbox" });
      return html("div", { class: "keys-of" }, html("span", {}, swatch, "differs"));
    }

    /** In the place of the grid: the values. */
    drawBlocks() {
      const row = ([index, kernel, reference]) => html("tr", {}, html("th", { scope: "row" }, this.name(index)), html("td", {}, kernel), html("td", {}, reference));
      const head = html("tr", {}, ...["element", "kernel", "reference"].map(text => html("th", { scope: "col" }, text)));
      const shown = this.data.elements.slice(0, ROWS), more = this.data.count - shown.length;
      const table = html("table", { class: "both" }, html("thead", {}, head), html("tbody", {}, ...shown.map(row)));
      this.blocks.replaceChildren(table, ...(more > 0 ? [html("p", { class: "pointer" }, "and " + more.toLocaleString("en") + " more")] : []));
    }

    name(index) { return this.data.array + "[" + index.join(", ") + "]"; }

    tell(event, root, plane) {
      const area = root.getBoundingClientRect(), scale = plane.width / area.width;
      const at = plane.at((event.clientX - area.left) * scale, (event.clientY - area.top) * scale);
      if (!at) { this.pointer.textContent = ""; return; }
      const index = [...this.lead, ...at];
      const found = this.data.elements.find(each => each[0].join() === index.join());
      this.pointer.textContent = this.name(index) + "  " + (found ? "kernel " + found[1] + ", reference " + found[2] : "no difference seen");
    }
  }

  window.tileverify.drawDifference = (figure, data) => new Difference(figure, data);
})();
