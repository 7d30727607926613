"use strict";
// The designer's page: a form whose every change draws anew, behind a guess. What it shows computes designer.js.

const WHOLE = { rows: 1e6, length: 1e7, layers: 1000, width: 1e6 }; // numbers that may be typed, up to
const BILLIONS = 1e5; // of parameters
const short = n => Number(n.toPrecision(3)).toLocaleString("en", { maximumFractionDigits: 3 });
const GB = bytes => bytes < 1e8 ? `${short(bytes / 1e6)} MB` : `${short(bytes / 1e9)} GB`;
const time = s => s >= 1 ? `${short(s)} s` : s >= 1e-3 ? `${short(1e3 * s)} ms` : `${short(1e6 * s)} µs`;
const say = (words, name, values = {}) => words[name.replaceAll(" ", "_")].replace(/\{(\w+)\}/g, (_, key) => values[key]);
const sentences = (...all) => all.reduce((text, next) => text + (text.endsWith("。") || !next ? "" : " ") + next);

/** A state from a query such as model=llama_8b&rows=128&length=2048&on=v5p:4x4x4&tensor=4; null for nonsense. */
function readDesign(query) {
  const given = new URLSearchParams(query), model = given.get("model"), on = given.get("on");
  const number = (name, most) => /^[1-9]\d*$/.test(given.get(name) ?? "") && Number(given.get(name)) <= most ? Number(given.get(name)) : null;
  if (!(model === "own" || Object.hasOwn(DESIGNER.models, model)) || !Object.hasOwn(DESIGNER.machines, on)) return null;
  const it = { model, rows: number("rows", WHOLE.rows), length: number("length", WHOLE.length), on };
  if (model === "own") {
    it.params = /^\d+(\.\d+)?$/.test(given.get("params") ?? "") && Number(given.get("params")) > 0 && Number(given.get("params")) <= BILLIONS ? Number(given.get("params")) : null;
    for (const name of ["layers", "width"]) it[name] = number(name, WHOLE[name]);
  }
  for (const axis of DESIGN_AXES.filter(axis => axis !== "fsdp")) {
    const size = given.has(axis) ? number(axis, 512) : 1;
    it[axis] = size && Number.isInteger(Math.log2(size)) ? size : null;
  }
  return Object.values(it).includes(null) ? null : it;
}

/** The query of a state: what `readDesign` reads. */
const designQuery = it => Object.entries(it).filter(([name, value]) => !DESIGN_AXES.includes(name) || value > 1)
  .map(([name, value]) => `${name}=${value}`).join("&");

/** The model, the machine and the sizes of all axes: fsdp takes what the others leave. */
function chosen(it) {
  const machine = DESIGNER.machines[it.on], others = DESIGN_AXES.filter(axis => axis !== "fsdp").map(axis => it[axis]);
  const of = { ...it.model === "own" ? ownModel(it.params * 1e9, it.layers, it.width) : DESIGNER.models[it.model], rows: it.rows, length: it.length };
  const by = Object.fromEntries(DESIGN_AXES.map(axis => [axis, axis === "fsdp" ? Math.max(1, machine.devices / times(others)) : it[axis]]));
  return { machine, of, by };
}

/** Python that makes the mesh and cuts a layer and the batch alike, and the line that asks a compiler. */
function designCode(it, { machine, of, by }) {
  const axes = DESIGN_AXES.filter(axis => by[axis] > 1), has = axis => axes.includes(axis) ? `"${axis}"` : "None";
  const P = dims => {
    const entries = [...by.stage > 1 ? ["stage"] : ["None"], ...dims].map(d => d === "None" ? d : Array.isArray(d) ? d : has(d));
    const text = entries.map(e => Array.isArray(e) ? e.length > 1 ? `(${e.map(has).join(", ")})` : e.length ? has(e[0]) : "None" : e);
    while (text.at(-1) === "None") text.pop();
    return `P(${text.join(", ")})`;
  };
  const expert = of.experts ? ["expert"] : [];
  const tuple = list => `(${list.join(", ")}${list.length === 1 ? "," : ""})`;
  const batch = [["data", "fsdp", "expert"].filter(axis => axes.includes(axis)), "sequence"];
  let left = machine.slices; // as minipod.pods.absent.crossing: the first axes go over the slices
  const over = axes.map(axis => { const n = Math.min(by[axis], left); left /= n; return n; });
  const inner = axes.map((axis, i) => by[axis] / over[i]);
  const devices = machine.slices > 1 ? `create_hybrid_device_mesh(${tuple(inner)}, ${tuple(over)}, allow_split_physical_axes=True)`
    : `create_device_mesh(${tuple(inner)}, allow_split_physical_axes=True)`;
  return "from jax.experimental import mesh_utils\nfrom jax.sharding import Mesh, PartitionSpec as P\n\n"
    + `devices = mesh_utils.${devices}\nmesh = Mesh(devices, ${tuple(axes.map(axis => `"${axis}"`))})\n`
    + `# weights of all layers: [layers, ${of.experts ? "experts, " : ""}…]\n`
    + `q = ${P(["fsdp", "tensor", "None"])}  # [layers, width, heads, of each]\n`
    + `kv = ${P(["fsdp", "None", "tensor", "None"])}  # [layers, width, 2, heads of keys, of each]\n`
    + `out = ${P(["tensor", "None", "fsdp"])}  # [layers, heads, of each, width]\n`
    + `up = gate = ${P([...expert, "fsdp", "tensor"])}  # [layers, ${of.experts ? "experts, " : ""}width, hidden]\n`
    + `down = ${P([...expert, "tensor", "fsdp"])}\n`
    + `batch = ${P(batch).replace(/^P\((None|"stage")(, )?/, "P(")}  # [sequences, tokens, width]\n`;
}
function planLine(it, { of, by }) {
  const mesh = DESIGN_AXES.filter(axis => by[axis] > 1).map(axis => `${axis}=${by[axis]}`).join(",");
  if (it.model === "own") return `minipod choose --params ${it.params}e9 --batch ${of.rows} --seq ${of.length} --layers ${of.layers} --width ${of.width} --on ${it.on}`;
  if (it.model === "book") return "";
  return `minipod plan lessons/designer/models.py:${it.model}_${of.rows}x${of.length} --on ${it.on} --mesh ${mesh}`;
}

/** Bars: [name, amount, text] of each; the longest fills the width. */
const bars = rows => `<dl class="bars">${rows.map(([name, amount, text], i) => `<div><dt>${name}</dt><dd>`
  + `<i class="c${i}" style="width:calc((100% - 6rem) * ${Math.max(0.004, amount / Math.max(...rows.map(row => row[1])))})"></i> ${text}</dd></div>`).join("")}</dl>`;

/** One bar of all parts, as long as the room of a device, or as they where that is not enough: then a mark says where it ends. */
function stacked(rows, room) {
  const all = rows.reduce((sum, row) => sum + row[1], 0), most = Math.max(room, all);
  const parts = rows.map(([, amount], i) => `<i class="c${i}" style="width:${100 * amount / most}%"></i>`).join("");
  const mark = all > room ? `<b style="inset-inline-start:${100 * room / most}%"></b>` : "";
  const legend = rows.map(([name, , text], i) => `<div><dt><i class="c${i}"></i> ${name}</dt><dd>${text}</dd></div>`).join("");
  return `<div class="track" aria-hidden="true">${parts}${mark}</div><dl class="legend">${legend}</dl>`;
}

/** The first chip's group along each axis, on the torus: one square for a chip, planes side by side. */
function torus(machine, by, words) {
  const [x, y, z = 1] = machine.shape, cell = 24 / Math.max(4, Math.min(x, 8)) + 3;
  return Object.entries(boxes(machine, by)).map(([axis, sides]) => {
    const box = sides?.[0] && sides.slice(0, machine.shape.length);
    const said = !machine.shape[1] ? words.switched : sides ? words.crosses : words.no_box;
    if (!box) return `<figure><figcaption><b>${axis}</b> ${by[axis]}: ${said}</figcaption></figure>`;
    let squares = "";
    for (let c = 0; c < z; c++) for (let a = 0; a < x; a++) for (let b = 0; b < y; b++) {
      const inside = a < box[0] && b < box[1] && c < (box[2] ?? 1);
      squares += `<rect x="${(c * (y + 1) + b) * cell}" y="${a * cell}" width="${cell - 1.5}" height="${cell - 1.5}"${inside ? ' class="in"' : ""}/>`;
    }
    const wide = (z * (y + 1) - 1) * cell, high = x * cell;
    return `<figure><svg viewBox="0 0 ${wide} ${high}" width="${wide}" height="${high}" role="img" aria-label="${axis}: ${box.join(" × ")}">${squares}</svg>`
      + `<figcaption><b>${axis}</b> ${by[axis]}: ${box.join(" × ")}</figcaption></figure>`;
  }).join("");
}

function designResult(it, found, words) {
  const { machine, of, by } = found, made = design(of, machine, by), { held, room, messages, seconds } = made;
  const all = Object.values(held).reduce((a, b) => a + b, 0), which = fits(made, of), longest = Math.max(...Object.values(seconds));
  const unknown = messages.some(m => !m.known) && bound(made) !== "network";
  const values = { held: GB(all), room: GB(room), close: closeBy(of), seconds: time(longest), bound: words[bound(made)] };
  const rows = messages.map(m => `<tr><td>${say(words, m.name)}</td><td>${m.op}</td><td>${m.axes.join(", ")}</td><td>${m.times.toLocaleString("en")}</td>`
    + `<td>${GB(m.sent)}</td><td>${m.known ? time(m.seconds) : m.seconds ? `${words.least} ${time(m.seconds)}` : words.unknown}</td></tr>`).join("");
  const head = ["what", "op", "along", "times", "sends", "takes"].map(name => `<th scope="col">${words[name]}</th>`).join("");
  const table = rows ? `<div class="wide" tabindex="0" role="group" aria-label="${words.messages}"><table><thead><tr>${head}</tr></thead><tbody>${rows}</tbody></table></div>` : `<p>${words.nothing}</p>`;
  const plan = DESIGNER.plans[[it.model, of.rows, of.length, it.on, layoutKey(by)].join(" ")];
  const planned = plan ? `<p class="planned">${say(words, plan.held ? "planned" : "planned_not", { version: plan.version,
    held: GB(plan.held), sent: GB(plan.sent), seconds: time(plan.seconds), bound: words[plan.bound], ours: GB(messages.reduce((sum, m) => sum + m.sent, 0)) })}</p>` : "";
  return `<p class="verdict ${which.replace(" ", "-")}">${sentences(say(words, which, values), which === "too much" ? "" : say(words, "step", values), unknown ? words.unless : "")}</p>${planned}`
    + `<h3>${say(words, "holds", values)}</h3>${stacked(Object.entries(held).filter(([, n]) => n).map(([name, n]) => [words[`held_${name}`], n, GB(n)]), room)}`
    + `<h3>${words.lasts}</h3>${bars(Object.entries(seconds).map(([name, s]) => [words[name], s, time(s)]))}`
    + `<h3>${words.messages}</h3>${table}<h3>${words.lies}</h3><div class="torus">${torus(machine, by, words)}</div>`;
}

function designForm(it, words) {
  const choice = (name, label, options, value) => `<label>${label} <select name="${name}">${options.map(([v, text]) =>
    `<option value="${v}"${String(v) === String(value) ? " selected" : ""}>${text}</option>`).join("")}</select></label>`;
  const typed = (name, label, value) => `<label>${label} <input name="${name}" value="${value}" inputmode="decimal" autocomplete="off"></label>`;
  const { machine, of, by } = chosen(it), powers = most => Array.from({ length: Math.log2(most) + 1 }, (_, i) => [2 ** i, 2 ** i]);
  const own = it.model === "own" ? typed("params", words.params, it.params) + typed("layers", words.layers, it.layers) + typed("width", words.width, it.width) : "";
  const axes = DESIGN_AXES.filter(axis => axis !== "fsdp" && (axis !== "expert" || of.experts))
    .map(axis => choice(axis, axis, powers(machine.devices), it[axis])).join("");
  return choice("model", words.model, [...Object.keys(DESIGNER.models), "own"].map(name => [name, words[name]]), it.model) + own
    + typed("rows", words.rows, it.rows) + typed("length", words.length, it.length)
    + choice("on", words.on, Object.keys(DESIGNER.machines).map(name => [name, name]), it.on)
    + `<fieldset><legend>${words.axes}</legend>${axes}<label>fsdp <output name="fsdp">${by.fsdp}</output></label></fieldset>`;
}

function beginDesign(box) {
  const words = JSON.parse(box.dataset.words), asked = /[?&]model=/.test(location.search) && location.search.slice(1), given = asked ? readDesign(asked) : null;
  let it = given ?? readDesign(box.dataset.state), said = asked && !given ? words.nonsense : "", first = true, answer = "";
  box.innerHTML = '<form></form><p class="said" role="status"></p><div class="guess" role="group"></div>'
    + `<div class="shown" aria-live="polite"></div><details><summary>${words.code}</summary><button type="button">${words.copy}</button><pre tabindex="0"></pre></details>`;
  const at = selector => box.querySelector(selector), fields = at("form"), pre = at("pre");
  const show = typedIn => {
    const fresh = document.createElement("form"), found = chosen(it), no = refusal(found.of, found.machine, found.by);
    fresh.innerHTML = designForm(it, words);
    renew(fields, fresh, typedIn);
    fields.querySelector("output").textContent = found.by.fsdp;
    at(".said").textContent = said || (no ? say(words, no[0], no[1]) : "");
    const asks = first && !answer && !no;
    at(".guess").innerHTML = no ? "" : asks ? `<p>${words.guess}</p>` + ["too much", "compute", "memory", "network"].map(name =>
      `<button type="button" value="${name}">${words[`guess_${name.replace(" ", "_")}`]}</button>`).join("") + `<button type="button" value="show" class="plain">${words.show}</button>`
      : `<p>${answer ? told(found) : ""} <label><input type="checkbox" name="first"${first ? " checked" : ""}> ${words.first}</label></p>`;
    at(".shown").innerHTML = no || asks ? "" : designResult(it, found, words);
    const line = planLine(it, found);
    pre.textContent = no ? "" : designCode(it, found) + (line ? `\n# ${it.model === "own" ? words.others : words.asks}\n# ${line}\n` : "");
    at("details").hidden = Boolean(no) || asks;
  };
  const told = found => {
    const made = design(found.of, found.machine, found.by), which = fits(made, found.of), truth = which === "too much" ? which : bound(made);
    const name = n => words[`guess_${n.replace(" ", "_")}`];
    if (which === "close" && answer === "too much") return say(words, "unsure", { answer: name(answer) });
    return say(words, answer === truth ? "right" : "wrong", { answer: name(answer), truth: name(truth) });
  };
  at(".guess").addEventListener("click", ({ target }) => {
    if (target.name === "first") {
      first = target.checked;
      answer = "";
      show();
      at(first ? ".guess button" : "[name=first]").focus();
    } else if (target.value && target.tagName === "BUTTON") {
      if (target.value === "show") first = false; else answer = target.value;
      show();
      at("[name=first]").focus();
    }
  });
  const take = typedIn => {
    const values = Object.fromEntries(new FormData(fields)), own = { params: 8, layers: 32, width: 4096 };
    for (const name of ["rows", "length", "params", "layers", "width"]) if (name in values) values[name] = values[name].replace(/[,\s，]/g, "");
    if (values.model === "own" && it.model !== "own") Object.assign(values, own);
    if (values.model !== "own") for (const name in own) delete values[name];
    const experts = DESIGNER.models[values.model]?.experts;
    if (!experts) delete values.expert;
    const devices = DESIGNER.machines[values.on].devices;
    for (const axis of DESIGN_AXES) if (Number(values[axis]) > devices) values[axis] = 1;
    const next = readDesign(new URLSearchParams(values).toString());
    if (typedIn && (!next || designQuery(next) === designQuery(it))) return;
    said = next ? "" : words.nonsense;
    if (next && designQuery(next) !== designQuery(it)) answer = "";
    if (next) it = next;
    show(typedIn);
    if (next) try { history.replaceState(null, "", `?${designQuery(it)}${location.hash}`); } catch { /* a page from disk may not */ }
  };
  let soon = 0;
  fields.addEventListener("submit", event => event.preventDefault());
  fields.addEventListener("change", () => { clearTimeout(soon); take(); });
  fields.addEventListener("input", ({ target }) => {
    clearTimeout(soon);
    if (target.tagName === "INPUT") soon = setTimeout(take, 300, target);
  });
  at("details button").addEventListener("click", async () => {
    getSelection().selectAllChildren(pre);
    try { await navigator.clipboard.writeText(pre.textContent); said = words.copied; } catch { said = words.select; }
    at(".said").textContent = said;
  });
  addEventListener("beforeprint", () => { // paper cannot be asked
    const found = chosen(it);
    if (!at(".shown").innerHTML && !refusal(found.of, found.machine, found.by)) at(".shown").innerHTML = designResult(it, found, words);
  });
  show();
}

if (typeof document === "object") for (const box of document.querySelectorAll(".designer")) beginDesign(box);
