// Comfort for the capture pages; each of them works without it.
"use strict";

(function () {
  const live = document.createElement("div");
  live.setAttribute("aria-live", "polite");
  live.className = "visually-hidden";

  // Where the page is not a secure context there is no navigator.clipboard, and a selection does it.
  function copyBySelection(text) {
    const area = document.createElement("textarea");
    area.value = text;
    area.setAttribute("readonly", "");
    area.className = "visually-hidden";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }

  async function copy(button) {
    const text = button.dataset.copy;
    let done = false;
    try {
      await navigator.clipboard.writeText(text);
      done = true;
    } catch {
      done = copyBySelection(text);
    }
    const before = button.textContent;
    button.textContent = done ? "copied" : "not copied";
    live.textContent = done ? "Copied" : "Could not be copied";
    setTimeout(() => { button.textContent = before; }, 1500);
  }

  function remember(details) {
    const key = "agent-capture:" + details.dataset.remember;
    try {
      if (localStorage.getItem(key) === "closed") details.open = false;
      details.addEventListener("toggle", () => localStorage.setItem(key, details.open ? "open" : "closed"));
    } catch {
      // Storage is switched off: nothing is remembered, and nothing breaks.
    }
  }

  function isTyping(target) {
    return target.closest("input, textarea, select, [contenteditable]") !== null;
  }

  // j and k go to the next and the previous turn below the one that is at the top of the window.
  function step(direction) {
    const turns = [...document.querySelectorAll("[data-turn]")];
    if (!turns.length) return;
    const focused = turns.indexOf(document.activeElement.closest("[data-turn]"));
    const next = turns[Math.min(Math.max(focused + direction, 0), turns.length - 1)];
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "start" });
    for (const link of document.querySelectorAll(".turns a")) {
      if (link.hash === "#" + next.id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (button) copy(button);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
  });
  document.body.append(live);
  document.querySelectorAll("details[data-remember]").forEach(remember);
})();
