// The page: filters and sections, drawn again when something changes, and polling for lifetimes that run.

const POLL_MILLISECONDS = 3000;
const SILENT_SECONDS = 300;
const ofLives = (data, ...names) => data.lives.map((life) => names.map((name) => life[name]));
/** `uses`: what of the data a section shows; it is drawn anew when that changes. */
const SECTIONS = [
  { id: "running", title: "Under way", make: runningSection, uses: (d) => ofLives(d, "name", "finished", "progress", "readable"), shown: (d) => d.lives.some((life) => !life.finished) },
  { id: "summary", title: "Summary", make: summarySection, uses: (d) => d.summaries },
  { id: "evaluations", title: "Evaluation blocks", make: evaluationSection, uses: (d) => [d.groups, d.tasks] },
  { id: "learning", title: "Learning curves", make: learningSection, uses: (d) => [d.groups, d.tasks] },
  { id: "forgetting", title: "Forgetting", make: forgettingSection, uses: (d) => d.groups },
  { id: "transfer", title: "Transfer", make: transferSection, uses: (d) => d.transfers },
  { id: "sleep", title: "Sleep", make: sleepSection, uses: (d) => ofLives(d, "name", "sleeps") },
  { id: "dreams", title: "Reconstructions and dreams", make: dreamSection, uses: (d) => ofLives(d, "name", "sleeps") },
  { id: "episodes", title: "Episodes", make: episodeSection, uses: (d) => ofLives(d, "name", "episodes") },
  { id: "lifetimes", title: "Lifetimes and budgets", make: lifetimeSection, uses: (d) => ofLives(d, "name", "finished", "summary", "metrics", "learning_steps") },
  { id: "configurations", title: "Configurations", make: configurationSection, uses: (d) => [d.configs, ofLives(d, "name", "config")] },
];

let data = JSON.parse(document.getElementById("data").textContent);

const view = {
  state: { off: { agents: new Set(), scenarios: new Set(), tasks: new Set() }, all: new Set(), life: {}, sleep: 0, dream: 0, drift: 1, colour: "task", dreams: true, method: "ratio" },
  available: 400,
  /** The width inside a card where cards stand in so many columns. */
  widthOf: (columns) => Math.max(260, Math.floor((view.available - 40 - 16 * (columns - 1)) / columns - 36)),
  has: (kind, name) => !view.state.off[kind].has(name),
  showsGroup: (group) => view.has("agents", group.agent) && view.has("scenarios", group.scenario) && [...Object.keys(group.returns), ...group.blocks.map((block) => block.task)].some((task) => view.has("tasks", task)),
  showsLife: (life) => view.has("agents", life.agent) && view.has("scenarios", life.scenario) && (!life.tasks.length || life.tasks.some((task) => view.has("tasks", task))),
  draw,
};

function runningSection(data, view) {
  const lives = data.lives.filter((life) => !life.finished && view.showsLife(life));
  return [cards(view, lives, (life) => {
    const { part, words, seconds, seen } = life.progress;
    const silent = seen ? Date.now() / 1000 - seen : null;
    const left = part ? (seconds * (1 - part)) / part : null;
    return el("div", { class: "card" }, el("h3", {}, `${life.name} · ${life.agent} · ${life.scenario}`),
      part === undefined ? el("p", {}, life.readable ? "It does not say how far it is." : "It has only begun.") : [
        el("progress", { max: 1, value: part, "aria-label": `Progress of ${life.name}` }),
        el("p", { class: "quiet" }, `${Math.round(part * 100)} %, ${words}. Running for ${duration(seconds)}, about ${duration(left)} left.`)],
      silent > SILENT_SECONDS && el("p", {}, `No sign of life for ${duration(silent)}: if it was interrupted, `, el("code", {}, "wakesleep resume"), " goes on with it."));
  })];
}

function lifetimeSection(data, view) {
  const names = Object.keys(data.metrics), shown = data.lives.filter(view.showsLife);
  const rows = shown.map((life) => [life.name, el("span", { class: "words" }, life.agent), life.scenario, life.seed ?? "–", life.finished ? (life.readable ? "finished" : "no log") : life.readable ? "under way" : "begun",
    ...names.map((name) => number(life.metrics?.[name])), count(life.learning_steps), count(life.summary.environment_steps), count(life.summary.parameters),
    life.summary.replay_bytes === undefined ? "–" : `${number(life.summary.replay_bytes / 1e6)} MB`, duration(life.summary.seconds)]);
  return [el("p", { class: "quiet" }, "What each lifetime achieved and what it took: environment steps of learning and in all (with evaluations), parameters of all networks, memory of all replay buffers, time."),
    el("div", { class: "card" }, table("Lifetimes", ["lifetime", "agent", "scenario", "seed", "state", ...metricHeads(data), "learning steps", "all steps", "parameters", "replay", "time"], rows))];
}

function configurationSection(data, view) {
  const shown = data.configs.map((config, i) => ({ config, lives: data.lives.filter((life) => life.config === i && view.showsLife(life)) })).filter(({ lives }) => lives.length);
  if (!shown.length) return [el("p", {}, "None of these logs tells its settings.")];
  return [cards(view, shown, ({ config, lives }) => {
    const overrides = Object.entries(config.overrides ?? {}).map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join(", ");
    return el("div", { class: "card" }, el("h3", {}, `${config.agent ?? "agent"}, preset ${config.preset ?? "–"} · ${plural(lives.length, "lifetime")}`),
      overrides ? el("p", {}, `Overrides: ${overrides}`) : null,
      el("p", { class: "quiet" }, Object.entries(config.versions ?? {}).map(([name, version]) => `${name} ${version}`).join(", ")),
      more(`config-${lives[0].name}`, "All settings", () => el("pre", { tabindex: 0 }, JSON.stringify(config.settings, null, 2))));
  })];
}

/** Filters: everything is shown until something is switched off. */
function drawFilters() {
  const form = document.getElementById("filters");
  const key = JSON.stringify([data.agents, data.scenarios, data.tasks]);
  if (form.dataset.key === key) return;
  form.dataset.key = key;
  const group = (kind, title, names) => el("fieldset", {}, el("legend", {}, title), el("div", { class: "chips" }, names.map((name) =>
    el("label", { class: "chip" }, el("input", { type: "checkbox", name: kind, value: name, checked: view.has(kind, name), change: (event) => {
      if (event.target.checked) view.state.off[kind].delete(name); else view.state.off[kind].add(name);
      draw();
    } }), kind === "tasks" && swatch(data.tasks.indexOf(name)), name || "unnamed"))));
  form.replaceChildren(group("agents", "Agents", data.agents), group("scenarios", "Scenarios", data.scenarios), group("tasks", "Tasks", data.tasks));
}

function drawHead() {
  const running = data.lives.filter((life) => !life.finished).length;
  document.getElementById("about").textContent = `${plural(data.lives.length, "lifetime")}${running ? `, ${count(running)} under way` : ""}, ${plural(data.agents.length, "agent")}, ${plural(data.tasks.length, "task")}. `
    + `Made ${new Date(data.made).toLocaleString()} by wakesleep ${data.version}.`;
  document.getElementById("contents").replaceChildren(...visibleSections().map(({ id, title }) => el("li", {}, el("a", { href: `#${id}` }, title))));
  document.getElementById("footer").textContent = data.details < data.lives.length
    ? `Sleeps and episodes are shown of ${data.details} of ${data.lives.length} lifetimes (--details).` : "";
}

const visibleSections = () => SECTIONS.filter((section) => !section.shown || section.shown(data));

/** Draw the sections named, or all; the reader's place and focus stay. */
function draw(...only) {
  const main = document.getElementById("main"), focused = document.activeElement?.id, scroll = window.scrollY;
  view.available = main.clientWidth;
  drawHead();
  const sections = visibleSections();
  for (const { id, title, make } of sections) {
    const old = document.getElementById(id);
    if (old && only.length && !only.includes(id)) continue;
    const node = el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), make(data, view));
    if (old) old.replaceWith(node); else main.append(node);
  }
  document.getElementById("problems")?.remove();
  if (data.problems.length) main.prepend(el("section", { id: "problems", class: "card notice", "aria-labelledby": "problems-title" },
    el("h2", { id: "problems-title" }, "What to know first"), el("ul", {}, data.problems.map((problem) => el("li", {}, problem)))));
  const order = sections.map(({ id }) => document.getElementById(id));
  if (order.some((node, i) => i && !(order[i - 1].compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING))) main.append(...order);
  for (const node of main.querySelectorAll(":scope > section")) if (node.id !== "problems" && !order.includes(node)) node.remove();
  if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus({ preventScroll: true });
  window.scrollTo(0, scroll);
}

/** Ask the server what is new. Data that did not change draws nothing. */
async function follow() {
  const status = document.getElementById("live");
  let last = null;
  for (;;) {
    try {
      const answer = await fetch("data.json", { cache: "no-cache" });
      if (!answer.ok) throw new Error(await answer.text());
      const text = await answer.text();
      const content = text.replace(/"made": ?"[^"]*"/, "");
      if (content !== last) {
        const before = data;
        data = JSON.parse(text);
        const changed = SECTIONS.filter(({ uses }) => JSON.stringify(uses(before)) !== JSON.stringify(uses(data)));
        drawFilters();
        draw("problems", ...changed.map(({ id }) => id));
        last = content;
      }
      status.textContent = "Live: this page follows the lifetimes as they run.";
    } catch (error) {
      status.textContent = `Not live any more: ${error.message === "Failed to fetch" ? "the server has stopped" : error.message}.`;
    }
    await new Promise((done) => setTimeout(done, POLL_MILLISECONDS));
  }
}

/** Tables show at which edge they go on: after they were drawn, scrolled or resized. */
function watchOverflow() {
  const main = document.getElementById("main");
  let asked = false;
  const look = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; markOverflow(main); });
  };
  new MutationObserver(look).observe(main, { childList: true, subtree: true });
  main.addEventListener("scroll", look, { capture: true, passive: true });
  main.addEventListener("toggle", look, { capture: true });
  window.addEventListener("resize", look);
}

watchOverflow();
drawFilters();
draw();
let resized = null;
let lastWidth = window.innerWidth;
window.addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(() => { if (window.innerWidth !== lastWidth) { lastWidth = window.innerWidth; draw(); } }, 150);
});
if (data.live) follow();
