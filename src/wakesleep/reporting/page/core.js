// Elements, numbers as text, colours, tables and cards: what all sections are made of.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element; attributes that are functions listen to events, texts are never taken for markup. */
function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** A number for people; a dash for none. */
function number(value, digits = 2) {
  if (value === null || value === undefined) return "–";
  return value.toFixed(digits).replace(/^-(?=.*[1-9])/, "−").replace(/^-/, "");
}

function count(value) {
  return value === null || value === undefined ? "–" : Math.round(value).toLocaleString("en");
}

/** Big numbers short, for axes: 40000 is 40k. */
function brief(value) {
  if (Math.abs(value) >= 1e6) return `${+(value / 1e6).toFixed(2)}M`;
  if (Math.abs(value) >= 1e3) return `${+(value / 1e3).toFixed(1)}k`;
  return `${+value.toPrecision(3)}`.replace("-", "−");
}

function duration(seconds) {
  if (seconds === null || seconds === undefined || !isFinite(seconds)) return "–";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${(seconds / 3600).toFixed(1)} h` : `${Math.round(seconds / 86400)} days`;
}

function plural(many, one) {
  return `${count(many)} ${one}${many === 1 ? "" : "s"}`;
}

const colour = (index) => `var(--c${((index % 10) + 10) % 10})`;
const MARKERS = ["circle", "square", "triangle", "diamond", "plus"];

/** A mark of its own for each index, so that colour never stands alone. */
function marker(index, x, y, size = 4, attributes = {}) {
  const paint = { fill: colour(index), stroke: "none", ...attributes };
  const shape = MARKERS[(Math.floor(index / 10) + index) % MARKERS.length];
  const s = size;
  if (shape === "circle") return svg("circle", { cx: x, cy: y, r: s, ...paint });
  const paths = {
    square: `M${x - s},${y - s}h${2 * s}v${2 * s}h${-2 * s}z`,
    triangle: `M${x},${y - 1.2 * s}l${1.2 * s},${2.2 * s}h${-2.4 * s}z`,
    diamond: `M${x},${y - 1.4 * s}l${1.4 * s},${1.4 * s}l${-1.4 * s},${1.4 * s}l${-1.4 * s},${-1.4 * s}z`,
    plus: `M${x - s},${y - 0.35 * s}h${0.65 * s}v${-0.65 * s}h${0.7 * s}v${0.65 * s}h${0.65 * s}v${0.7 * s}h${-0.65 * s}v${0.65 * s}h${-0.7 * s}v${-0.65 * s}h${-0.65 * s}z`,
  };
  return svg("path", { d: paths[shape], ...paint });
}

function swatch(index) {
  return svg("svg", { class: "swatch", width: 14, height: 14, viewBox: "-7 -7 14 14", "aria-hidden": "true" }, marker(index, 0, 0, 4.5));
}

function legend(entries) {
  return el("ul", { class: "legend" }, entries.map(([index, text]) => el("li", {}, swatch(index), text)));
}

/** A table: header texts, then rows; the first cell of a row names it. Cells are texts or nodes. */
function table(caption, header, rows, className = "") {
  return scrollable(caption, className,
    el("thead", {}, el("tr", {}, header.map((cell) => el("th", { scope: "col" }, cell)))),
    el("tbody", {}, rows.map(([first, ...rest]) =>
      el("tr", {}, el("th", { scope: "row" }, first), rest.map((cell) => el("td", {}, cell))))));
}

/** A table that scrolls inside its own frame, below its caption; `markOverflow` shows at which edges there is more. */
function scrollable(caption, className, ...parts) {
  const node = el("table", { class: className }, el("caption", { class: "hidden" }, caption), parts);
  return el("div", { class: "wide" }, el("p", { class: "caption", "aria-hidden": "true" }, caption),
    el("div", { class: "frame" }, el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, node)));
}

/** Mark every scrollable table that has columns beyond its left or right edge. */
function markOverflow(root) {
  for (const node of root.querySelectorAll(".scroll")) {
    const beyond = node.scrollWidth - node.clientWidth - node.scrollLeft;
    node.parentElement.toggleAttribute("data-left", node.scrollLeft > 1);
    node.parentElement.toggleAttribute("data-right", beyond > 1);
  }
}

const CARD_WIDTH = 420;

/** Cards side by side in rows of about equal length; `make` is told the width inside, `needed` is the least width of a card. */
function cards(view, items, make, needed = CARD_WIDTH) {
  const fitting = Math.max(1, Math.floor((view.available - 30) / Math.max(CARD_WIDTH, needed)));
  const rows = Math.ceil(items.length / fitting), columns = Math.max(1, Math.ceil(items.length / rows));
  return el("div", { class: "cards", style: `--columns: ${columns}` }, items.map((item) => make(item, view.widthOf(columns))));
}

const opened = new Set();

/** What can be opened stays open when the page is drawn anew; it is filled when it is first opened. */
function more(key, summary, fill) {
  const node = el("details", { toggle: () => {
    if (node.open) opened.add(key); else opened.delete(key);
    if (node.open && node.childElementCount === 1) node.append(fill());
  } }, el("summary", {}, summary));
  if (opened.has(key)) node.open = true;
  return node;
}

/** One of several, as radio buttons. */
function choice(legendText, name, options, chosen, choose) {
  return el("fieldset", {}, el("legend", {}, legendText), options.map(([value, text]) =>
    el("label", {}, el("input", { type: "radio", name, value, id: `${name}-${value}`, checked: value === chosen, change: () => choose(value) }), text)));
}
