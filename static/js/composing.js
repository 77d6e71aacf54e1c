/* Whether an input method is composing a word. Its keys belong to the word: none of them sends or chooses anything.
 *
 * Browsers say it in three ways: isComposing, the key code 229, and in Safari neither at the Enter that ends the word.
 */
(function () {
  "use strict";
  const AFTER = 50; // ms after a word in which its last key may still arrive
  let composing = false;
  let ended = -Infinity;

  document.addEventListener("compositionstart", () => { composing = true; }, true);
  document.addEventListener("compositionend", () => { composing = false; ended = performance.now(); }, true);

  const isComposing = (event) =>
    composing || event.isComposing || event.keyCode === 229 || performance.now() - ended < AFTER;

  /* Neither a field's own Enter nor a shortcut may act on such a key, whoever listens. */
  document.addEventListener("submit", (event) => { if (composing) { event.preventDefault(); event.stopImmediatePropagation(); } }, true);

  window.needsYou.isComposing = isComposing;
})();
