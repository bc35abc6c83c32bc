// Elements of the page and of SVG, scales, axes and the shapes of marks. Knows nothing of records.

const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// An element of the page: `properties` are the node's own, as className.
function make(name, properties = {}, ...children) {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
}

// A button with words that does something when it is pressed.
const makeButton = (words, onclick) => make("button", { type: "button", onclick }, words);

// A scale maps a value to pixels; `ticks` are the values that get a line and a label.
function linear(low, high, from, to, count = 5) {
  const span = high - low || 1;
  const scale = (value) => from + ((value - low) / span) * (to - from);
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  scale.ticks = [];
  for (let value = Math.ceil(low / step) * step; value <= high + 1e-9 * span; value += step) scale.ticks.push(value);
  return scale;
}

function logarithmic(low, high, from, to) {
  const span = Math.log(high / low) || 1;
  const scale = (value) => from + (Math.log(value / low) / span) * (to - from);
  const factors = span > Math.log(200) ? [1] : [1, 2, 5];
  scale.ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const factor of factors) {
      const value = factor * 10 ** power;
      if (value >= low * 0.999 && value <= high * 1.001) scale.ticks.push(value);
    }
  }
  if (scale.ticks.length < 2) scale.ticks = linear(low, high, from, to, 4).ticks;
  return scale;
}

// Four significant digits without an exponent where that is short.
function digits(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(1);
  return String(Number(value.toPrecision(4)));
}

class Frame {
  // An empty chart of the given size in pixels, with room for axes.
  constructor(width, height, label, margin = {}) {
    this.margin = { left: 62, right: 14, top: 10, bottom: 44, ...margin };
    this.width = width;
    this.height = height;
    this.svg = element("svg", { width, height, viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "group",
      "aria-roledescription": "chart", "aria-label": label });
    this.left = this.margin.left;
    this.right = width - this.margin.right;
    this.top = this.margin.top;
    this.bottom = height - this.margin.bottom;
    this.marks = [];
  }

  xAxis(scale, label, text = digits) {
    for (const value of scale.ticks) {
      const x = scale(value);
      this.svg.append(element("line", { class: "grid", x1: x, x2: x, y1: this.top, y2: this.bottom }),
        element("text", { x, y: this.bottom + 16, "text-anchor": "middle" }, text(value)));
    }
    this.xLabel(label);
    this.svg.append(element("line", { class: "axis", x1: this.left, x2: this.right, y1: this.bottom, y2: this.bottom }));
  }

  xLabel(label) {
    const x = (this.left + this.right) / 2;
    this.svg.append(element("text", { class: "faint-text", x, y: this.height - 6, "text-anchor": "middle" }, label));
  }

  yAxis(scale, label, text = digits) {
    for (const value of scale.ticks) {
      const y = scale(value);
      this.svg.append(element("line", { class: "grid", x1: this.left, x2: this.right, y1: y, y2: y }),
        element("text", { x: this.left - 6, y: y + 4, "text-anchor": "end" }, text(value)));
    }
    const middle = (this.top + this.bottom) / 2;
    this.svg.append(element("text", { class: "faint-text", x: 12, y: middle, "text-anchor": "middle",
      transform: `rotate(-90 12 ${middle})` }, label));
  }

  line(points, attributes = {}) {
    const path = points.map(([x, y], index) => `${index ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
    this.svg.append(element("path", { class: "ink", d: path, ...attributes }));
  }

  text(x, y, words, attributes = {}) {
    this.svg.append(element("text", { x, y, ...attributes }, words));
  }

  // A node that stands for a record: it can be pointed at and reached by the arrow keys.
  mark(node, row) {
    node.classList.add("mark");
    node.row = row;
    this.svg.append(node);
    this.marks.push(node);
  }
}

// Twelve shapes around the origin, of about the same area.
const SHAPES = ["circle", "M-5-5H5V5H-5Z", "M0-6.5L6.5 0L0 6.5L-6.5 0Z", "M0-6L6 5H-6Z", "M0 6L6-5H-6Z", "M-6 0L5-6V6Z",
  "M6 0L-5-6V6Z", "M-2-6H2V-2H6V2H2V6H-2V2H-6V-2H-2Z", "M-6-4L-4-6L0-2L4-6L6-4L2 0L6 4L4 6L0 2L-4 6L-6 4L-2 0Z",
  "M0-7L4 0L0 7L-4 0Z", "M-3-6H3L6 0L3 6H-3L-6 0Z", "M0-6L6-1L4 6H-4L-6-1Z"];

function shape(index, x, y, colour, filled) {
  const paint = { fill: filled ? colour : "var(--panel)", stroke: colour, "stroke-width": filled ? 0.5 : 1.6 };
  const path = SHAPES[index % SHAPES.length];
  if (path === "circle") return element("circle", { cx: x, cy: y, r: 5, ...paint });
  return element("path", { d: path, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, ...paint });
}

// Lines over a bar's colour, so that bars of one family differ without colour.
const HATCH_PATHS = ["", "M0 8L8 0", "M2 2h2v2h-2zM6 6h2v2h-2z", "M0 0L8 8M0 8L8 0", "M0 0L8 8", "M0 4H8", "M4 0V8",
  "M0 4H8M4 0V8"];

function hatchPatterns() {
  const holder = element("svg", { width: 0, height: 0, style: "position:absolute", "aria-hidden": "true" });
  HATCH_PATHS.forEach((path, index) => {
    if (!path) return;
    holder.append(element("pattern", { id: `hatch${index}`, width: 8, height: 8, patternUnits: "userSpaceOnUse" },
      element("path", { d: path, stroke: "#ffffff", "stroke-width": 1.1, fill: "none" })));
  });
  return holder;
}
