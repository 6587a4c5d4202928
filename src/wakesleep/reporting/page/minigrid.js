// Minigrid cells as small pictures: a packed cell holds type (4 bits), colour (3 bits) and state, as in worlds/minigrid/cells.py.

const GRID_COLOURS = ["#e5484d", "#30a46c", "#3e63dd", "#8e4ec6", "#e2b203", "#8b8d98"];
const KIND = { unseen: 0, empty: 1, wall: 2, floor: 3, door: 4, key: 5, ball: 6, box: 7, goal: 8, lava: 9, agent: 10 };
const KIND_NAMES = Object.keys(KIND);

const cellsOf = (text) => Array.from({ length: text.length / 3 }, (_, i) => parseInt(text.slice(3 * i, 3 * i + 3), 16));
const kindOf = (cell) => cell & 15;

function drawCell(pen, cell, x, y, size) {
  const kind = kindOf(cell), paint = GRID_COLOURS[(cell >> 4) & 7] ?? "#8b8d98", state = cell >> 7;
  pen.fillStyle = { [KIND.unseen]: "#2b2f36", [KIND.wall]: "#6b7078", [KIND.goal]: "#2f9e5f", [KIND.lava]: "#e8590c" }[kind] ?? "#0f1216";
  pen.fillRect(x, y, size, size);
  pen.strokeStyle = "#ffffff1f";
  pen.lineWidth = 1;
  pen.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
  pen.fillStyle = pen.strokeStyle = paint;
  pen.lineWidth = Math.max(1.5, size / 9);
  const cx = x + size / 2, cy = y + size / 2, s = size;
  pen.beginPath();
  if (kind === KIND.ball) { pen.arc(cx, cy, s * 0.32, 0, 7); pen.fill(); }
  else if (kind === KIND.box) pen.strokeRect(x + s * 0.22, y + s * 0.22, s * 0.56, s * 0.56);
  else if (kind === KIND.floor) pen.fillRect(x + s * 0.1, y + s * 0.1, s * 0.8, s * 0.8);
  else if (kind === KIND.key) {
    pen.arc(cx, y + s * 0.3, s * 0.16, 0, 7);
    pen.moveTo(cx, y + s * 0.46); pen.lineTo(cx, y + s * 0.86);
    pen.moveTo(cx, y + s * 0.68); pen.lineTo(cx - s * 0.18, y + s * 0.68);
    pen.moveTo(cx, y + s * 0.84); pen.lineTo(cx - s * 0.18, y + s * 0.84);
    pen.stroke();
  } else if (kind === KIND.door && state === 0) pen.fillRect(x + s * 0.82, y, s * 0.18, s);
  else if (kind === KIND.door) {
    if (state === 2) pen.fillRect(x + s * 0.08, y + s * 0.08, s * 0.84, s * 0.84);
    else pen.strokeRect(x + s * 0.12, y + s * 0.12, s * 0.76, s * 0.76);
    pen.fillStyle = state === 2 ? "#0f1216" : paint;
    pen.beginPath(); pen.arc(x + s * 0.72, cy, s * 0.09, 0, 7); pen.fill();
  } else if (kind === KIND.lava) {
    pen.strokeStyle = "#2b1206"; pen.lineWidth = 1;
    for (const row of [0.3, 0.55, 0.8]) {
      pen.moveTo(x + s * 0.1, y + s * row);
      pen.bezierCurveTo(x + s * 0.35, y + s * (row - 0.2), x + s * 0.6, y + s * (row + 0.2), x + s * 0.9, y + s * (row - 0.05));
    }
    pen.stroke();
  }
}

function drawAgent(pen, x, y, size, direction) {
  pen.save();
  pen.translate(x + size / 2, y + size / 2);
  pen.rotate((direction * Math.PI) / 2);
  pen.fillStyle = "#ff5c5c";
  pen.beginPath();
  pen.moveTo(size * 0.38, 0); pen.lineTo(-size * 0.32, size * 0.32); pen.lineTo(-size * 0.32, -size * 0.32);
  pen.fill();
  pen.restore();
}

/** A canvas of so many cells, sharp on any screen. */
function gridCanvas(columns, rows, size, label) {
  const scale = Math.min(3, window.devicePixelRatio || 1);
  const canvas = el("canvas", { width: columns * size * scale, height: rows * size * scale, role: "img", "aria-label": label, style: `width: ${columns * size}px` });
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  return { canvas, pen };
}

/** What the agent saw, 7 x 7 cells with itself below the middle, looking up. */
function viewPicture(text, label) {
  const cells = cellsOf(text), side = Math.round(Math.sqrt(cells.length)), size = 12;
  const things = [...new Set(cells.map(kindOf))].filter((kind) => kind > KIND.floor).map((kind) => KIND_NAMES[kind]);
  const { canvas, pen } = gridCanvas(side, side, size, `${label}: ${things.join(", ") || "nothing but floor and walls"}`);
  cells.forEach((cell, i) => drawCell(pen, cell, (i % side) * size, Math.floor(i / side) * size, size));
  if (kindOf(cells[side * (side - 1) + (side >> 1)]) <= KIND.empty) drawAgent(pen, (side >> 1) * size, (side - 1) * size, size, 3);
  return canvas;
}
