// The sections that logs alone fill: summary, evaluation blocks, learning curves, forgetting, transfer.

const SHOWN_AT_FIRST = 12;

/** The summary table of each scenario, with marks and intervals; then everything else that statistics say. */
function summarySection(data, view) {
  const names = Object.keys(data.metrics);
  const shown = data.summaries.filter((one) => view.has("scenarios", one.scenario));
  if (!shown.length) return [el("p", {}, "No lifetime that is shown is finished yet: metrics wait for the last evaluation block.")];
  return [
    el("p", { class: "quiet" }, "Means over lifetimes ± half of the 95 % confidence interval (Student's t). ",
      "• significantly better and ∘ significantly worse than the baseline (Kruskal-Wallis, then Dunn with Bonferroni, 0.05). Higher is better. "),
    shown.map((one) => [
      el("div", { class: "card" }, summaryTable(data, view, one, names),
        one.notes.map((note) => el("p", { class: "quiet" }, note)),
        more(`statistics-${one.scenario}`, "All statistics: intervals, bootstrap, interquartile mean, p",
          () => statisticsTable(data, view, one, names))),
    ]),
  ];
}

function summaryTable(data, view, one, names) {
  const rows = [];
  for (const agent of one.agents.filter((row) => view.has("agents", row.agent))) {
    const cells = names.map((name) => metricCell(agent.metrics[name], agent.lifetimes));
    const { learning_steps: steps, parameters, replay_bytes: bytes } = agent.budget;
    const size = bytes === null ? "–" : `${number(bytes / 1e6)} MB`;
    rows.push([agent.agent, count(agent.lifetimes), ...cells, count(steps), count(parameters), size]);
    if (agent.paper) {
      const theirs = names.map((name) => paperCell(agent.paper.metrics[name]));
      rows.push([`${PAPER}${agent.paper.name}`, count(agent.paper.lifetimes), ...theirs, "", "", ""]);
    }
  }
  const node = table(`${one.scenario || "lifetimes"}${one.baseline ? `, baseline: ${one.baseline}` : ", no baseline: nothing is marked"}`,
    ["agent", "lifetimes", ...metricHeads(data), "steps", "parameters", "replay"], rows);
  node.querySelectorAll("tbody tr").forEach((row) => row.firstChild.textContent.startsWith(PAPER) && row.classList.add("paper"));
  return node;
}

/** The titles of the metrics with their units; the explanation is the tooltip. */
function metricHeads(data) {
  return Object.values(data.metrics).map(({ title, about, unit }) => [el("abbr", { title: about }, title), unit && el("span", { class: "unit" }, ` ${unit}`)]);
}

const spread = (mean, half) => number(mean) + (half === null || half === undefined ? "" : ` ± ${number(half)}`);
const MARK_NAMES = { "•": "better than the baseline", "∘": "worse than the baseline" };

const PAPER = "paper: ";
const markOf = (found) => found.mark && el("span", { class: "mark", role: "img", "aria-label": MARK_NAMES[found.mark] }, ` ${found.mark}`);

function metricCell(found, lifetimes) {
  if (!found) return "–";
  const half = found.interval ? (found.interval[1] - found.interval[0]) / 2 : null;
  return el("span", {}, spread(found.mean, half), found.lifetimes === lifetimes ? "" : ` (of ${found.lifetimes})`, markOf(found));
}

const paperCell = (found) => (found ? el("span", {}, spread(found.mean, found.spread), markOf(found)) : "–");

function statisticsTable(data, view, one, names) {
  const pair = (interval) => interval ? `${number(interval[0])} to ${number(interval[1])}` : "–";
  const rows = one.agents.filter((row) => view.has("agents", row.agent)).flatMap((agent) => names.filter((name) => agent.metrics[name]).map((name) => {
    const found = agent.metrics[name];
    return [`${agent.agent}, ${data.metrics[name].title}`, count(found.lifetimes), number(found.mean, 3), pair(found.interval), pair(found.bootstrap),
      number(found.iqm, 3), number(found.deviation, 3), number(found.kruskal_p, 4), number(found.dunn_p, 4)];
  }));
  return table(`Statistics, ${one.scenario}`, ["agent, metric", "lifetimes", "mean", "95 % (t)", "95 % (bootstrap)", "IQM", "deviation", "Kruskal-Wallis p", "Dunn p"], rows);
}

/** Cards, one per group; the first dozen unless all are asked for. `needed`: the least width of a group's card. */
function groupCards(data, view, key, make, needed = () => 0) {
  const shown = data.groups.filter((group) => view.showsGroup(group));
  if (!shown.length) return [el("p", {}, "No lifetime that is shown has anything here.")];
  const all = view.state.all.has(key) ? shown : shown.slice(0, SHOWN_AT_FIRST);
  const rest = shown.length - all.length;
  return [
    cards(view, all, (group, width) => el("figure", { class: "card" }, el("h3", {}, groupTitle(data, group)), make(group, width)), Math.max(...all.map(needed))),
    rest > 0 && el("p", {}, el("button", { type: "button", id: `all-${key}`, click: () => { view.state.all.add(key); view.draw(); } }, `Show ${rest} more`)),
  ];
}

function groupTitle(data, group) {
  const order = group.blocks.map((block) => block.task);
  const words = order.length > 4 ? `${order.slice(0, 3).join(" → ")} → … (${order.length} blocks)` : order.join(" → ");
  const who = group.lives.length === 1 ? data.lives[group.lives[0]].name : plural(group.lives.length, "lifetime");
  return `${group.agent} · ${group.scenario} · ${words} · ${who}${group.finished ? "" : ", under way"}`;
}

const groupKey = (kind, group) => `${kind}-${group.agent}-${group.scenario}-${group.lives[0]}`;

/** Where blocks begin and end along the axis of a group. */
function blockEdges(group) {
  const edges = [0];
  for (const block of group.blocks) edges.push(edges[edges.length - 1] + block.size);
  return edges;
}

function regionsOf(data, group, edges) {
  return group.blocks.map((block, i) => ({ from: edges[i], to: edges[i + 1], index: data.tasks.indexOf(block.task), label: block.task }));
}

/** The zig-zag figures: returns of each task in every evaluation block. */
function evaluationSection(data, view) {
  const shown = (group) => Object.keys(group.returns).filter((task) => view.has("tasks", task));
  const draw = (group, width) => {
    const edges = blockEdges(group), at = group.evaluations.map((before) => edges[before]), tasks = shown(group);
    const lines = tasks.flatMap((task) => {
      const { mean, low, high, each } = group.returns[task], index = data.tasks.indexOf(task);
      const own = each.length > 1 ? each.map((row) => ({ name: task, index, faint: true, points: row.map((y, i) => [at[i], y]) })) : [];
      return [...own, { name: task, index, marks: true, points: mean.map((y, i) => [at[i], y]), band: low?.map((y, i) => [at[i], y, high[i]]) }];
    });
    const values = tasks.flatMap((task) => [...group.returns[task].mean, ...group.returns[task].each.flat()]);
    return [
      lineChart({ label: `${groupTitle(data, group)}: mean returns in ${group.evaluations.length} evaluation blocks; the numbers are in the table below`,
        width, x: { low: 0, high: edges.at(-1), label: `${group.unit} of learning before the evaluation`, name: `after ${group.unit}` },
        y: { ...limits(values), label: "return" }, regions: regionsOf(data, group, edges), series: lines }),
      more(groupKey("eb", group), "Numbers", () => table("Mean returns in evaluation blocks", ["task", ...group.evaluations.map(evaluationName(group))],
        tasks.map((task) => [task, ...group.returns[task].mean.map((y, i) => spread(y, group.returns[task].low?.[i] == null ? null : y - group.returns[task].low[i]))]))),
    ];
  };
  return [
    el("p", { class: "quiet" }, "Every point is an evaluation block of the frozen policy. The background tells which task was being learned between two of them. ",
      "Thin lines are single lifetimes, bands 95 % confidence over lifetimes."),
    taskLegend(data, view), groupCards(data, view, "evaluations", draw),
  ];
}

const evaluationName = (group) => (before) => (before ? `after ${before}. ${group.blocks[before - 1]?.task ?? ""}` : "before learning");

function taskLegend(data, view) {
  return legend(data.tasks.map((task, index) => [index, task]).filter(([, task]) => view.has("tasks", task)));
}

/** Returns while learning, block after block, with the expert's level. */
function learningSection(data, view) {
  const draw = (group, width) => {
    const edges = blockEdges(group);
    const chosen = group.blocks.map((block, i) => ({ ...block, i })).filter((block) => view.has("tasks", block.task) && block.mean.length);
    if (!chosen.length) return el("p", { class: "quiet" }, "None of the tasks shown was learned.");
    const at = (i, bin) => edges[i] + ((bin + 0.5) / group.points) * (edges[i + 1] - edges[i]);
    const lines = chosen.map(({ task, mean, low, high, i }) => ({ name: task, index: data.tasks.indexOf(task),
      points: mean.map((y, bin) => [at(i, bin), y]), band: low?.map((y, bin) => [at(i, bin), y, high[bin]]) }));
    const levels = chosen.filter(({ task }) => task in data.experts).map(({ task, i }) => ({ from: edges[i], to: edges[i + 1], y: data.experts[task], index: data.tasks.indexOf(task) }));
    const values = [...chosen.flatMap((block) => block.mean), ...levels.map((level) => level.y)];
    return [
      lineChart({ label: `${groupTitle(data, group)}: returns while learning; the numbers are in the table below`, width,
        x: { low: 0, high: edges.at(-1), label: `${group.unit} of learning`, name: group.unit }, y: { ...limits(values), label: "return" },
        regions: regionsOf(data, group, edges), levels, series: lines }),
      more(groupKey("learning", group), "Numbers", () => learningTable(data, chosen)),
    ];
  };
  const words = Object.keys(data.experts).length ? "Dashed: what the task's experts achieve (R*)." : "Give --experts to see what the tasks' experts achieve.";
  return [el("p", { class: "quiet" }, `Mean returns of finished episodes while the agent learns, exploring as it does. ${words}`),
    taskLegend(data, view), groupCards(data, view, "learning", draw)];
}

function learningTable(data, blocks) {
  const tenth = (mean, from, to) => {
    const part = mean.slice(Math.floor(from * mean.length), Math.max(Math.floor(to * mean.length), Math.floor(from * mean.length) + 1)).filter((y) => y !== null);
    return part.length ? part.reduce((a, b) => a + b) / part.length : null;
  };
  return table("Returns while learning", ["block", "first tenth", "middle tenth", "last tenth", "best stretch", "expert"],
    blocks.map(({ task, mean, i }) => [`${i + 1}. ${task}`, number(tenth(mean, 0, 0.1)), number(tenth(mean, 0.45, 0.55)), number(tenth(mean, 0.9, 1)),
      number(Math.max(...mean.filter((y) => y !== null))), number(data.experts[task])]));
}

/** Task by evaluation block: the picture of forgetting. */
function forgettingSection(data, view) {
  const groups = data.groups.filter((group) => view.showsGroup(group));
  const values = groups.flatMap((group) => Object.values(group.returns).flatMap(({ mean }) => mean)).filter((y) => y !== null);
  const low = Math.min(0, ...values), high = Math.max(...values, low + 1e-9);
  const draw = (group) => {
    const tasks = Object.keys(group.returns).filter((task) => view.has("tasks", task));
    return heatTable("Mean return", "task", tasks, group.evaluations.map(evaluationName(group)), (row, column) => {
      const value = group.returns[tasks[row]].mean[column];
      if (value === null) return null;
      return { value, strength: (value - low) / (high - low), now: group.blocks[group.evaluations[column] - 1]?.task === tasks[row] };
    });
  };
  return [el("p", { class: "quiet" }, `A task whose row is strong in the framed cell, where it was just learned, and fades to the right of it, was forgotten. Colours run from ${number(low)} to ${number(high)}.`),
    groupCards(data, view, "forgetting", draw, (group) => heatWidth(group.evaluations.length))];
}

/** Forward and backward transfer between tasks. */
function transferSection(data, view) {
  const method = view.state.method;
  const shown = data.transfers.filter((one) => view.has("agents", one.agent) && view.has("scenarios", one.scenario)).map((one) =>
    ({ ...one, matrices: ["forward", "backward"].map((direction) => transferMatrix(view, one, direction, method)).filter(Boolean) })).filter(({ matrices }) => matrices.length);
  return [
    el("p", { class: "quiet" }, "What learning the task of the row did to the return of the task of the column, evaluated before and after, as l2metrics prepares it. ",
      "Ratio: above 1 it helped. Contrast: above 0 it helped. Means over lifetimes; in each the first time counts."),
    el("div", { class: "controls" }, choice("Show", "method", [["ratio", "ratio"], ["contrast", "contrast"]], method, (value) => { view.state.method = value; view.draw("transfer"); })),
    shown.length ? cards(view, shown, ({ agent, scenario, matrices }) => el("div", { class: "card stack" }, el("h3", {}, `${agent} · ${scenario}`), matrices), heatWidth(Math.max(...shown.map(({ forward, backward }) => new Set([...forward, ...backward].map((pair) => pair.evaluated)).size)))) : el("p", {}, "No finished lifetime that is shown has evaluations before and after the learning of another task."),
  ];
}

function transferMatrix(view, one, direction, method) {
  const pairs = one[direction].filter((pair) => view.has("tasks", pair.learned) && view.has("tasks", pair.evaluated));
  if (!pairs.length) return null;
  const rows = [...new Set(pairs.map((pair) => pair.learned))], columns = [...new Set(pairs.map((pair) => pair.evaluated))];
  const name = direction === "forward" ? "Forward transfer (FT)" : "Backward transfer (BT)";
  return heatTable(`${name}, ${method}`, "learned ↓ evaluated →", rows, columns, (row, column) => {
    const found = pairs.find((pair) => pair.learned === rows[row] && pair.evaluated === columns[column]);
    if (!found || found[method] === null) return null;
    return { value: found[method], strength: Math.max(-1, Math.min(1, found.contrast ?? 0)), title: plural(found.lifetimes, "lifetime") };
  });
}
