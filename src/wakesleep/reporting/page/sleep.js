// What happened asleep, and how the final policy plays: of the lifetimes that are shown in detail.

const TERMS = ["imitation", "reconstruction", "kl"];
const REPLAYS = { experience: "experience (ER)", generative: "generated (GR)", random: "random (RaR)" };
const PICTURES = {
  seen: "Seen", seen_again: "Seen, reconstructed", dream: "Dreamed", dream_refined: "Dreamed, passed through the VAE three more times",
};

/** The lifetimes that the filters and a test leave. */
function lifeOptions(data, view, test) {
  return data.lives.map((life, i) => ({ life, i })).filter(({ life }) => view.showsLife(life) && test(life));
}

/** A label with a list of lifetimes; the chosen one is remembered under `key`. */
function lifePicker(view, key, options, redraw) {
  const chosen = options.find(({ life }) => life.name === view.state.life[key]) ?? options[0];
  const select = el("select", { id: `life-${key}`, change: () => { view.state.life[key] = select.value; redraw(); } },
    options.map(({ life }) => el("option", { value: life.name, selected: life === chosen.life }, `${life.name} (${life.agent}, ${life.scenario})`)));
  return { chosen: chosen.life, node: el("label", {}, "Lifetime", select) };
}

function sleepSection(data, view) {
  const options = lifeOptions(data, view, (life) => life.sleeps.length);
  if (!options.length) return [el("p", {}, "No lifetime that is shown in detail has slept.")];
  const { chosen, node } = lifePicker(view, "sleep", options, () => view.draw("sleep"));
  const state = view.state, sleeps = chosen.sleeps;
  state.sleep = Math.min(state.sleep, sleeps.length - 1);
  const place = el("div"), words = el("output", { for: "sleep-number" });
  const show = () => {
    const sleep = sleeps[state.sleep];
    words.textContent = `${state.sleep + 1} of ${sleeps.length}, after ${sleep.task}`;
    place.replaceChildren(cards(view, [
      (width) => driftCard(data, view, chosen, sleep, width),
      (width) => el("div", { class: "stack" }, lossCard(sleep, width), agreementCard(chosen)),
    ], (make, width) => make(width)));
  };
  const slider = el("input", { type: "range", id: "sleep-number", min: 1, max: sleeps.length, value: state.sleep + 1, "aria-label": "Number of the sleep",
    input: () => { state.sleep = slider.value - 1; show(); } });
  show();
  return [el("div", { class: "controls" }, node, el("label", {}, "Sleep", slider, words)), place];
}

/** Features before and after the sleep; a slider moves them from one to the other. */
function driftCard(data, view, life, sleep, width) {
  if (!sleep.points) return el("div", { class: "card" }, el("h3", {}, "Features"), el("p", {}, "This sleep left no features to look at."));
  const state = view.state, { points, probes } = sleep;
  const taskIndex = probes.map(({ task }) => { const known = data.tasks.indexOf(task); return known < 0 ? 9 : known; });
  const actions = [...new Set([...points.action, ...Object.values(sleep.dreams).flatMap((dream) => dream.action)])].sort((a, b) => a - b);
  const byTask = state.colour === "task";
  const dreamed = state.dreams && sleep.dreams.dreamed_after;
  const chart = movingPoints({
    label: `Features of ${plural(points.task.length, "observation")} in two principal components, before and after this sleep`,
    width, height: Math.min(380, width * 0.8), before: points.before, after: points.after,
    xLabel: `first component (${Math.round(100 * sleep.explained[0])} % of the variance)`, yLabel: `second (${Math.round(100 * sleep.explained[1])} %)`,
    indexOf: (i) => (byTask ? taskIndex[points.task[i]] : points.action[i]),
    extra: dreamed ? [{ at: dreamed.at, index: (i) => (byTask ? 9 : dreamed.action[i]) }] : [],
  });
  const words = el("output", { for: "drift" });
  const move = (share) => {
    state.drift = share;
    slider.value = Math.round(share * 100);
    words.textContent = share === 0 ? "shown: before" : share === 1 ? "shown: after" : `shown: ${Math.round(share * 100)} % of the way`;
    chart.at(share);
  };
  const slider = el("input", { type: "range", id: "drift", min: 0, max: 100, "aria-label": "From before to after the sleep", input: () => move(slider.value / 100) });
  const play = el("button", { type: "button", id: "drift-play", click: () => animate(1200, move) }, "Play");
  const redraw = () => view.draw("sleep");
  move(state.drift);
  return el("figure", { class: "card" }, el("h3", {}, "Drift of features"),
    el("div", { class: "controls" },
      el("label", {}, "before", slider, "after"), play, words,
      choice("Colour by", "colour", [["task", "task"], ["action", "action"]], state.colour, (value) => { state.colour = value; redraw(); }),
      el("label", {}, el("input", { type: "checkbox", id: "show-dreams", checked: state.dreams, change: (event) => { state.dreams = event.target.checked; redraw(); } }), "dreams")),
    legend(byTask ? probes.map(({ task }, i) => [taskIndex[i], task]) : actions.map((action) => [action, life.actions?.[action] ?? `action ${action}`])),
    chart.root,
    el("figcaption", { class: "quiet" }, "Real observations of this and of earlier tasks. The axes are the principal components after the sleep. Rings are what the generator dreams now."),
    el("p", { class: "quiet" }, "Drift: how far features moved, in units of their spread. Agreement: how often the policy's likeliest action is the one that was taken."),
    table("Drift and agreement", ["task", "observations", "drift", "agrees before", "agrees after"],
      probes.map((row) => [row.task, count(row.count), number(row.drift), number(row.agrees_before), number(row.agrees_after)])));
}

function animate(milliseconds, move) {
  const begin = performance.now();
  const frame = (now) => {
    const share = Math.min(1, Math.max(0, (now - begin) / milliseconds));
    move(share);
    if (share < 1) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

function lossCard(sleep, width) {
  const kinds = Object.keys(sleep.losses);
  if (!kinds.length) return el("div", { class: "card" }, el("h3", {}, "Losses"), el("p", {}, "This sleep left no losses."));
  const charts = TERMS.filter((term) => kinds.some((kind) => sleep.losses[kind][term])).map((term) => {
    const lines = kinds.map((kind, index) => ({ kind, index, values: sleep.losses[kind][term] ?? [] })).filter(({ values }) => values.length);
    const end = sleep.iterations ?? lines[0].values.length;
    return lineChart({ label: `Loss term ${term} through this sleep; the numbers are in the table below`, width, height: 170,
      x: { low: 0, high: end, label: "iterations", name: "iteration" }, y: { ...limits(lines.flatMap(({ values }) => values), 0, 1e-3), label: term },
      series: lines.map(({ kind, index, values }) => ({ name: REPLAYS[kind] ?? kind, index, points: values.map((y, i) => [((i + 0.5) / values.length) * end, y]) })) });
  });
  const rows = kinds.flatMap((kind) => TERMS.filter((term) => sleep.losses[kind][term]).map((term) => {
    const values = sleep.losses[kind][term];
    return [`${REPLAYS[kind] ?? kind}, ${term}`, number(values[0], 3), number(values[values.length >> 1], 3), number(values.at(-1), 3)];
  }));
  return el("figure", { class: "card" }, el("h3", {}, "Losses"), legend(kinds.map((kind, index) => [index, REPLAYS[kind] ?? kind])), charts,
    more("losses", "Numbers", () => table("Losses of this sleep", ["replay, term", "first", "middle", "last"], rows)));
}

/** Over all sleeps of the lifetime: does the policy still agree with what was done in each task? */
function agreementCard(life) {
  const tasks = [...new Set(life.sleeps.flatMap((sleep) => (sleep.probes ?? []).map((row) => row.task)))];
  if (!tasks.length) return el("div", { class: "card" }, el("h3", {}, "Agreement"), el("p", {}, "These sleeps left nothing to compare."));
  return el("div", { class: "card" }, el("h3", {}, "Agreement with what was done, sleep after sleep"),
    el("p", { class: "quiet" }, "Share of observations in which the sleep policy's likeliest action is the one that was taken."),
    heatTable("Agreement after each sleep", "task", tasks,
      life.sleeps.map((sleep, i) => `${i + 1}. ${sleep.task}`), (row, column) => {
        const found = life.sleeps[column].probes?.find(({ task }) => task === tasks[row]);
        return found ? { value: found.agrees_after, strength: found.agrees_after, now: life.sleeps[column].task === tasks[row], title: `before: ${number(found.agrees_before)}` } : null;
      }));
}

/** What the generator reconstructs and dreams, where it dreams of observations. */
function dreamSection(data, view) {
  const options = lifeOptions(data, view, (life) => life.sleeps.some((sleep) => Object.keys(sleep.pictures).length));
  if (!options.length) return [el("p", {}, "No lifetime that is shown in detail dreams of observations. Hidden replay dreams of features, which have no looks.")];
  const { chosen, node } = lifePicker(view, "dream", options, () => view.draw("dreams"));
  const sleeps = chosen.sleeps.filter((sleep) => Object.keys(sleep.pictures).length);
  view.state.dream = Math.min(view.state.dream, sleeps.length - 1);
  const place = el("div"), words = el("output", { for: "dream-number" });
  const show = () => {
    const sleep = sleeps[view.state.dream];
    words.textContent = `${view.state.dream + 1} of ${sleeps.length}, after ${sleep.task}`;
    place.replaceChildren(cards(view, Object.entries(PICTURES).filter(([kind]) => sleep.pictures[kind]), ([kind, title]) =>
      el("figure", { class: "card" }, el("h3", {}, title),
        el("div", { class: "pictures" }, sleep.pictures[kind].map((text, i) => viewPicture(text, `${title}, ${i + 1}`))))));
  };
  const slider = el("input", { type: "range", id: "dream-number", min: 1, max: sleeps.length, value: view.state.dream + 1, "aria-label": "Number of the sleep",
    input: () => { view.state.dream = slider.value - 1; show(); } });
  show();
  return [el("p", { class: "quiet" }, "What the agent sees is drawn with the agent below the middle, looking up; dark grey is out of sight. Each reconstruction stands at the place of what was seen."),
    el("div", { class: "controls" }, node, el("label", {}, "Sleep", slider, words)), place];
}

/** One episode of every task. */
function episodeSection(data, view) {
  const options = lifeOptions(data, view, (life) => Object.keys(life.episodes).length);
  if (!options.length) return [el("p", {}, "No lifetime that is shown in detail is finished: the final policy plays at the end.")];
  const { chosen, node } = lifePicker(view, "episode", options, () => view.draw("episodes"));
  const shown = Object.entries(chosen.episodes).filter(([task]) => view.has("tasks", task));
  return [el("p", { class: "quiet" }, "The final policy in the first layout of the lifetime's evaluations, actions sampled as they are there."),
    el("div", { class: "controls" }, node), cards(view, shown, ([task, episode], width) => episodeCard(task, episode, width))];
}

function episodeCard(task, episode, width) {
  const steps = episode.actions.length, words = el("output", {}), id = `step-${task}`;
  const title = `${task}: return ${number(episode.return)} in ${plural(steps, "step")}${episode.ended ? ` (${episode.ended})` : ""}`;
  const stage = episode.grid ? gridStage(task, episode, width) : episode.strip ? stripStage(task, episode) : null;
  if (!stage) return el("figure", { class: "card episode" }, el("h3", {}, title), el("p", {}, "This world cannot be drawn."));
  const show = (step) => {
    slider.value = step;
    words.textContent = step ? `step ${step}: ${episode.actions[step - 1]}` : "start";
    stage.show(step);
  };
  let timer = null;
  const stop = () => { clearInterval(timer); timer = null; play.textContent = "Play"; };
  const play = el("button", { type: "button", id: `play-${task}`, "aria-label": `Play the episode in ${task}`, click: () => {
    if (timer) return stop();
    if (+slider.value === steps) show(0);
    play.textContent = "Pause";
    timer = setInterval(() => {
      if (+slider.value >= steps || !slider.isConnected) stop(); else show(+slider.value + 1);
    }, 180);
  } }, "Play");
  const slider = el("input", { type: "range", id, min: 0, max: steps, value: 0, "aria-label": `Step of the episode in ${task}`, input: () => { stop(); show(+slider.value); } });
  show(0);
  return el("figure", { class: "card episode" }, el("h3", {}, title), stage.canvas, el("div", { class: "controls" }, play, slider, words),
    more(`actions-${task}`, "Actions in words", () => el("p", { class: "quiet" }, episode.actions.join(", "))));
}

function gridStage(task, episode, width) {
  const start = cellsOf(episode.grid), columns = episode.width, rows = start.length / columns;
  const size = Math.max(12, Math.min(26, Math.floor(width / columns)));
  const { canvas, pen } = gridCanvas(columns, rows, size, `Episode in ${task}`);
  const show = (step) => {
    const cells = [...start];
    for (const changes of episode.changes.slice(0, step + 1)) for (const [at, cell] of changes) cells[at] = cell;
    cells.forEach((cell, i) => drawCell(pen, cell, (i % columns) * size, Math.floor(i / columns) * size, size));
    const [x, y, direction] = episode.agent[step];
    drawAgent(pen, x * size, y * size, size, direction);
  };
  return { canvas, show };
}

function stripStage(task, episode) {
  const picture = new Image();
  const canvas = el("canvas", { width: 160, height: episode.height, role: "img", "aria-label": `Episode in ${task}` });
  let wanted = 0;
  const show = (step) => {
    wanted = episode.moments.findLastIndex((moment) => moment <= step);
    if (picture.complete) canvas.getContext("2d").drawImage(picture, 0, -wanted * episode.height);
  };
  picture.addEventListener("load", () => show(episode.moments[wanted]));
  picture.src = episode.strip;
  return { canvas, show };
}
