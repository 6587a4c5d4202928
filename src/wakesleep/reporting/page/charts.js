// The chart kinds of the page: lines, heat maps (as real tables), points that move.

/** Ticks at round numbers. */
function ticks(low, high, wanted = 5) {
  const rough = (high - low) / wanted || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(+(i * step).toPrecision(12));
  return found;
}

/**
 * Lines over one axis.
 *   x: {low, high, label, ticks?: [[at, text]]}     y: {low, high, label}
 *   regions: [{from, to, index, label}]             stretches of x, coloured
 *   levels: [{from, to, y, index}]                  dashed horizontal lines
 *   series: [{name, index, points: [[x, y]], band: [[x, low, high]], marks, faint}]   y null: a gap is bridged
 */
function lineChart({ label, width, height = width > 700 ? 300 : 230, x, y, regions = [], levels = [], series }) {
  const left = 46, right = 12, top = regions.length ? 24 : 12, bottom = 38;
  const px = (value) => left + ((value - x.low) / (x.high - x.low || 1)) * (width - left - right);
  const py = (value) => height - bottom - ((value - y.low) / (y.high - y.low || 1)) * (height - top - bottom);
  const root = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  for (const region of regions) {
    const [from, to] = [px(region.from), px(region.to)];
    root.append(svg("rect", { x: from, y: top, width: Math.max(0, to - from), height: height - top - bottom,
      style: `fill: color-mix(in srgb, ${colour(region.index)} var(--shade), transparent)` }));
    const text = shortened(region.label, to - from);
    if (text) root.append(svg("text", { x: (from + to) / 2, y: top - 7, "text-anchor": "middle", style: `fill: ${colour(region.index)}` }, text));
  }
  for (const at of ticks(y.low, y.high, 4)) {
    root.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: py(at), y2: py(at) }));
    root.append(svg("text", { x: left - 6, y: py(at) + 4, "text-anchor": "end" }, brief(at)));
  }
  const marks = x.ticks ?? ticks(x.low, x.high, Math.max(2, Math.floor(width / 90))).map((at) => [at, brief(at)]);
  for (const [at, text] of marks) root.append(svg("text", { x: px(at), y: height - bottom + 16, "text-anchor": "middle" }, text));
  root.append(svg("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, x.label));
  root.append(svg("text", { transform: `translate(11 ${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, y.label));
  for (const level of levels) {
    root.append(svg("line", { class: "level", x1: px(level.from), x2: px(level.to), y1: py(level.y), y2: py(level.y), style: `stroke: ${colour(level.index)}` }));
  }
  const inside = (value) => py(Math.min(y.high, Math.max(y.low, value)));  // the interval of two lifetimes can be huge
  for (const line of series) drawSeries(root, line, px, inside);
  return withReadout(root, { left, top, right, bottom, width, height, x, px, series: series.filter((line) => !line.faint) });
}

function drawSeries(root, line, px, py) {
  const points = line.points.filter(([, value]) => value !== null && value !== undefined);
  const band = (line.band ?? []).filter(([, low]) => low !== null && low !== undefined);
  if (band.length > 1) {
    const there = band.map(([at, , high]) => `${px(at)},${py(high)}`);
    const back = band.map(([at, low]) => `${px(at)},${py(low)}`).reverse();
    root.append(svg("polygon", { points: [...there, ...back].join(" "), style: `fill: ${colour(line.index)}; opacity: .16` }));
  }
  const path = points.map(([at, value]) => `${px(at).toFixed(1)},${py(value).toFixed(1)}`).join(" ");
  root.append(svg("polyline", { class: line.faint ? "series faint" : "series", points: path, style: `stroke: ${colour(line.index)}` }));
  if (line.marks) root.append(...points.map(([at, value]) => marker(line.index, px(at), py(value))));
}

const tip = el("div", { class: "tip", hidden: true, "aria-hidden": "true" });
document.body.append(tip);

/** Beside the pointer, what the lines say there. */
function withReadout(root, { left, top, right, bottom, width, height, x, px, series }) {
  const cursor = svg("line", { class: "cursor", y1: top, y2: height - bottom, visibility: "hidden" });
  root.append(cursor);
  root.addEventListener("pointermove", (event) => {
    const box = root.getBoundingClientRect();
    const at = x.low + (((event.clientX - box.left) * (width / box.width) - left) / (width - left - right)) * (x.high - x.low);
    const near = series.map((line) => [line, nearest(line.points, at)]).filter(([, point]) => point);
    if (!near.length) return;
    const place = near.map(([, point]) => point[0]).reduce((a, b) => (Math.abs(b - at) < Math.abs(a - at) ? b : a));
    const here = near.filter(([, point]) => Math.abs(point[0] - place) <= (x.high - x.low) / 100);
    cursor.setAttribute("x1", px(place));
    cursor.setAttribute("x2", px(place));
    cursor.setAttribute("visibility", "visible");
    tip.replaceChildren(el("div", {}, `${x.name ?? x.label} ${brief(place)}`), legend(here.map(([line, point]) => [line.index, `${line.name} ${number(point[1])}`])));
    tip.hidden = false;
    tip.style.left = `${Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8)}px`;
  });
  root.addEventListener("pointerleave", () => {
    cursor.setAttribute("visibility", "hidden");
    tip.hidden = true;
  });
  return root;
}

function nearest(points, at) {
  let best = null;
  for (const point of points) {
    if (point[1] === null || point[1] === undefined) continue;
    if (!best || Math.abs(point[0] - at) < Math.abs(best[0] - at)) best = point;
  }
  return best;
}

/** A label that fits, or nothing. */
function shortened(text, pixels) {
  const fits = Math.floor(pixels / 6.6);
  if (text.length <= fits) return text;
  return fits < 4 ? "" : `${text.slice(0, fits - 1)}…`;
}

/** The limits of an axis over these numbers, with a little air. */
function limits(values, low = 0, high = 1) {
  const known = values.filter((value) => value !== null && value !== undefined);
  const least = Math.min(low, ...known), most = Math.max(high, ...known);
  return { low: least - (least < low ? (most - least) * 0.05 : 0), high: most + (most > high ? (most - least) * 0.05 : 0) };
}

/** The width of a card that shows a coloured table of so many columns in full. */
const heatWidth = (columns) => 220 + 76 * columns;

/**
 * A table whose cells are coloured. `cell(row, column)` gives {value, text?, strength: -1 to 1, now?, title?} or null.
 */
function heatTable(caption, corner, rows, columns, cell) {
  const paint = ({ strength, now, text, value, title }) => el("td", {
    class: [Math.abs(strength) > 0.55 && "strong", now && "now"].filter(Boolean).join(" "), title,
    style: `background: color-mix(in oklab, var(${strength < 0 ? "--bad" : "--accent"}) ${Math.round(Math.abs(strength) * 100)}%, var(--surface))`,
  }, text ?? number(value));
  return scrollable(caption, "heat",
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, corner), columns.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, rows.map((name, row) => el("tr", {}, el("th", { scope: "row" }, name),
      columns.map((_, column) => { const found = cell(row, column); return found ? paint(found) : el("td", {}, "–"); })))));
}

/** Points between two places: `at(share)` moves all of them. Places are pairs from 0 to 1000, flat. */
function movingPoints({ label, width, height, xLabel, yLabel, before, after, indexOf, extra = [] }) {
  const left = 22, bottom = 24, edge = 14;
  const px = (value) => left + edge + (value / 1000) * (width - left - 2 * edge);
  const py = (value) => height - bottom - edge - (value / 1000) * (height - bottom - 2 * edge);
  const root = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  root.append(svg("rect", { x: left, y: 1, width: width - left - 1, height: height - bottom - 1, fill: "none", class: "axis" }),
    svg("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, xLabel),
    svg("text", { transform: `translate(13 ${(height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, yLabel));
  for (const { at, index } of extra) {
    for (let i = 0; i < at.length; i += 2) {
      root.append(svg("circle", { cx: px(at[i]), cy: py(at[i + 1]), r: 3, style: `fill: none; stroke: ${colour(index(i / 2))}; opacity: .55` }));
    }
  }
  const nodes = Array.from({ length: before.length / 2 }, (_, i) => marker(indexOf(i), 0, 0, 3.4, { opacity: 0.8 }));
  root.append(...nodes);
  const at = (share) => nodes.forEach((node, i) => {
    const [bx, by, ax, ay] = [before[2 * i], before[2 * i + 1], after[2 * i], after[2 * i + 1]];
    node.setAttribute("transform", `translate(${px(bx + (ax - bx) * share).toFixed(1)} ${py(by + (ay - by) * share).toFixed(1)})`);
  });
  return { root, at };
}
