"use strict";
// The search box: a dialog on every page, opened by `/`, Ctrl+K or a button, and the field of search.html. What finds is
// search.js; it and the index are loaded when somebody searches, as scripts, which a page from disk may load, too.
(() => {
  let engine; // a promise of the search over this edition's index

  const load = (address) => new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = address;
    script.onload = done;
    script.onerror = failed;
    document.head.append(script);
  });
  const ready = (panel) => engine ??= Promise.all([load(panel.dataset.engine), load(panel.dataset.index)])
    .then(() => makeSlowly(window.searchIndex));

  // A text with its places marked, as nodes.
  function marked(text, places) {
    const nodes = [];
    let end = 0;
    for (const [from, to] of places) {
      const mark = document.createElement("mark");
      mark.textContent = text.slice(from, to);
      nodes.push(text.slice(end, from), mark);
      end = to;
    }
    return [...nodes, text.slice(end)];
  }

  // The part of a text in which most of the places lie.
  function excerpt(text, places, room) {
    let best = 0, most = -1;
    for (const [from] of places) {
      const inside = places.filter(([a, b]) => a >= from && b <= from + room).length;
      if (inside > most) [best, most] = [from, inside];
    }
    let begin = Math.max(0, best - room / 5 | 0);
    const space = text.slice(begin, best).search(/[\s，。：；]/); // not in the middle of a word
    if (begin && space >= 0) begin += space + 1;
    const shown = places.filter(([a, b]) => a >= begin && b <= begin + room).map(([a, b]) => [a - begin, b - begin]);
    const nodes = marked(text.slice(begin, begin + room), shown);
    if (begin) nodes.unshift("… ");
    if (begin + room < text.length) nodes.push(" …");
    return nodes;
  }

  function result(panel, search, { doc, terms }) {
    const [page, anchor, title, inner, prose, errors] = window.searchIndex.docs[doc];
    const link = document.createElement("a"), head = document.createElement("b"), text = document.createElement("span");
    const find = new URLSearchParams({ find: panel.querySelector("input").value }).toString();
    link.href = `${panel.dataset.root}${page}.html?${find}#${anchor}`;
    head.append(...marked(title, search.places(title, terms)));
    const chapter = /^ch(\d+)_/.exec(page), where = document.createElement("small");
    where.textContent = (chapter ? panel.dataset.chapter.replace("{}", +chapter[1]) + " · " : "") + window.searchIndex.pages[page];
    const [shown, places] = [prose, errors, inner].map((part) => [part, search.places(part, terms)])
      .reduce((best, row) => (row[1].length > best[1].length ? row : best));
    text.append(...excerpt(shown, places, document.documentElement.lang.startsWith("zh") ? 90 : 170));
    link.append(head, where, text);
    const item = document.createElement("li");
    item.append(link);
    return item;
  }

  // What of the query the book has not, and how much was found.
  function told(say, search, query, found) {
    const { words, instead } = search.absent(query), quoted = (list) => list.map((word) => say.quoted.replace("{}", word)).join(say.comma);
    const lacks = !words.length ? "" : (instead.length ? say.instead : say.without).replace("{words}", quoted(words))
      .replace("{instead}", quoted(instead));
    return [lacks, found === 1 ? say.one : say.found.replace("{}", found)].filter(Boolean).join(say.space);
  }

  function suggest(panel, words) {
    const line = panel.querySelector(".search-try");
    line.hidden = !words.length;
    line.replaceChildren(...words.map((word) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = word;
      button.onclick = () => {
        panel.querySelector("input").value = word;
        panel.querySelector("input").focus();
        show(panel);
      };
      return button;
    }));
  }

  async function show(panel) {
    const input = panel.querySelector("input"), list = panel.querySelector("ul"), status = panel.querySelector(".search-status");
    const say = panel.dataset, query = input.value;
    let search;
    try {
      search = await ready(panel);
    } catch {
      status.textContent = say.failed;
      return;
    }
    if (input.value !== query) return; // more has been typed while the index was loading
    const found = query.trim() ? search.find(query) : [];
    list.replaceChildren(...found.map((row) => result(panel, search, row)));
    const similar = query.trim() && !found.length ? search.similar(query) : [];
    status.textContent = !query.trim() ? "" : found.length ? told(say, search, query, found.length)
      : similar.length ? say.nothing : say.nowhere;
    suggest(panel, found.length ? [] : similar.length ? similar : say.examples.split(" | "));
  }

  function use(panel) {
    const input = panel.querySelector("input"), list = panel.querySelector("ul");
    let typing;
    for (const begins of ["pointerdown", "keydown"]) { // a page that is only looked at loads no index
      input.addEventListener(begins, () => ready(panel).catch(() => {}), { once: true });
    }
    input.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(show, 60, panel); });
    input.addEventListener("keydown", (event) => {
      if (event.isComposing) return; // Enter belongs to the input method
      if (event.key === "Enter") list.querySelector("a")?.click();
    });
    panel.addEventListener("keydown", (event) => {
      if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
      const places = [input, ...list.querySelectorAll("a")], at = places.indexOf(document.activeElement);
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step && at >= 0) {
        event.preventDefault();
        places[(at + step + places.length) % places.length].focus();
      } else if (event.key === "Escape" && panel.closest("dialog")) { // a search field would only be emptied
        event.preventDefault();
        panel.closest("dialog").close();
      } else if (at > 0 && event.key.length === 1 && event.key !== " ") input.focus(); // and what is typed goes there
    });
    list.addEventListener("click", (event) => event.target.closest("a") && panel.closest("dialog")?.close());
  }

  function open(dialog) {
    if (dialog.open) return;
    dialog.showModal();
    dialog.querySelector("input").select();
    show(dialog.querySelector(".search-panel"));
  }

  // The words that were asked for, marked in the section that was opened; the first of them comes into view.
  async function markHere(panel, query) {
    const search = await ready(panel), terms = search.wanted(query);
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1))) ?? document.querySelector("article");
    const walk = document.createTreeWalker(target, NodeFilter.SHOW_TEXT), texts = [];
    while (walk.nextNode()) {
      const around = walk.currentNode.parentElement;
      if (around.closest("section[id], .exercise[id]") === target && !around.closest("svg, script, style, math, button")) {
        texts.push(walk.currentNode);
      }
    }
    let first;
    for (const text of texts) {
      const places = search.places(text.data, terms);
      if (!places.length) continue;
      const nodes = marked(text.data, places);
      first ??= nodes.find((node) => node.nodeType);
      text.replaceWith(...nodes);
    }
    if (!first) return;
    for (let box = first.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    if (first.getBoundingClientRect().top > innerHeight) first.scrollIntoView({ block: "center" });
  }

  document.addEventListener("DOMContentLoaded", () => {
    const dialog = document.getElementById("search"), panels = [...document.querySelectorAll(".search-panel")];
    panels.forEach(use);
    dialog?.addEventListener("click", (event) => event.target === dialog && dialog.close());
    dialog?.querySelector(".search-close").addEventListener("click", () => dialog.close());
    for (const button of document.querySelectorAll(".search-button__button")) button.addEventListener("click", () => open(dialog));
    document.addEventListener("keydown", (event) => {
      const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
      const asks = event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey
        || event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
      if (!asks || !dialog) return;
      event.preventDefault();
      open(dialog);
    });
    const asked = new URLSearchParams(location.search);
    const page = document.querySelector(".search-page .search-panel");
    if (page) {
      page.querySelector("input").value = asked.get("q") ?? "";
      page.querySelector("input").focus();
      if (asked.get("q")) show(page);
    } else if (asked.get("find") && dialog) {
      history.replaceState(null, "", location.pathname + location.hash); // a link that is copied has the section alone
      markHere(dialog.querySelector(".search-panel"), asked.get("find")).catch(() => {});
    }
  });
})();
