"use strict";
// Choose an array, a mesh, a PartitionSpec and an operation; see who holds what, and what is sent.
// The upper half computes and knows no page: the tests run it under node and compare it with JAX.

const AXES = "xyz", BYTES = 4; // float32
const product = numbers => numbers.reduce((a, b) => a * b, 1);
const same = (a, b) => a.join() === b.join();

/** P(...) as Python writes it. A dimension's entry is "-" (not cut) or its axes in order, as in "xy". */
function written(spec, quote = "'") {
  const name = axis => quote + axis + quote;
  const entry = e => e === "-" ? "None" : e.length === 1 ? name(e) : `(${[...e].map(name).join(", ")})`;
  return `P(${spec.map(entry).join(", ")}${spec.length === 1 && quote === "'" ? "," : ""})`;
}
const tuple = numbers => `(${numbers.join(", ")}${numbers.length === 1 ? "," : ""})`;

/** JAX's own words for a spec that names an axis twice; "" where none does. */
function twice(spec) {
  const used = spec.join("").replaceAll("-", "");
  const again = [...new Set(used)].filter(a => used.indexOf(a) !== used.lastIndexOf(a));
  return again.length && "A single NamedSharding spec specification can map every mesh axis to at most one positional "
    + `dimension, but ${written(spec)} has duplicate entries for ${again.sort().map(a => `\`${a}\``).join(", ")}` || "";
}

/** Who holds what: {error} in JAX's words, or {parts, blocks: per device its [start, stop] in each dimension, bytes, copies}. */
function layout(shape, mesh, spec) {
  const size = axis => mesh[AXES.indexOf(axis)];
  if (twice(spec)) return { error: twice(spec) };
  const cuts = spec.map(e => e === "-" ? [] : [...e]);
  const parts = cuts.map(axes => product(axes.map(size)));
  const bad = shape.findIndex((n, i) => n % parts[i]);
  if (bad >= 0) {
    return { error: `implies that array axis ${bad} is partitioned ${parts[bad]} times, but the dimension size is ${shape[bad]}`
      + ` (full shape: ${tuple(shape)}, per-dimension tiling factors: [${parts.join(", ")}] should evenly divide the shape)` };
  }
  const blocks = [];
  for (let device = 0; device < product(mesh); device++) {
    const at = axis => Math.floor(device / product(mesh.slice(AXES.indexOf(axis) + 1))) % size(axis);
    blocks.push(shape.map((n, i) => {
      const index = cuts[i].reduce((sum, axis) => sum * size(axis) + at(axis), 0), step = n / parts[i];
      return [index * step, (index + 1) * step];
    }));
  }
  return { parts, blocks, bytes: BYTES * product(shape) / product(parts), copies: product(mesh) / product(parts) };
}

/** What the book's ring formulas say that a device sends. */
const sent = (op, bytes, devices) => bytes * (op === "all-reduce" ? 2 : 1) * (devices - 1) / devices;

/** What an operation sends: {error} in JAX's words, {bill: [{op, axes, bytes, sent}]}, or {} where we do not predict. */
function traffic(it) {
  const size = axis => it.mesh[AXES.indexOf(axis)];
  const real = spec => spec.map(e => [...e].filter(a => a !== "-" && size(a) > 1)); // an axis of one device cuts nothing
  const one = (op, axes, bytes) => {
    const n = product(axes.map(size));
    return { bill: n > 1 ? [{ op, axes: [...axes].sort(), bytes, sent: sent(op, bytes, n) }] : [] };
  };
  const from = layout(it.array, it.mesh, it.spec);
  if (from.error) return from;
  const after = () => arrays(it).after.map(({ shape, spec }) => layout(shape, it.mesh, spec))[0];
  if (it.do === "sum") {
    return one("all-reduce", real(it.spec)[it.dim], after().bytes);
  }
  if (it.do === "reshard") {
    const to = after();
    if (to.error) return to;
    const a = real(it.spec), b = real(it.to);
    if (a.every((axes, i) => same(axes, b[i].slice(0, axes.length)))) return { bill: [] };
    const differ = a.map((_, i) => i).filter(i => !same(a[i], b[i]));
    const [i, j] = differ;
    if (differ.length === 1 && same(b[i], a[i].slice(0, b[i].length))) return one("all-gather", a[i].slice(b[i].length), to.bytes);
    const moved = (p, q) => a[p].length === 1 && !b[p].length && !a[q].length && same(b[q], a[p]);
    if (differ.length === 2 && (moved(i, j) || moved(j, i))) return one("all-to-all", a[moved(i, j) ? i : j], to.bytes);
    return {};
  }
  if (it.do === "matmul") {
    const second = layout([it.array[1], it.columns], it.mesh, it.second);
    if (second.error) return second;
    const left = it.spec[1], right = it.second[0], result = after();
    if (result.error) return result; // JAX makes the sharding of the result before it multiplies
    if (left !== right) return {}; // the code below says where the result lies: JAX moves what it must
    return one("all-reduce", real([left])[0], result.bytes);
  }
  return { bill: [] };
}

/** The arrays before, and the one after: [{name, shape, spec}, …]; where an operation only looks, nothing is after. */
function arrays(it) {
  const x = { name: "x", shape: it.array, spec: it.spec }, rest = list => list.filter((_, i) => i !== it.dim);
  const y = { name: "y", shape: [it.array[1], it.columns], spec: it.second };
  return {
    look: { before: [x], after: [] },
    reshard: { before: [x], after: [{ name: "x", shape: it.array, spec: it.to }] },
    sum: { before: [x], after: [{ name: `x.sum(${it.dim})`, shape: rest(it.array), spec: rest(it.spec) }] },
    matmul: { before: [x, y], after: [{ name: "x @ y", shape: [it.array[0], it.columns], spec: [it.spec[0], it.second?.[1]] }] },
  }[it.do];
}

/** Python to paste that shows and counts the same. */
function code(it) {
  const place = (name, shape, spec) =>
    `${name} = jax.device_put(jnp.zeros(${tuple(shape)}), NamedSharding(mesh, ${written(spec, '"')}))\n`;
  const out = spec => `NamedSharding(mesh, ${written(spec, '"')})`;
  const [does, given] = {
    reshard: [`jax.sharding.reshard(x, ${it.do === "reshard" && out(it.to)})`, "x"],
    sum: [`x.sum(${it.dim})`, "x"],
    matmul: [`jnp.matmul(x, y, out_sharding=${it.do === "matmul" && out([it.spec[0], it.second[1]])})`, "x, y"],
  }[it.do] || [];
  const names = it.mesh.map((_, i) => `"${AXES[i]}"`);
  return `from minipod import devices, pictures, traffic\n\ndevices.simulate(${product(it.mesh)})\n\n`
    + "import jax\nimport jax.numpy as jnp\nfrom jax.sharding import NamedSharding\nfrom jax.sharding import PartitionSpec as P\n\n"
    + `mesh = jax.make_mesh(${tuple(it.mesh)}, (${names.join(", ")}${names.length === 1 ? "," : ""}))\n`
    + place("x", it.array, it.spec) + (it.do === "matmul" ? place("y", [it.array[1], it.columns], it.second) : "")
    + (does && product(it.mesh) > 1 ? `bill = traffic.of(lambda ${given}: ${does}, ${given})\nprint(traffic.table(bill))\n` : "")
    + "pictures.sharding(x)\n";
}

/** A state from a query such as array=8,16&mesh=2,4&spec=x,-&do=sum&dim=0; null for nonsense. */
function read(query) {
  const given = new URLSearchParams(query), list = name => (given.get(name) ?? "").split(",");
  const numbers = (name, most, top) => {
    const found = list(name).map(text => /^[1-9]\d{0,3}$/.test(text) ? Number(text) : NaN);
    return found.length <= most && found.every(n => n <= top) ? found : null;
  };
  const array = numbers("array", 3, 4096), mesh = numbers("mesh", 3, 16);
  if (!array || !mesh || product(mesh) > 16) return null;
  const entry = e => e === "-" || e && new Set(e).size === e.length && [...e].every(a => AXES.slice(0, mesh.length).includes(a));
  const spec = (name, count) => list(name).length === count && list(name).every(entry) ? list(name) : null;
  const it = { array, mesh, spec: spec("spec", array.length), do: given.get("do") ?? "look" };
  if (it.do === "reshard") it.to = spec("to", array.length);
  if (it.do === "sum") it.dim = /^[0-2]$/.test(given.get("dim")) && given.get("dim") < array.length ? Number(given.get("dim")) : null;
  if (it.do === "matmul") {
    it.second = array.length === 2 ? spec("second", 2) : null;
    it.columns = numbers("columns", 1, 4096)?.[0] ?? null;
  }
  return ["look", "reshard", "sum", "matmul"].includes(it.do) && Object.values(it).every(v => v !== null) ? it : null;
}

/** The query of a state: what `read` reads. */
const query = it => Object.entries(it).map(([name, value]) => `${name}=${value}`).join("&");

/** The mesh as tables, each device with what it holds, and the array as tables, each block with its devices: the colour
 * is that of the first device that holds the block. Three axes, or dimensions, make a table for each place of the first. */
function drawn(shape, mesh, { parts, blocks }) {
  const range = ([start, stop]) => `${start}:${stop}`;
  const keys = blocks.map(block => block.map(range).join(", ")), holders = new Map();
  keys.forEach((key, device) => holders.set(key, [...holders.get(key) ?? [], device]));
  const cell = (key, text) => `<td class="c${holders.get(key)[0] % 8}${holders.get(key)[0] > 7 ? " again" : ""}">${text}</td>`;
  const tables = (kind, along, cells) => { // the last of `along` runs fastest, as the cells do
    const [columns, rows = [""], lead = [""]] = [...along].reverse();
    const row = r => `<tr>${r ? `<th scope="row">${r}</th>` : "<td></td>"}${cells.splice(0, columns.length).join("")}</tr>`;
    return `<div>${lead.map(l => `<table class="${kind}">${l && `<caption>${l}</caption>`}<tr><td></td>`
      + `${columns.map(c => `<th scope="col">${c}</th>`).join("")}</tr>${rows.map(row).join("")}</table>`).join("")}</div>`;
  };
  const places = mesh.map((n, i) => Array.from({ length: n }, (_, k) => `${AXES[i]}=${k}`));
  const ranges = shape.map((n, i) => Array.from({ length: parts[i] }, (_, k) => range([k * n / parts[i], (k + 1) * n / parts[i]])));
  const every = ranges.reduce((done, along) => done.flatMap(at => along.map(r => [...at, r])), [[]]).map(at => at.join(", "));
  return tables("mesh", places, keys.map((key, device) => cell(key, `<b>${device}</b><small>${key.replaceAll(", ", "<br>")}</small>`)))
    + tables("blocks", ranges.length ? ranges : [[""]], every.map(key => cell(key, holders.get(key).join(", "))));
}

/** A state like `it` that fits its own shape and mesh: what names an axis or a dimension that is not there is not cut. */
function fitted(it) {
  const has = AXES.slice(0, it.mesh.length);
  const spec = (old, count) => Array.from({ length: count }, (_, i) => {
    const entry = old?.[i] ?? "-";
    return [...entry].every(a => has.includes(a)) ? entry : "-";
  });
  const { array, mesh, do: does } = it, rank = array.length;
  return { array, mesh, spec: spec(it.spec, rank), do: does,
    ...does === "reshard" && { to: spec(it.to, rank) },
    ...does === "sum" && { dim: it.dim < rank ? it.dim : 0 },
    ...does === "matmul" && { second: spec(it.second ?? [it.spec[1]], 2), columns: it.columns ?? 8 } };
}

if (typeof module === "object") module.exports = { arrays, code, drawn, fitted, layout, query, read, traffic };

// The lower half is the page: a form whose every change draws anew.
const number = n => n.toLocaleString("en", { maximumFractionDigits: 1 });
const fill = (words, values) => words.replace(/\{(\w+)\}/g, (_, name) => `<code>${values[name]}</code>`);

/** All that can stand in one entry of a spec on a mesh of so many axes: not cut, one axis, several in order. */
function entries(count) {
  const grow = done => [...AXES.slice(0, count)].filter(a => !done.includes(a)).flatMap(a => [done + a, ...grow(done + a)]);
  return ["-", ...grow("").sort((a, b) => a.length - b.length || (a < b ? -1 : 1))];
}

function result(it, words) {
  const refused = error => `<p class="refused">${words.refused} <code>${error}</code></p>`;
  const lies = layout(it.array, it.mesh, it.spec);
  if (lies.error) return refused(lies.error);
  const facts = { blocks: product(lies.parts), copies: lies.copies, bytes: lies.bytes, total: lies.bytes * product(it.mesh) };
  const list = Object.entries(facts).map(([name, n]) => `<div><dt>${words[name]}</dt><dd>${number(n)}</dd></div>`).join("");
  const { before, after } = arrays(it), where = ({ shape, spec }) => layout(shape, it.mesh, spec);
  const panel = (when, below = "") => each => `<figure><figcaption>${when && `${when} `}<code>${each.name}</code> <small>float32[${each.shape}]
    ${written(each.spec)}</small></figcaption>${drawn(each.shape, it.mesh, where(each))}${each.name === "x" ? below : ""}</figure>`;
  const draw = (first, then) => `<p class="held">${words.held}</p><div class="panels">${first.map(panel(then.length ? words.before : "", `<dl>${list}</dl>`)).join("")}`
    + `${then.map(panel(words.after)).join("")}</div>`;
  if (it.do === "look") return draw([before[0]], []);
  const { error, bill } = traffic(it);
  if (error) return draw([before[0]], []) + refused(error);
  const rows = bill?.map(c => fill(words.sent, { ...c, axes: c.axes.join(", "), bytes: number(c.bytes), sent: number(c.sent) }));
  const held = list => list.reduce((sum, each) => sum + where(each).bytes, 0);
  return draw(before, after) + bars({ before: held(before), after: held(after), ...bill && { sends: bill.reduce((sum, c) => sum + c.sent, 0) } }, words)
    + `<p class="bill">${rows ? `${rows[0] ?? words.nothing} <small>${words.compiler}</small>` : words.unknown}</p>`;
}

/** Bytes of one device as bars of one scale. */
function bars(bytes, words) {
  const most = Math.max(...Object.values(bytes), 1);
  return `<table class="bars"><caption>${words.bytes}</caption>${Object.entries(bytes).map(([name, n]) =>
    `<tr><th scope="row">${words[`bar_${name}`]}</th><td><i style="width: ${100 * n / most}%"></i></td><td>${number(n)}</td></tr>`).join("")}</table>`;
}

function form(it, words) {
  const choice = (name, label, options, chosen) => `<label>${label} <select name="${name}">${options.map(([value, text]) =>
    `<option value="${value}"${String(value) === String(chosen) ? " selected" : ""}>${text}</option>`).join("")}</select></label>`;
  const typed = (name, label, value) => `<label>${label} <input name="${name}" value="${value}" inputmode="text" autocomplete="off"></label>`;
  const spec = (name, label, chosen) => `<fieldset><legend>${label}</legend>${chosen.map((entry, i) => choice(`${name}${i}`,
    words.dimension.replace("{}", i), entries(it.mesh.length).map(e => [e, e === "-" ? "None" : [...e].join(", ")]), entry)).join("")}</fieldset>`;
  const can = ["look", "reshard", "sum", ...it.array.length === 2 ? ["matmul"] : []].map(name => [name, words[name]]);
  return typed("array", words.array, it.array.join(", ")) + typed("mesh", words.mesh, it.mesh.join(", "))
    + spec("spec", words.spec, it.spec) + choice("do", words.do, can, it.do)
    + (it.to ? spec("to", words.to, it.to) : "")
    + (it.do === "sum" ? choice("dim", words.over, it.array.map((_, i) => [i, i]), it.dim) : "")
    + (it.second ? typed("columns", words.columns, it.columns) + spec("second", words.second, it.second) : "");
}

function begin(box) {
  const words = JSON.parse(box.dataset.words), whole = box.dataset.whole !== undefined, asked = whole && location.search.slice(1);
  let it = read(box.dataset.state), said = "";
  if (asked && asked.includes("array=")) {
    const found = read(asked);
    if (found) it = found; else said = words.nonsense;
  } else if (asked) said = words.nonsense;
  box.innerHTML = '<form></form><p class="said" role="status"></p><div class="shown" aria-live="polite" tabindex="0" role="group"></div>'
    + `<details><summary>${words.code}</summary><button type="button">${words.copy}</button><pre tabindex="0"></pre></details>`
    + (whole ? "" : `<p class="whole"><a></a></p>`);
  const at = selector => box.querySelector(selector), fields = at("form"), pre = at("pre");
  at(".shown").ariaLabel = words.held; // a phone scrolls it
  let soon = 0;
  const show = typed => {
    const fresh = document.createElement("form");
    fresh.innerHTML = form(it, words);
    renew(fields, fresh, typed);
    at(".said").textContent = said;
    at(".shown").innerHTML = result(it, words);
    pre.textContent = code(it);
    if (!whole) Object.assign(at(".whole a"), { href: `explorer.html?${query(it)}`, textContent: words.whole });
  };
  fields.addEventListener("submit", event => event.preventDefault());
  // What is still being typed counts as soon as it can be drawn; when the field is left, it is told what cannot.
  const take = typed => {
    clearTimeout(soon);
    const given = new FormData(fields), part = (p, old) => old?.map((_, i) => given.get(`${p}${i}`));
    const text = field => (given.get(field) ?? "").replace(/[\s，×x]+/g, ",").replace(/,+/g, ",");
    const numbers = field => text(field).split(",").map(Number);
    const next = fitted({ array: numbers("array"), mesh: numbers("mesh"), spec: part("spec", it.spec), do: given.get("do"),
      to: part("to", it.to), dim: Number(given.get("dim") ?? 0), second: part("second", it.second), columns: Number(given.get("columns") ?? 8) });
    if (next.do === "matmul" && next.array.length !== 2) Object.assign(next, fitted({ ...next, do: "look" }));
    const found = read(query(next.do === "look" ? { array: next.array, mesh: next.mesh, spec: next.spec, do: "look" } : next));
    if (typed && (!found || query(found) === query(it))) return;
    said = found ? "" : words.nonsense;
    if (found) it = found;
    show(typed);
    if (whole && found) {
      try { history.replaceState(null, "", `?${query(it)}${location.hash}`); } catch { /* a page from disk may not */ }
    }
  };
  fields.addEventListener("change", () => take());
  fields.addEventListener("input", ({ target }) => {
    clearTimeout(soon);
    if (target.tagName === "INPUT") soon = setTimeout(take, 300, target);
  });
  at("button").addEventListener("click", async () => {
    getSelection().selectAllChildren(pre);
    try { await navigator.clipboard.writeText(pre.textContent); said = words.copied; } catch { said = words.select; }
    at(".said").textContent = said;
  });
  show();
}

if (typeof document === "object") for (const box of document.querySelectorAll(".explorer")) begin(box);
