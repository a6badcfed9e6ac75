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

  // j and k open the next and the previous turn of the list.
  function step(direction) {
    const links = [...document.querySelectorAll(".turns a[data-leads]")];
    if (!links.length) return;
    const here = links.findIndex((link) => link.hasAttribute("aria-current"));
    const next = links[Math.min(Math.max(here + direction, 0), links.length - 1)];
    if (next !== links[here]) next.click();
  }

  // After a turn was fetched: the list and the strip point to it, and reading goes on there.
  function arrived() {
    const turn = document.querySelector("#shown [data-turn]");
    if (!turn) return;
    for (const link of document.querySelectorAll("[data-leads]")) {
      if (link.dataset.leads === turn.id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    document.querySelector(".turns a[aria-current]")?.scrollIntoView({ block: "nearest" });
    turn.focus({ preventScroll: true });
    if (turn.getBoundingClientRect().top < 0) turn.scrollIntoView({ block: "start" });
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
  document.addEventListener("htmx:afterSwap", (event) => { if (event.target.id === "shown") arrived(); });
  document.addEventListener("htmx:historyRestore", arrived);
  document.body.append(live);
  document.querySelectorAll("details[data-remember]").forEach(remember);
})();
