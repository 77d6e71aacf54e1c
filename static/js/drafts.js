/* Keeps what is typed or chosen until it is sent: a reload, a lost connection or a signed-out tab costs no words.
 *
 * Each field with data-draft="key" is kept in this tab's sessionStorage under that key and put back into a field that
 * stands as the server sent it. A draft is dropped once the server has it: data-sent="key" anywhere in its answer drops
 * that key and those below it, such as key/amount.
 */
(function () {
  "use strict";
  const PREFIX = "draft:";
  const { endTyping, isComposing } = window.needsYou;

  const asSent = (field) =>
    field.options ? Array.from(field.options, (option) => option.defaultSelected).indexOf(true) : field.defaultValue;
  const now = (field) => (field.options ? field.selectedIndex : field.value);
  const isUntouched = (field) => (field.type === "radio" ? !field.checked : isAsSent(field));
  const isAsSent = (field) => now(field) === (field.options ? Math.max(0, asSent(field)) : asSent(field));

  function keep(field) {
    try {
      if (isUntouched(field)) sessionStorage.removeItem(PREFIX + field.dataset.draft);
      else sessionStorage.setItem(PREFIX + field.dataset.draft, field.value);
    } catch { /* storage full or forbidden: the field itself still holds the words */ }
  }

  /* What was sent and taken back is a draft again, although it stands as the server sent it. */
  function keepAgain(root) {
    for (const field of root.querySelectorAll("[data-draft]")) {
      if (!field.value) continue;
      try { sessionStorage.setItem(PREFIX + field.dataset.draft, field.value); } catch { /* as above */ }
    }
  }

  window.needsYou.keepAgain = keepAgain;

  function restore(root) {
    for (const field of root.querySelectorAll("[data-draft]")) {
      let typed = null;
      try { typed = sessionStorage.getItem(PREFIX + field.dataset.draft); } catch { /* as above */ }
      if (field.type === "radio") {
        field.checked = field.checked || field.value === typed;
        continue;
      }
      if (typed === null || !isUntouched(field) || typed === field.value) continue;
      field.value = typed;
      for (let fold = field.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    }
  }

  function drop(root) {
    for (const mark of root.querySelectorAll("[data-sent]")) {
      const sent = PREFIX + mark.dataset.sent;
      try {
        for (const key of Object.keys(sessionStorage)) {
          if (key === sent || key.startsWith(`${sent}/`) || key.startsWith(`${sent}-`)) sessionStorage.removeItem(key);
        }
      } catch { /* as above */ }
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
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.repeat || isComposing(event)) return;
    const form = event.target.closest && event.target.closest("textarea")?.form;
    const button = form && form.querySelector("[data-send]");
    if (!button || button.disabled) return;
    event.preventDefault();
    endTyping();
    form.requestSubmit(button);
  });
})();
