/* An answer that can be taken back: its countdown, its key, and the card that is open again.
 *
 * The server decides whether it can still be taken back; the countdown only says how long that probably is. This script
 * comes before queue.js, because a card that is open again replaces its settled one before the queue looks at it.
 */
(function () {
  "use strict";
  const TICK = 200; // ms
  const STAY = 3000; // ms that a toast stays once nothing can be taken back
  const ends = new WeakMap(); // element -> when its window ends, by this page's clock

  const open = () => Array.from(document.querySelectorAll("[data-undo]"));

  function count() {
    for (const place of open()) {
      if (!ends.has(place)) ends.set(place, performance.now() + Number(place.dataset.left));
      const left = ends.get(place) - performance.now();
      const shown = String(Math.max(Math.ceil(left / 1000), 0));
      const number = place.querySelector("[data-undo-seconds]");
      if (number && number.textContent !== shown) number.textContent = shown;
      if (left <= 0 && !place.querySelector("[aria-busy]")) end(place);
    }
  }

  /* Nothing can be taken back here any more. The forms go; who was at one of them stays at the place. */
  function end(place) {
    const inside = place.contains(document.activeElement);
    place.removeAttribute("data-undo");
    for (const gone of place.querySelectorAll("[data-undo-form], .undo__wait")) gone.remove();
    if (inside) place.closest(".card")?.focus({ preventScroll: true });
    if (place.matches(".toast")) setTimeout(() => place.matches(":hover") || place.remove(), STAY);
  }

  /* ---- the key ---- */
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "u" || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.repeat || event.isComposing || event.keyCode === 229 || event.defaultPrevented) return;
    if (!open().length || document.querySelector("dialog[open]")) return;
    if (!window.needsYou.keysAreFree(event.target)) return;
    const toasts = open().filter((place) => place.matches(".toast"));
    const place = toasts.pop() || open().pop();
    const button = place && place.querySelector("[data-take-back]");
    if (!button || button.disabled || button.hasAttribute("aria-busy")) return;
    event.preventDefault();
    button.form.requestSubmit(button);
  });

  /* ---- what the server answered ---- */
  document.addEventListener("htmx:afterRequest", (event) => {
    if (!event.target.matches?.("[data-undo-form]")) return;
    const { xhr } = event.detail;
    if (!xhr.getResponseHeader("X-Card")) return;
    const number = event.target.closest("[data-undo]")?.dataset.undo;
    for (const place of open()) if (place.dataset.undo === number) close(place);
    const now = new DOMParser().parseFromString(xhr.responseText, "text/html").querySelector("template[data-card-now]");
    if (now) show(now.dataset.cardNow, now.innerHTML);
  });

  function close(place) {
    end(place);
    if (place.matches(".toast")) place.remove();
  }

  /* Put a card into the place of the one with its id; if that has left the queue, at its place by age. */
  function show(id, html) {
    const old = document.getElementById(id);
    const list = document.getElementById("cards");
    if (old) htmx.swap(old, html, { swapStyle: "outerHTML" });
    else if (list) htmx.swap(list, html, { swapStyle: "afterbegin" });
    const card = document.getElementById(id);
    if (!card) return;
    if (card.matches("[data-open]")) card.focus({ preventScroll: true });
    window.needsYou.keepAgain(card);
  }

  /* A card that arrives while its settled one is still shown was taken back elsewhere: it replaces that one. */
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target, fragment } = event.detail;
    if (!target.matches(".cards")) return;
    for (const card of fragment.querySelectorAll(".card[data-open]")) {
      const settled = document.getElementById(card.id);
      if (settled && !settled.matches("[data-open]") && !settled.contains(document.activeElement)) {
        settled.replaceWith(card);
        htmx.process(card);
      }
    }
  });

  setInterval(count, TICK);
  document.addEventListener("DOMContentLoaded", count);
  document.addEventListener("htmx:afterSettle", count);
})();
