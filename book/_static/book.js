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
