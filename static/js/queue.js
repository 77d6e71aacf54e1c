/* The queue on the page: which card is current, the keys, and cards that come and go by themselves.
 *
 * What arrives never takes focus, never moves what is being pointed at without a pause, and never loses typed text.
 */
(function () {
  "use strict";
  const WORDS = window.needsYouWords.queue;
  const PAUSE = 500; // ms in which a card that moved takes no click
  const STAY = 6000; // ms that a settled card stays at least
  const cards = () => Array.from(document.querySelectorAll(".cards > .card:not([hidden])"));
  const current = () => document.querySelector(".card[aria-current]");
  const listOf = (node) => node && node.closest && node.closest(".cards");

  function makeCurrent(card) {
    if (!card || card === current()) return;
    for (const other of document.querySelectorAll(".card[aria-current]")) other.removeAttribute("aria-current");
    card.setAttribute("aria-current", "true");
    card.dispatchEvent(new CustomEvent("card:current", { bubbles: true }));
  }

  function step(by) {
    const all = cards();
    if (!all.length) return;
    const at = all.indexOf(current());
    const next = all[Math.max(0, Math.min(all.length - 1, at + by))];
    makeCurrent(next);
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }

  function choose(number) {
    const card = current();
    const buttons = card ? card.querySelectorAll("[data-option]") : [];
    const button = buttons[number - 1];
    if (button && !button.disabled && !card.classList.contains("moved")) button.click();
  }

  function openRun() {
    const link = current() && current().querySelector("[data-open-run]");
    if (link) location.assign(link.href);
  }

  function help() {
    const dialog = document.getElementById("shortcuts");
    if (dialog && !dialog.open) dialog.showModal();
  }

  function typing(target) {
    return target instanceof Element && target.closest("input, textarea, select, [contenteditable]");
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing) return;
    if (event.defaultPrevented || typing(event.target) || document.querySelector("dialog[open]")) return;
    const key = event.key.toLowerCase();
    if (key === "?") { help(); event.preventDefault(); return; }
    if (event.shiftKey || !cards().length) return;
    if (key === "j") step(1);
    else if (key === "k") step(-1);
    else if (key === "o") openRun();
    else if (/^[1-9]$/.test(key)) choose(Number(key));
    else return;
    event.preventDefault();
  });

  document.addEventListener("focusin", (event) => makeCurrent(event.target.closest(".cards > .card")));
  document.addEventListener("pointerdown", (event) => makeCurrent(event.target.closest(".cards > .card")));

  /* The pane beside the queue follows the current card, once the reader rests on it. */
  let resting = 0;
  document.addEventListener("card:current", (event) => {
    const pane = document.getElementById("pane");
    const link = event.target.querySelector("[data-open-run]");
    if (!pane || !link || !pane.checkVisibility() || pane.dataset.of === link.pathname) return;
    clearTimeout(resting);
    resting = setTimeout(() => htmx.ajax("GET", `${link.pathname}pane`, { source: pane, target: pane, swap: "outerHTML" }), 200);
  });

  /* ---- coming and going ---- */
  const tops = new Map();

  function remember() {
    tops.clear();
    for (const node of document.querySelectorAll(".page .card, .page .rows > li")) tops.set(node, node.getBoundingClientRect().top);
  }

  function holdWhatMoved() {
    for (const [node, top] of tops) {
      if (!node.isConnected || Math.abs(node.getBoundingClientRect().top - top) < 2) continue;
      node.classList.add("moved");
      setTimeout(() => node.classList.remove("moved"), PAUSE);
    }
    tops.clear();
  }

  document.addEventListener("htmx:wsBeforeMessage", remember);
  document.addEventListener("htmx:wsAfterMessage", () => { holdWhatMoved(); settle(); count(); });
  document.addEventListener("htmx:afterRequest", () => { settle(); count(); });

  let arrived = 0;
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target, fragment } = event.detail;
    if (target.matches(".cards")) admit(target, fragment);
    else if (target.matches(".card")) {
      // settled here already, or its own answer is under way and brings the card itself
      if (target.matches(":not([data-open])") || target.querySelector("[aria-busy]")) event.detail.shouldSwap = false;
      else keepPlace(target, fragment);
    }
  });

  /* A card that is here already stays as it is; on a page that is full, new ones only count. */
  function admit(list, fragment) {
    for (const card of fragment.querySelectorAll(".card")) {
      if (document.getElementById(card.id) || list.dataset.full) card.remove();
      else arrived += 1;
    }
    announce();
  }

  function announce() {
    const region = document.getElementById("announce");
    if (!region || !arrived) return;
    region.textContent = arrived === 1 ? WORDS.arrived_one : WORDS.arrived.replace("{count}", arrived);
    clearTimeout(announce.timer);
    announce.timer = setTimeout(() => { arrived = 0; region.textContent = ""; }, 4000);
  }

  /* A card that somebody else settled keeps its height for now, and the words typed into it. */
  function keepPlace(old, fragment) {
    const fresh = fragment.querySelector(".card") || fragment.firstElementChild;
    if (!fresh) return;
    fresh.style.minBlockSize = `${old.offsetHeight}px`;
    if (old.hasAttribute("aria-current")) fresh.setAttribute("aria-current", "true");
    const typed = Array.from(old.querySelectorAll("textarea"), (area) => area.value.trim()).filter(Boolean).join("\n\n");
    if (!typed) return;
    const kept = document.createElement("p");
    kept.className = "kept";
    kept.textContent = WORDS.not_sent.replace("{typed}", () => typed);
    (fresh.querySelector(".card__in") || fresh).append(kept);
    fresh.removeAttribute("data-settled");
  }

  /* Settled cards leave when nobody is at them: no focus inside, no pointer over the list. */
  function settle() {
    for (const card of document.querySelectorAll(".cards:not([data-stays]) > .card[data-settled]:not([data-leaving])")) {
      card.dataset.leaving = "";
      setTimeout(() => leave(card), STAY);
    }
  }

  function leave(card) {
    if (!card.isConnected) return;
    const busy = card.contains(document.activeElement) || card.querySelector("details[open]") || (listOf(card) && listOf(card).matches(":hover"));
    if (busy) { setTimeout(() => leave(card), 1000); return; }
    remember();
    const next = card.nextElementSibling || card.previousElementSibling;
    const wasCurrent = card.hasAttribute("aria-current");
    card.remove();
    if (wasCurrent && next && next.matches(".card")) makeCurrent(next);
    holdWhatMoved();
  }

  /* The title and the sentence at the top say the number that the badge says. */
  function count() {
    const badge = document.querySelector("[data-count]");
    if (!badge) return;
    const number = Number(badge.dataset.count);
    const bare = document.title.replace(/^\(\d+\) /, "");
    document.title = number ? `(${number}) ${bare}` : bare;
    const some = document.querySelector("[data-some]");
    if (!some) return;
    some.hidden = !number;
    document.querySelector("[data-none]").hidden = Boolean(number);
    some.querySelector("[data-some-words]").textContent = number === 1 ? WORDS.waits_one : WORDS.waits.replace("{count}", number);
    sayOldest(some);
  }

  function sayOldest(place) {
    const waits = Array.from(document.querySelectorAll(".card[data-open] .age time[data-age]"));
    const oldest = waits.sort((a, b) => Date.parse(a.dateTime) - Date.parse(b.dateTime))[0];
    const shown = place.querySelector("b:last-of-type");
    if (oldest && shown) shown.replaceChildren(oldest.cloneNode(true));
  }

  makeCurrent(cards()[0]);
})();
