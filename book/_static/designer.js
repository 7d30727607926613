"use strict";
// What a device holds, sends and takes in a step of a model that is cut along up to six mesh axes: the formulas of
// minipod.choose.designs, with what publish/designer.py computed of the machines. The tests run this under node and
// compare it with Python. The page is in designer_page.js.

const DESIGN_AXES = ["data", "stage", "fsdp", "expert", "sequence", "tensor"]; // outermost first
const ROOM = 1.25, TOUCHED = 20, SCORED = 9, SCORES = 1.5;
const times = numbers => numbers.reduce((a, b) => a * b, 1);

/** A model of which the reader knows three numbers; attention writes the scores of its heads, which are 128 wide. */
const ownModel = (params, layers, width) => ({ params, layers, width, heads: width / 128, sums: 4, weight: 2, gradient: 2, state: 12,
  inside: 16, whole: 3, again: true, last: 1 / 3, kv: 2, groups: 0, experts: 0, each: 2, spread: 0 });

/** A key of the machine's layouts: the exponents of two of all six sizes. */
const layoutKey = by => DESIGN_AXES.map(axis => Math.log2(by[axis])).join("");

/** The collectives whose pace a machine's layout lists, in this order: [name, axes]; then follow the sides of each axis. */
function paced(by) {
  const more = axes => axes.filter(axis => by[axis] > 1);
  return [["fsdp", more(["fsdp"])], ["dense", more(["data", "expert", "sequence"])], ["spread", more(["data", "sequence"])],
    ["keys", more(["sequence"])], ["tokens", more(["expert"])], ["handed", more(["stage"])], ["sums", more(["tensor"])]]
    .filter(([, axes]) => axes.length);
}

/** Why there is no such layout: [name of a sentence, what stands in it], or null. */
function refusal(of, machine, by) {
  const rows = by.data * by.fsdp * by.expert;
  if (times(Object.values(by)) !== machine.devices) return ["product", { devices: machine.devices, product: times(Object.values(by)) }];
  if (of.rows % rows) return ["no_rows", { rows: of.rows, parts: rows }];
  for (const [axis, what, number] of [["sequence", "length", of.length], ["stage", "layers", of.layers],
    ["tensor", of.groups ? "groups" : "width", of.groups || of.width], ["fsdp", "width", of.width], ["expert", "experts", of.experts]]) {
    if (by[axis] > 1 && (!number || number % by[axis])) return [`no_${what}`, { axis, size: by[axis], number }];
  }
  return machine.layouts[layoutKey(by)] ? null : ["three", {}];
}

/** The design: {held, room, messages, seconds: {compute, memory, network}}; `by` has the sizes of all axes. */
function design(of, machine, by) {
  const cut = by.data * by.fsdp * by.expert, dense = of.params - of.spread, spread = of.spread / by.expert;
  const micro = by.stage > 1 ? of.rows / cut : 1, ticks = micro + by.stage - 1, layers = of.layers / by.stage;
  const tokens = of.rows * of.length, width = tokens / cut / by.sequence * of.width * of.weight;
  const own = (dense + spread) / by.tensor / by.stage, again = of.again ? 1 : 0;
  const scores = 4 * of.heads * tokens * of.length / (cut * by.sequence * by.tensor);
  const inside = of.inside / by.tensor * width, wholeKeys = by.sequence > 1 ? of.kv * by.sequence / by.tensor * width : 0;

  const line = machine.layouts[layoutKey(by)], found = paced(by), messages = [];
  const say = (name, op, pace, bytes, n) => {
    const at = found.findIndex(([called]) => called === pace);
    if (at < 0 || !bytes) return;
    const axes = found[at][1], g = times(axes.map(axis => by[axis])), [each, least, known] = machine.paces[line[at]];
    const passes = op === "all-reduce" ? 2 : 1, share = op === "collective-permute" ? 1 : passes * (g - 1) / g;
    const twice = pace === "fsdp" ? passes : 1; // the pace listed for fsdp is an all-gather's
    messages.push({ name, op, axes, bytes, times: n, sent: share * bytes * n, seconds: Math.max(each * bytes, least) * twice * n, known: !!known });
  };
  const part = n => n / of.layers / by.tensor, activation = width / micro, runs = layers * ticks;
  const [gather, scatter] = by.fsdp === machine.devices ? machine.fsdp : ["all-gather", "reduce-scatter"];
  say("weights", gather, "fsdp", of.weight * part(dense + spread), layers + runs);
  say("gradients", scatter, "fsdp", of.gradient * part(dense + spread), runs);
  say("gradients", "all-reduce", "dense", of.gradient * part(dense) / by.fsdp, runs);
  say("gradients", "all-reduce", "spread", of.gradient * part(spread) / by.fsdp, runs);
  say("sums", "all-reduce", "sums", activation, (of.sums + again * (Math.floor(of.sums / 2) - 1)) * runs);
  const keys = of.kv * activation * by.sequence / by.tensor;
  say("keys", "all-gather", "keys", keys, (1 + again) * runs);
  say("keys", "reduce-scatter", "keys", keys, runs);
  say("tokens", "all-to-all", "tokens", of.each * ROOM * activation, (4 + 2 * again) * runs);
  say("handed on", "collective-permute", "handed", activation, 2 * ticks);

  const held = {
    state: of.state * own / by.fsdp,
    gradients: of.gradient * own / by.fsdp * (by.stage > 1 ? 2 : 1),
    copy: of.weight < 4 && of.state > 4 ? of.weight * own / by.fsdp : 0,
    gathered: by.fsdp > 1 ? of.weight * own / (by.stage > 1 ? 1 : layers) : 0,
    inputs: layers * width * ticks / micro,
    inside: (inside + of.whole * width + wholeKeys + SCORES * scores) / micro * (of.again ? 1 : layers),
  };
  const moved = (by.fsdp > 1 ? 5 : 3) * of.weight * own * ticks + 2 * of.state * own / by.fsdp
    + layers * ticks / micro * (TOUCHED * (1 + of.inside / by.tensor) * width + SCORED * scores);
  const used = of.params - of.spread + (of.experts ? of.spread * of.each / of.experts * ROOM : 0);
  const forward = 2 * used + (of.length > 1 ? 4 * of.layers * of.width * of.length : 0);
  const flops = (of.again ? 4 * forward - 2 * of.last * of.params : 3 * forward) * tokens / machine.devices * ticks / micro;
  const seconds = { compute: flops / machine.flops, memory: moved / machine.bandwidth,
    network: messages.reduce((sum, m) => sum + m.seconds, 0) };
  return { held, room: machine.room, messages, seconds };
}

/** How many times the formulas' bytes a compiled step may need; the plans of the page needed less, if the batch is counted, too. */
const closeBy = of => of.again ? 1.3 : 1.35;

/** "fits", "close" (only a plan can say) or "too much". */
function fits({ held, room }, of) {
  const all = Object.values(held).reduce((a, b) => a + b, 0);
  return all > room ? "too much" : all * closeBy(of) > room ? "close" : "fits";
}

/** Which of compute, memory and network takes longest. */
const bound = ({ seconds }) => Object.keys(seconds).reduce((a, b) => seconds[b] > seconds[a] ? b : a);

/** The boxes that the groups of each axis fill on the torus, {axis: [x, y, z]}; null where they fill none, [0] over several slices. */
function boxes(machine, by) {
  const rest = machine.layouts[layoutKey(by)].slice(paced(by).length);
  return Object.fromEntries(DESIGN_AXES.filter(axis => by[axis] > 1).map((axis, i) => [axis, machine.boxes[rest[i]]]));
}

if (typeof module === "object") module.exports = { boxes, bound, design, fits, ownModel, refusal };
