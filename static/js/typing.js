/* Where somebody types, nothing is taken away: a card that was settled elsewhere says so above the field and sends no
 * more; it changes once the person has left the field.
 *
 * A field that is gone all the same leaves its letters to the shortcuts. So the keys are dead until the person does
 * something that is not typing: a press, Tab or Escape.
 */
(function () {
  "use strict";
  const WORDS = window.needsYouWords.typing;
  const { say } = window.needsYou;
  const FIELDS = "input:not([type=hidden], [type=submit], [type=button], [type=checkbox], [type=radio]), textarea, select, [contenteditable]";
  const pending = new Map(); // card -> the card that takes its place
  let field = null; // where the person typed last, until they leave it on purpose

  const isField = (node) => node instanceof Element && node.matches(FIELDS);

  document.addEventListener("focusin", (event) => { if (isField(event.target)) field = event.target; }, true);
  document.addEventListener("pointerdown", () => { field = null; }, true);
  document.addEventListener("keydown", (event) => { if (event.key === "Tab" || event.key === "Escape") field = null; }, true);

  /* Whether a key may be a shortcut: nobody types, and nobody was cut off while typing. */
  function keysAreFree(target) {
    if (isField(target)) return false;
    if (!field) return true;
    say(WORDS.keys_off);
    return false;
  }

  /* Keeps the card under a field, and says above the field what became of it. */
  function holdCard(card, fresh) {
    const inside = card.contains(document.activeElement) && isField(document.activeElement);
    if (!inside) return false;
    pending.set(card, fresh);
    card.removeAttribute("data-open");
    for (const button of card.querySelectorAll("button")) button.disabled = true;
    const place = document.activeElement.closest(".field") || document.activeElement.parentElement;
    card.querySelector("[data-held]")?.remove();
    place.prepend(heldNote(fresh));
    return true;
  }

  function heldNote(fresh) {
    const note = document.createElement("p");
    note.className = "held";
    note.dataset.held = "";
    note.setAttribute("role", "alert");
    const outcome = fresh && fresh.querySelector("[data-outcome]");
    note.textContent = [outcome ? outcome.textContent.replace(/\s+/g, " ").trim() : WORDS.gone, WORDS.kept].join(" ");
    return note;
  }

  /* Once the field is left, the card becomes what it is now. */
  function release(card) {
    if (!pending.has(card) || card.contains(document.activeElement)) return;
    const fresh = pending.get(card);
    pending.delete(card);
    if (!card.isConnected) return;
    card.dispatchEvent(new CustomEvent("card:released", { bubbles: true, detail: { fresh } }));
  }

  document.addEventListener("focusout", (event) => {
    const card = event.target.closest?.(".card");
    if (card && pending.has(card)) setTimeout(() => release(card), 0);
  });

  /* A page that loads itself again makes no card current: its reader may be in the middle of a word. */
  const RELOADED = "reloaded";
  const wasReloaded = sessionStorage.getItem(RELOADED) !== null;
  sessionStorage.removeItem(RELOADED);

  function reload() {
    sessionStorage.setItem(RELOADED, "");
    location.reload();
  }

  /* A page from the browser's own store shows what was true when it was left. */
  addEventListener("pageshow", (event) => { if (event.persisted) reload(); });

  Object.assign(window.needsYou, { reload, reloaded: wasReloaded, keysAreFree, holdCard, typedIn: (card) => typedIn(card), endTyping: () => { field = null; } });

  /* What was typed into a card and not sent; empty if nothing was. */
  function typedIn(card) {
    const changed = Array.from(card.querySelectorAll("textarea, input:not([type=hidden])")).filter((area) => area.value !== area.defaultValue || area.matches("[name=text]"));
    return changed.map((area) => area.value.trim()).filter(Boolean).join("\n\n");
  }
})();
