"use strict";
// The search itself, without the page: makeSearch(index) gives find(query) and absent(query), makeSlowly(index) a promise
// of both, made in many short tasks. The index is made by publish/search/.
// BM25 over sections and exercises. A term is a word's stem, a pair of Han characters, or the number of a group of words
// that mean the same (#12): whichever of them a text has, in whichever script, it has #12. Terms are ORed.

// A section's title, the titles of boxes in it, its prose, errors shown in it, names in its code, the title of its page.
// BM25 of each: what it counts, how soon repeating a word stops to count, how much a long one loses.
const FIELDS = [[2.4, 0.6, 0.6], [0.7, 0.6, 0.4], [1, 1.6, 0.45], [0.8, 1.6, 0.3], [0.5, 0.6, 0.45], [0.7, 0.6, 0.5]];
// Which pages and sections are asked for more, or less, than their words say: a chapter is, a list of references is not.
const RANKS = [[/./, /^sec-ch\d+$/, 1.4], [/./, /^ex-/, 0.85], [/^(?!ch\d|start$|index$)/, /./, 0.5],
  [/^errors$/, /./, 0.5], [/./, /-(keep|exercises|elsewhere|then-and-now)$/, 0.75]];
const EARLY = 0.2; // what stands first in the book, where things are explained, against what stands last
const FIRST = 0.3; // more for a title that begins with what was asked for
const SAME = 0.8, PART = 0.4; // a word of the same meaning; one word of several that mean something together
const HAN = /[\u3400-\u9fff]/;

// The stem of an English word: deadlocks, sharded, padding, communicate and communication meet in one spelling each.
function stem(word) {
  let s = word;
  if (s.length < 4 || !/^[a-z]+$/.test(s)) return s;
  s = s.replace(/sses$/, "ss").replace(/ies$/, "y").replace(/([^su])s$/, "$1");
  const cut = s.replace(/(ation|ating|ated|ate|ing|ed)$/, "");
  if (cut !== s && cut.length > 2 && /[aeiouy]/.test(cut)) s = cut.replace(/([^aeiouls])\1$/, "$1");
  return s.length > 4 ? s.replace(/(or|er|e)$/, "") : s;
}

// The terms of a text, in order, each with where it stands: {term, word, start, end}. An identifier is also its parts.
function terms(text, fold) {
  const found = [];
  for (const run of text.matchAll(/[\u3400-\u9fff]+|[A-Za-z0-9_\u00c0-\u024f]+/g)) {
    const start = run.index, word = run[0];
    if (HAN.test(word)) {
      const chars = [...word].map((c) => fold.get(c) ?? c);
      if (chars.length === 1) found.push({ term: chars[0], word: chars[0], start, end: start + 1 });
      for (let i = 0; i + 1 < chars.length; i++) {
        found.push({ term: chars[i] + chars[i + 1], word: chars[i] + chars[i + 1], start: start + i, end: start + i + 2 });
      }
      continue;
    }
    const parts = [...word.matchAll(/[A-Z]+(?![a-z])|[A-Z]?[a-z\u00c0-\u024f]+|\d+/g)];
    const whole = word.toLowerCase();
    if (parts.length > 1) found.push({ term: stem(whole), word: whole, start, end: start + word.length, whole: true });
    for (const part of parts) {
      const low = part[0].toLowerCase(), at = start + part.index;
      found.push({ term: stem(low), word: low, start: at, end: at + low.length });
    }
  }
  return found;
}

// Whether a is b with one letter more, less, changed, or two neighbours exchanged.
function near(a, b) {
  if (Math.abs(a.length - b.length) > 1 || a === b) return a === b;
  let i = 0, j = 0;
  while (i < a.length && a[i] === b[i]) i++;
  while (j < a.length - i && j < b.length - i && a.at(-1 - j) === b.at(-1 - j)) j++;
  const x = a.slice(i, a.length - j), y = b.slice(i, b.length - j);
  return x.length < 2 && y.length < 2 || x.length === 2 && y.length === 2 && x[0] === y[1] && x[1] === y[0];
}

// What somebody asks who has pasted a traceback: the error behind the last frame, without the line of code that the frame
// shows and without what JAX says of its own frames. A box for one line has joined the lines, so nothing begins one.
function asked(query) {
  const frames = [...query.matchAll(/File "[^"]*", line \d+(?:, in \S+)?/g)], last = frames.at(-1);
  if (!last) return query;
  const after = query.slice(last.index + last[0].length).replace(/-{10,}[^]*|For simplicity, JAX has removed[^]*/, "");
  const error = after.match(/[\w.]*(?:Error|Exception|Warning|Interrupt|Exit)\b(?=:|\s*$)/);
  return error ? after.slice(error.index) : after;
}

// The search over an index; it yields after each document that it has read.
function* making(index) {
  const fold = new Map(), folds = [...index.fold];
  for (let i = 0; i < folds.length; i += 2) fold.set(folds[i], folds[i + 1]);
  const read = (text) => terms(text, fold);

  // The spellings of each group by their first term: [[the terms of a spelling, "#group"], …].
  const spellings = new Map();
  index.same.forEach((group, number) => {
    for (const spelling of group) {
      const row = read(spelling).filter((t) => !t.whole).map((t) => t.term);
      if (!row.length) continue;
      if (!spellings.has(row[0])) spellings.set(row[0], []);
      spellings.get(row[0]).push([row, "#" + number]);
    }
  });
  // The terms of a text and the groups that it names.
  function withGroups(found) {
    const simple = found.filter((t) => !t.whole), groups = [];
    simple.forEach((t, i) => {
      for (const [row, group] of spellings.get(t.term) ?? []) {
        const last = simple[i + row.length - 1];
        if (last && row.every((term, n) => simple[i + n].term === term)) {
          groups.push({ term: group, word: group, start: t.start, end: last.end });
        }
      }
    });
    return found.concat(groups);
  }

  const texts = (doc) => [...doc.slice(2), doc[2] === index.pages[doc[0]] ? "" : index.pages[doc[0]]];
  const holds = new Map(); // term → Map of document → how often, weighted
  const words = new Map(); // a word as it is written → its term
  const lengths = [], begins = []; // begins: the terms with which a title begins
  for (const [number, doc] of index.docs.entries()) {
    const parts = texts(doc);
    lengths.push(FIELDS.map((_, part) => {
      const found = withGroups(read(parts[part]));
      for (const { term, word } of found) {
        if (!holds.has(term)) holds.set(term, new Map());
        const often = holds.get(term).get(number) ?? FIELDS.map(() => 0);
        often[part]++;
        holds.get(term).set(number, often);
        words.set(word, term);
      }
      return found.length;
    }));
    const title = withGroups(read(doc[2].replace(/^.*? · /, ""))); // after «Exercise 1 ·»
    begins.push(title.filter((t) => t.start === title[0].start).map((t) => t.term));
    yield;
  }
  const means = FIELDS.map((_, part) => Math.max(1, lengths.reduce((sum, row) => sum + row[part], 0) / lengths.length));
  const bm25 = (doc, often) => FIELDS.reduce((sum, [counts, k, b], part) => sum + (often[part] && counts * often[part]
    / (often[part] + k * (1 - b + b * lengths[doc][part] / means[part]))), 0);
  const rank = index.docs.map(([page, anchor], number) => RANKS.reduce(
    (all, [pages, anchors, rank]) => all * (pages.test(page) && anchors.test(anchor) ? rank : 1),
    1 + EARLY * (1 - number / index.docs.length)));
  const idf = (term) => Math.log(1 + index.docs.length / ((holds.get(term)?.size ?? 0) + 0.5));

  const stops = new Set(index.stop.filter((w) => !HAN.test(w)));
  const hanStops = new RegExp(index.stop.filter((w) => HAN.test(w)).sort((a, b) => b.length - a.length).join("|"), "g");
  const simplified = (text) => [...text].map((c) => fold.get(c) ?? c).join("");

  // What a query asks for: [[[term, weight], …], …], for each thing the terms that say it. A word and its group are one
  // thing; of a group of several words (data parallelism) the words by themselves count less.
  function wanted(query) {
    const text = simplified(asked(query).slice(0, 600)), open = !/\s$/.test(query);
    let found = read(text.replace(hanStops, (words) => " ".repeat(words.length))).filter((t) => !stops.has(t.word));
    if (found.some((t) => t.word.length > 1)) found = found.filter((t) => t.word.length > 1 || !HAN.test(t.word)); // 有什么用
    if (!found.length) found = read(text);
    const known = (t) => holds.has(t.term) || found.length < 13 && [...words.keys()].some((word) => near(t.term, word));
    const whole = found.filter((t) => t.whole && known(t)); // with_sharding_constraint does not ask for «with»
    const groups = withGroups(found).slice(found.length).filter((t) => holds.has(t.term));
    const within = (t, spans) => spans.some((s) => s.start <= t.start && t.end <= s.end && s.end - s.start > t.end - t.start);
    const things = new Map();
    for (const t of found.filter((t) => t.whole || !within(t, whole))) {
      things.set(t.term, [...(things.get(t.term) ?? []), ...like(t, open && t.end === found.at(-1).end, found.length < 13)
        .map(([term, weight]) => [term, within(t, groups) ? weight * PART : weight])]);
    }
    for (const g of groups) {
      const same = found.find((t) => t.start === g.start && t.end === g.end);
      const name = same && things.has(same.term) ? same.term : `${g.start}-${g.end}`;
      things.set(name, [...(things.get(name) ?? []), [g.term, same ? SAME : 1]]);
    }
    return [...things.values()];
  }

  // The terms that a word may mean: itself; if the book has it not, what is written nearly so; what it begins, while typing.
  function like(t, open, short) {
    const found = new Map(holds.has(t.term) ? [[t.term, 1]] : []);
    if (found.size && !(open && HAN.test(t.word) && t.word.length === 1)) return [...found];
    for (const [word, term] of words) {
      const close = short && t.word.length > 3 && !HAN.test(t.word) && near(t.word, word);
      if (close || open && word.startsWith(t.word)) found.set(term, close ? 0.7 : 0.6);
    }
    return [...found];
  }

  let others; // the terms of words that stand on the pages and in no document: in hints, far down in a long listing

  // What of a query the book has nowhere, neither itself nor in other words that mean the same, as it was typed, and the
  // words that are asked for in its place: {words, instead}. Of a long query, an error, nothing: it has its author's names.
  function absent(query) {
    const typed = asked(query), open = !/\s$/.test(query), far = [], instead = new Set();
    const text = simplified(typed).replace(hanStops, (words) => " ".repeat(words.length));
    const found = withGroups(read(text));
    if (found.filter((t) => !t.whole && !stops.has(t.word)).length > 12) return { words: [], instead: [] };
    others ??= new Set(read(index.others).map((t) => t.term));
    const has = (t) => holds.has(t.term) || others.has(t.term) || stops.has(t.word);
    const covered = (start, end) => found.some((t) => t.start <= start && end <= t.end && has(t) && (t.whole || t.term[0] === "#"));
    for (const { 0: run, index: start } of text.matchAll(/[\u3400-\u9fff]+|[A-Za-z0-9_\u00c0-\u024f]+/g)) {
      const end = start + run.length, inside = found.filter((t) => start <= t.start && t.end <= end);
      if (HAN.test(run)) {
        const held = [...run].map((_, i) => inside.some((t) => has(t) && t.start <= start + i && start + i < t.end));
        for (const gap of held.map((h) => h ? "+" : "-").join("").matchAll(/-+/g)) {
          if (gap[0].length > 1) far.push([start + gap.index, start + gap.index + gap[0].length]);
        }
        continue;
      }
      const whole = inside.find((t) => t.whole), parts = inside.filter((t) => !t.whole && /[a-z]/.test(t.word));
      const name = whole && /_|[a-z][A-Z]/.test(run); // of something in a program: its parts are not it
      if (covered(start, end) || (name ? has(whole) : parts.every(has))) continue;
      if (open && end === text.length && [...words.keys()].some((word) => word.startsWith(run.toLowerCase()))) continue;
      far.push([start, end]);
      for (const t of name ? [whole] : parts.filter((t) => !has(t))) {
        const likely = new Set(like(t, false, true).map(([term]) => term));
        for (const [word, term] of words) if (likely.has(term) && near(t.word, word)) instead.add(word);
      }
    }
    return { words: far.map(([start, end]) => typed.slice(start, end)), instead: [...instead].slice(0, 3).map(written) };
  }

  // A word in large and small letters, as the book writes it.
  function written(word) {
    const found = new RegExp(`\\b${word}\\b`, "i");
    for (const doc of index.docs) for (const text of doc.slice(2)) if (found.test(text)) return found.exec(text)[0];
    return word;
  }

  // The best sections for a query: [{doc, score, terms}], the best first, `limit` at most.
  function find(query, limit = 12) {
    const wants = wanted(query), scores = new Map();
    const worth = wants.map((like) => Math.max(0, ...like.map(([term, weight]) => weight * idf(term))));
    const all = worth.reduce((a, b) => a + b, 0);
    wants.forEach((like, n) => {
      const best = new Map();
      for (const [term, weight] of like) {
        for (const [doc, often] of holds.get(term)) {
          best.set(doc, Math.max(best.get(doc) ?? 0, weight * idf(term) * bm25(doc, often)));
        }
      }
      for (const [doc, score] of best) {
        const row = scores.get(doc) ?? { doc, score: 0, covered: 0 };
        row.score += score;
        row.covered += worth[n];
        scores.set(doc, row);
      }
    });
    const terms = new Set(wants.flat().map(([term]) => term));
    const pairs = read(simplified(asked(query)).replace(hanStops, " ")).filter((t) => !t.whole);
    const list = [...scores.values()];
    for (const row of list) {
      row.score *= rank[row.doc] * (0.4 + 0.6 * row.covered / all);
      row.score *= 1 + FIRST * Math.max(0, ...wants.map((like, n) => like.some(([t]) => begins[row.doc].includes(t)) ? worth[n] / all : 0));
    }
    list.sort((a, b) => b.score - a.score);
    for (const row of list.slice(0, 40)) row.score *= 1 + 0.5 * together(row.doc, pairs);
    return list.sort((a, b) => b.score - a.score || a.doc - b.doc).slice(0, limit).map(({ doc, score }) => ({ doc, score, terms }));
  }

  // How much of a query's neighbours are neighbours in a document, too: 0 to 1.
  function together(doc, terms) {
    if (terms.length < 2) return 0;
    const has = new Set();
    for (const text of index.docs[doc].slice(2)) {
      read(text).filter((t) => !t.whole).reduce((before, t) => (has.add(before + " " + t.term), t.term), "");
    }
    let hits = 0;
    for (let i = 1; i < terms.length; i++) hits += has.has(terms[i - 1].term + " " + terms[i].term);
    return hits / (terms.length - 1);
  }

  // Where a text has one of these terms: [[start, end], …] in order, joined where they touch.
  function places(text, wantedTerms) {
    const rows = withGroups(read(text)).filter((t) => wantedTerms.has(t.term)).map((t) => [t.start, t.end]);
    return rows.sort((a, b) => a[0] - b[0]).reduce((all, [start, end]) => {
      if (all.length && start <= all.at(-1)[1]) all.at(-1)[1] = Math.max(end, all.at(-1)[1]);
      else all.push([start, end]);
      return all;
    }, []);
  }

  // Words of the book that look like what was typed, for a query that finds nothing.
  const similar = (query) => [...new Set(read(query).flatMap((t) => t.word.length > 3
    ? [...words.keys()].filter((w) => w.length > 3 && w.slice(0, 3) === t.word.slice(0, 3)) : []))].slice(0, 4);

  const holding = (term) => [...holds.get(term)?.keys() ?? []]; // the documents that have a term
  return { absent, find, places, similar, holding, wanted: (query) => new Set(wanted(query).flat().map(([term]) => term)) };
}

function makeSearch(index) {
  const steps = making(index);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

// The same, and between two short tasks the page answers whoever reads or types.
async function makeSlowly(index, milliseconds = 4) {
  const steps = making(index);
  for (;;) {
    for (const until = performance.now() + milliseconds; performance.now() < until;) {
      const { done, value } = steps.next();
      if (done) return value;
    }
    await new Promise((next) => setTimeout(next));
  }
}

if (typeof module === "object") module.exports = { asked, makeSearch, makeSlowly, near, stem, terms };
