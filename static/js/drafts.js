/* Keeps what is typed until it is sent: a reload, a lost connection or a signed-out tab costs no words.
 *
 * Each field with data-draft="key" is kept in this tab's sessionStorage under that key and put back into an empty field.
 * Sent drafts are dropped once the server says that it has them (data-sent="key" anywhere in its answer).
 */
(function () {
  "use strict";
  const PREFIX = "draft:";

  function keep(field) {
    try {
      if (field.value.trim()) sessionStorage.setItem(PREFIX + field.dataset.draft, field.value);
      else sessionStorage.removeItem(PREFIX + field.dataset.draft);
    } catch { /* storage full or forbidden: the field itself still holds the words */ }
  }

  function restore(root) {
    for (const field of root.querySelectorAll("[data-draft]")) {
      let words = null;
      try { words = sessionStorage.getItem(PREFIX + field.dataset.draft); } catch { /* as above */ }
      if (words && !field.value) {
        field.value = words;
        field.closest("details")?.setAttribute("open", "");
      }
    }
  }

  function drop(root) {
    for (const mark of root.querySelectorAll("[data-sent]")) {
      try { sessionStorage.removeItem(PREFIX + mark.dataset.sent); } catch { /* as above */ }
    }
  }

  document.addEventListener("input", (event) => { if (event.target.dataset && event.target.dataset.draft) keep(event.target); });
  document.addEventListener("htmx:load", (event) => {
    const root = event.detail.elt.parentElement || document;
    drop(root);
    restore(root);
  });
  drop(document);
  restore(document);

  /* Ctrl+Enter or Cmd+Enter sends the words at hand. */
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.repeat) return;
    const form = event.target.closest && event.target.closest("textarea")?.form;
    const button = form && form.querySelector("[data-send]");
    if (button && !button.disabled) { event.preventDefault(); form.requestSubmit(button); }
  });
})();
