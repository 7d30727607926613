"use strict";
// The language switch keeps the section: the one in view, or the one that was asked for and is still near.
function sectionInView() {
  const line = innerHeight * 0.4;
  let id = "";
  for (const element of document.querySelectorAll("article section[id], article [id^=ex-]")) {
    if (element.getBoundingClientRect().top <= line) id = element.id;
  }
  if (scrollY < 40 && !location.hash) return "";
  const asked = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (asked) {
    const top = asked.getBoundingClientRect().top;
    if (top > -innerHeight && top < innerHeight) return location.hash;
  }
  return id ? "#" + id : "";
}

document.addEventListener("DOMContentLoaded", () => {
  for (const link of document.querySelectorAll(".languages a")) {
    link.addEventListener("click", () => {
      link.hash = sectionInView();
      link.search = location.search;
      try { localStorage.setItem("edition", link.dataset.edition); } catch { /* storage may be forbidden */ }
    });
  }
});

// Each copy button says what it copies: the file's name, or the first line that is no import.
document.addEventListener("DOMContentLoaded", () => {
  const words = document.querySelector("[data-copy]")?.dataset.copy ?? "{}";
  for (const button of document.querySelectorAll(".copybtn")) {
    const file = button.closest(".literal-block-wrapper")?.querySelector(".caption-text");
    const lines = (button.previousElementSibling?.textContent ?? "").split("\n").filter((line) => line.trim());
    const line = lines.find((line) => !/^(import|from|#|"""|@)/.test(line)) ?? lines[0] ?? "";
    button.setAttribute("aria-label", words.replace("{}", (file?.textContent ?? line).trim().slice(0, 60)));
  }
});

// Hints and solutions are printed, on white paper; afterwards all is as it was.
addEventListener("beforeprint", () => {
  const { dataset } = document.documentElement, { theme } = dataset;
  dataset.theme = "light";
  addEventListener("afterprint", () => { dataset.theme = theme; }, { once: true });
  for (const folded of document.querySelectorAll("article details:not([open])")) {
    folded.open = true;
    addEventListener("afterprint", () => { folded.open = false; }, { once: true });
  }
});

// The list of pages keeps its place from page to page; the current page is in sight wherever one comes from.
addEventListener("load", () => {
  const list = document.querySelector(".bd-sidebar-primary"), here = list?.querySelector("li.current > a");
  if (!here) return;
  const place = here.getBoundingClientRect(), room = list.getBoundingClientRect();
  if (place.top < room.top + 80 || place.bottom > room.bottom) list.scrollTop += place.top - room.top - room.height / 3;
});
