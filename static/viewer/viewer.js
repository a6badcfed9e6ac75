// Comfort for the capture pages; each of them works without it.
"use strict";

(function () {
  const live = document.createElement("div");
  live.setAttribute("aria-live", "polite");
  live.className = "visually-hidden";

  // What is copied is what the server has, never what the page shows: a page loses CR and NUL.
  // Bytes that are no text, and half surrogates, end in an error here: no clipboard holds them.
  async function wanted(button) {
    if (button.dataset.copyUrl === undefined) return button.dataset.copy;
    const answer = await fetch(button.dataset.copyUrl, { credentials: "same-origin" });
    if (!answer.ok) throw new Error(String(answer.status));
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await answer.arrayBuffer());
    if (text.includes("\0")) throw new Error("NUL");  // some systems end a clipboard's text there
    return text;
  }

  // Where the page is not a secure context there is no navigator.clipboard. The event's own clipboard takes the text
  // as it is; a selected text field would rewrite its line ends.
  function copyByEvent(text) {
    let done = false;
    const give = (event) => {
      event.clipboardData.setData("text/plain", text);
      event.preventDefault();
      done = true;
    };
    document.addEventListener("copy", give, { once: true });
    document.execCommand("copy");
    document.removeEventListener("copy", give);
    return done;
  }

  async function copy(button) {
    let said = "copied";
    try {
      const text = await wanted(button);
      if (navigator.clipboard) await navigator.clipboard.writeText(text);
      else if (!copyByEvent(text)) said = "not copied";
    } catch {
      said = button.dataset.copyUrl === undefined ? "not copied" : "cannot be copied: download it";
    }
    const before = button.dataset.label ?? button.textContent;
    button.dataset.label = before;
    button.textContent = said;
    live.textContent = said;
    setTimeout(() => { button.textContent = before; }, 3000);
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

  // The list scrolls within its own frame: the page stays where it is.
  function showInList(link) {
    const list = link?.closest("ol");
    if (!list) return;
    const { top, bottom } = link.getBoundingClientRect(), frame = list.getBoundingClientRect();
    if (top < frame.top || bottom > frame.bottom) list.scrollTop += top - frame.top - (frame.height - (bottom - top)) / 2;
  }

  // After a turn was fetched: the list and the strip point to it, and reading goes on there.
  function arrived() {
    const turn = document.querySelector("#shown [data-turn]");
    if (!turn) return;
    for (const link of document.querySelectorAll("[data-leads]")) {
      if (link.dataset.leads === turn.id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    showInList(document.querySelector(".turns a[aria-current]"));
    turn.focus({ preventScroll: true });
    if (turn.getBoundingClientRect().top < 0) turn.scrollIntoView({ block: "start" });
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy], [data-copy-url]");
    if (button) copy(button);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
  });
  // News is asked for while somebody looks.
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && event.target.classList.contains("newer")) event.preventDefault();
  });
  document.addEventListener("htmx:afterSwap", (event) => { if (event.target.id === "shown") arrived(); });
  // A window of a long text took the place of the one whose link was pressed: reading, and the focus, go on in it.
  document.addEventListener("htmx:load", (event) => {
    if (event.target.classList.contains("window")) event.target.querySelector("pre")?.focus();
  });
  // Rows of a run took the place of those whose link was pressed: the same.
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.requestConfig?.elt.closest("nav[data-rows]")) document.getElementById(event.detail.target.id)?.focus();
  });
  document.addEventListener("htmx:historyRestore", arrived);
  document.body.append(live);
  document.querySelectorAll("details[data-remember]").forEach(remember);
  showInList(document.querySelector(".turns a[aria-current]"));
})();
