/* What of a card was in view. An approval counts only once all that it covers was; until then a press goes there.
 *
 * A part is a paragraph, a row or an unfolded text. Of a part that is taller than the window, the stretches that were in
 * view add up.
 */
(function () {
  "use strict";
  const PARTS = ".words--ask > *, .bound figcaption, .bound dl > div, .bound [data-fold] > :not(summary), .bound .long > :not(summary)";
  const FOLDS = ".bound details";
  const SLACK = 4; // px of a part that may stay out of view
  const stretches = new WeakMap(); // part -> [[from, to], …] from its top, in px
  const read = new WeakSet(); // parts that were in view as a whole

  const isBound = (card) => card.querySelector(".bound") !== null;
  const shown = (part) => part.checkVisibility() && part.getBoundingClientRect().height > 0;

  /* The stretch of the window in which a card can be seen: not what bars at its edges cover. */
  function windowOf(card) {
    const bar = card.querySelector("[data-answer-bar]");
    const covers = bar && getComputedStyle(bar).position === "sticky" ? bar.getBoundingClientRect().top : innerHeight;
    const foot = Array.from(document.querySelectorAll(".tabs, .keys"), (node) => node.getBoundingClientRect())
      .filter((box) => box.height && box.bottom >= innerHeight - 1)
      .reduce((least, box) => Math.min(least, box.top), innerHeight);
    const clamp = card.querySelector("[data-folded]");
    const cut = clamp ? clamp.getBoundingClientRect().bottom : Infinity;
    const head = document.querySelector(".topbar");
    return [head ? Math.max(0, head.getBoundingClientRect().bottom) : 0, Math.min(covers, foot, cut)];
  }

  function notePart(part, [from, to]) {
    const box = part.getBoundingClientRect();
    const seen = [Math.max(0, from - box.top), Math.min(box.height, to - box.top)];
    if (seen[1] <= seen[0]) return;
    const merged = merge([...(stretches.get(part) || []), seen]);
    stretches.set(part, merged);
    if (merged.length === 1 && merged[0][0] <= SLACK && merged[0][1] >= box.height - SLACK) read.add(part);
  }

  function merge(list) {
    list.sort((a, b) => a[0] - b[0]);
    const merged = [list[0]];
    for (const [from, to] of list.slice(1)) {
      const last = merged[merged.length - 1];
      if (from <= last[1] + SLACK) last[1] = Math.max(last[1], to);
      else merged.push([from, to]);
    }
    return merged;
  }

  function note() {
    for (const card of document.querySelectorAll(".card:has(.bound)")) {
      const box = card.getBoundingClientRect();
      if (box.bottom < 0 || box.top > innerHeight) continue;
      const view = windowOf(card);
      for (const part of card.querySelectorAll(PARTS)) if (!read.has(part) && shown(part)) notePart(part, view);
    }
  }

  /* The first fold or part that was never in view as a whole; null if all was. */
  function unread(card) {
    note();
    const isRead = (box) => Array.from(box.querySelectorAll(":scope > :not(summary)")).every((part) => read.has(part));
    const folds = Array.from(card.querySelectorAll(FOLDS)).filter((box) => !box.open && !isRead(box));
    const parts = Array.from(card.querySelectorAll(PARTS)).filter((part) => shown(part) && !read.has(part));
    const first = [...folds, ...parts].sort((a, b) => (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
    return first[0] || null;
  }

  /* Opens and shows what was not in view yet, at most a window of it. */
  function show(card, part) {
    card.querySelector("[data-folded]")?.removeAttribute("data-folded");
    fold();
    for (let outer = part.closest("details"); outer && card.contains(outer); outer = outer.parentElement.closest("details")) outer.open = true;
    const first = (stretches.get(part) || [[0, 0]])[0];
    const from = first[0] <= SLACK ? first[1] : 0;
    const [top] = windowOf(card);
    scrollBy({ top: part.getBoundingClientRect().top + from - top - 12, behavior: "instant" });
    requestAnimationFrame(note);
  }

  /* Whether a control is on the screen as a whole, and nothing lies over it. */
  function inView(control) {
    const box = control.getBoundingClientRect();
    if (!box.height || box.top < 0 || box.left < 0 || box.bottom > innerHeight || box.right > innerWidth) return false;
    const points = [[0.5, 0.5], [0.05, 0.1], [0.95, 0.9]];
    return points.every(([x, y]) => control.contains(document.elementFromPoint(box.left + box.width * x, box.top + box.height * y)));
  }

  /* A card that fits needs no fold. */
  function fold() {
    for (const box of document.querySelectorAll("[data-folded]")) {
      const more = box.querySelector(":scope > [data-unfold]");
      if (box.scrollHeight <= box.clientHeight + SLACK) box.removeAttribute("data-folded");
      else more.hidden = false;
    }
    for (const more of document.querySelectorAll(".card__read:not([data-folded]) > [data-unfold]:not([hidden])")) more.hidden = true;
  }

  document.addEventListener("click", (event) => {
    const more = event.target.closest("[data-unfold]");
    if (!more) return;
    more.parentElement.removeAttribute("data-folded");
    more.hidden = true;
    later();
  });

  let due = false;
  function later() {
    if (due) return;
    due = true;
    requestAnimationFrame(() => { due = false; fold(); note(); });
  }

  addEventListener("scroll", later, { passive: true, capture: true });
  addEventListener("resize", later);
  document.addEventListener("toggle", later, true);
  for (const name of ["htmx:load", "htmx:wsAfterMessage", "htmx:afterSettle"]) document.addEventListener(name, later);
  fold();
  later();

  Object.assign(window.needsYou, { fold, isBound, unread, show, inView });
})();
