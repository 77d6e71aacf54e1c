/* The queue on the page: which card is current, the keys, and cards that come and go by themselves.
 *
 * What arrives never takes focus and never loses typed text. No card becomes current by itself, but for the first one of
 * a page that the person opened.
 */
(function () {
  "use strict";
  const WORDS = window.needsYouWords.queue;
  const { choose, holdCard, isComposing, keysAreFree, typedIn } = window.needsYou;
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

  function chooseNumber(number) {
    const card = current();
    if (card) choose(card.querySelectorAll("[data-option]")[number - 1]);
  }

  function openRun() {
    const link = current() && current().querySelector("[data-open-run]");
    if (link) location.assign(link.href);
  }

  function help() {
    const dialog = document.getElementById("shortcuts");
    if (dialog && !dialog.open) dialog.showModal();
  }

  const isChord = (event) => event.ctrlKey || event.metaKey || event.altKey || event.getModifierState("AltGraph");

  document.addEventListener("keydown", (event) => {
    if (isChord(event) || event.repeat || event.defaultPrevented || isComposing(event)) return;
    if (event.key.length !== 1 || event.key === " " || document.querySelector("dialog[open]")) return;
    if (!keysAreFree(event.target)) return;
    const key = event.key.toLowerCase();
    if (key === "?") help();
    else if (!cards().length) return;
    else if (/^[1-9]$/.test(key)) chooseNumber(Number(key)); // on some keyboards with Shift
    else if (event.shiftKey) return;
    else if (key === "j") step(1);
    else if (key === "k") step(-1);
    else if (key === "o") openRun();
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
  document.addEventListener("htmx:wsAfterMessage", () => { settle(); count(); });
  document.addEventListener("htmx:afterRequest", () => { settle(); count(); });

  let arrived = 0;
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target, fragment } = event.detail;
    if (target.matches(".cards")) admit(target, fragment);
    else if (target.matches(".card")) {
      // settled here already, or its own answer is under way and brings the card itself
      const fresh = fragment.querySelector(".card") || fragment.firstElementChild;
      const isOver = target.matches(":not([data-open]):not(:has([data-held]))") || target.querySelector("[aria-busy]");
      if (isOver || holdCard(target, fresh)) event.detail.shouldSwap = false;
      else keepPlace(target, fresh);
    }
  });

  /* A card that is here already stays as it is; on a page that is full, new ones only count. */
  function admit(list, fragment) {
    for (const card of fragment.querySelectorAll(".card")) {
      if (document.getElementById(card.id) || "full" in list.dataset) card.remove();
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

  /* A card that somebody else settled keeps its height for now, the focus that was on it, and the words typed into it. */
  function keepPlace(old, fresh) {
    const { height } = old.getBoundingClientRect();
    const focused = old.contains(document.activeElement);
    if (fresh && old.hasAttribute("aria-current")) fresh.setAttribute("aria-current", "true");
    const typed = typedIn(old);
    if (fresh && typed) {
      const kept = document.createElement("p");
      kept.className = "kept";
      kept.textContent = WORDS.not_sent.replace("{typed}", () => typed);
      (fresh.querySelector(".card__in") || fresh).append(kept);
      fresh.removeAttribute("data-settled");
    }
    queueMicrotask(() => {
      const card = document.getElementById(old.id);
      if (!card || card === old) return;
      card.style.minBlockSize = `${height}px`; // on the page, as the policy refuses it in markup
      if (focused) card.focus({ preventScroll: true });
    });
  }

  /* A card that waited under a field takes its place. */
  document.addEventListener("card:released", (event) => {
    const { fresh } = event.detail;
    if (!fresh) { event.target.remove(); return; }
    keepPlace(event.target, fresh);
    event.target.replaceWith(fresh);
    htmx.process(fresh);
    settle();
  });

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
    card.remove();
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

  if (!window.needsYou.reloaded) makeCurrent(cards()[0]);
})();
