"use strict";
// A player: of the frames that stand on the page one at a time, by buttons, keys and a slider. Without script, on paper
// and in a notebook they stand beside each other. What happens in a step is read to those who cannot see it.

const SIGNS = { first: "M3 2h2v12H3zM13 2v12L6 8z", back: "M12 2v12L4 8z", play: "M4 2v12l9-6z", pause: "M3 2h4v12H3zM9 2h4v12H9z",
  next: "M3 2v12l6-6zM10 2h2v12h-2z" };
const sign = name => `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${SIGNS[name]}"/></svg>`;

function begin(box) {
  const frames = [...box.querySelectorAll(".frame")], last = frames.length - 1, words = JSON.parse(box.dataset.words);
  const button = name => `<button type="button" data-go="${name}" aria-label="${words[name]}">${sign(name)}</button>`;
  box.insertAdjacentHTML("beforeend", `<div class="controls" role="group" aria-label="${words.label}">`
    + ["first", "back", "play", "next"].map(button).join("")
    + `<input type="range" min="0" max="${last}" value="0" aria-label="${words.slider}"><output></output></div>`
    + `<p class="heard" role="status"></p>`);
  const at = selector => box.querySelector(selector), go = name => at(`[data-go=${name}]`);
  const slider = at("input"), still = matchMedia("(prefers-reduced-motion: reduce)");
  let now = 0, timer = 0;

  function show(step, tell = true) {
    now = Math.min(last, Math.max(0, step));
    frames.forEach((frame, i) => frame.classList.toggle("now", i === now));
    slider.value = now;
    slider.setAttribute("aria-valuetext", words.step.replace("{0}", now).replace("{1}", last));
    at("output").textContent = `${now} / ${last}`;
    for (const [name, off] of [["first", !now], ["back", !now], ["next", now === last]]) {
      go(name).setAttribute("aria-disabled", off); // it keeps the focus
    }
    if (tell) at(".heard").textContent = frames[now].dataset.heard;
  }
  function name(what) {
    Object.assign(go("play"), { innerHTML: sign(what), ariaLabel: words[what] });
  }
  function pause() {
    clearInterval(timer);
    timer = 0;
    name("play");
  }
  function play() {
    if (now === last) show(0);
    timer = setInterval(() => { show(now + 1); if (now === last) pause(); }, 1400);
    name("pause");
  }

  box.addEventListener("click", event => {
    const asked = event.target.closest("[data-go]")?.dataset.go, playing = timer;
    if (asked) pause();
    if (asked === "play") playing || play();
    else if (asked) show({ first: 0, back: now - 1, next: now + 1 }[asked]);
    else if (event.target.closest(".frames")) slider.focus({ preventScroll: true }); // the keys are for it from now on
  });
  slider.addEventListener("input", () => { pause(); show(Number(slider.value)); });
  box.addEventListener("keydown", event => {
    const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last }[event.key];
    if (to === undefined || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    pause();
    show(to);
  });
  const moves = () => { pause(); go("play").hidden = still.matches; };
  still.addEventListener("change", moves);
  moves();
  show(0, false);
}

// Two frames, before and after, are both seen at once. A browser that is older than this question shows all.
if (matchMedia("(scripting: enabled)").matches) {
  for (const box of document.querySelectorAll(".player:has(.frame:nth-child(3))")) begin(box);
}
