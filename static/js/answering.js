/* One card at a time: what its buttons do while an answer is under way, and what is said when it cannot be sent.
 *
 * A card's request touches that card only, so another card can be answered meanwhile.
 */
(function () {
  "use strict";
  const WHY = window.needsYouWords.problems;

  const holder = (node) => node.closest("[data-card], form");

  function busy(node, submitter) {
    const place = holder(node);
    if (!place) return;
    for (const button of place.querySelectorAll("button")) {
      if (button === submitter) button.setAttribute("aria-busy", "true");
      else if (!button.disabled) { button.disabled = true; button.dataset.wasEnabled = ""; }
    }
    for (const field of place.querySelectorAll("textarea, input")) if (!field.readOnly) { field.readOnly = true; field.dataset.wasOpen = ""; }
    place.querySelector("[data-problem]")?.remove();
  }

  function free(node) {
    const place = holder(node);
    if (!place) return;
    for (const button of place.querySelectorAll("[aria-busy]")) button.removeAttribute("aria-busy");
    for (const button of place.querySelectorAll("[data-was-enabled]")) { button.disabled = false; delete button.dataset.wasEnabled; }
    for (const field of place.querySelectorAll("[data-was-open]")) { field.readOnly = false; delete field.dataset.wasOpen; }
  }

  function say(node, status) {
    const place = holder(node);
    if (!place) return;
    const note = document.createElement("div");
    note.className = "note";
    note.dataset.problem = "";
    note.setAttribute("role", "alert");
    const words = document.createElement("span");
    words.textContent = WHY[status] || WHY[status >= 500 ? 500 : 0];
    note.append(words);
    if (status === 401 || status === 403) {
      const link = document.createElement("a");
      link.href = location.href;
      link.textContent = WHY.reload;
      note.append(link);
    }
    const form = node.closest("form") || place;
    form.append(note);
  }

  /* Polling asks by GET; it is nobody's answer and says nothing. */
  function on(name, act) {
    document.addEventListener(name, (event) => { if (event.detail.requestConfig?.verb === "post") act(event); });
  }

  on("htmx:beforeRequest", (event) => busy(event.target, event.detail.requestConfig.triggeringEvent?.submitter));
  on("htmx:afterRequest", (event) => free(event.target));
  on("htmx:responseError", (event) => say(event.target, event.detail.xhr.status));
  on("htmx:sendError", (event) => say(event.target, 0));
  on("htmx:timeout", (event) => say(event.target, 0));

  /* A refusal is a card too, and it is shown whatever its status. */
  on("htmx:beforeSwap", (event) => {
    if (!event.detail.xhr.getResponseHeader("X-Card")) return;
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  });

  /* What is asked instead may have come over the socket already, further down. */
  function leaveOne(card) {
    for (const same of document.querySelectorAll(`#${CSS.escape(card.id)}`)) if (same !== card) same.remove();
  }

  /* The pressed button is gone with the card it was in: keyboard and screen reader go on at the new one. */
  let inside = false;
  on("htmx:beforeSwap", (event) => { inside = event.detail.target.contains(document.activeElement); });
  on("htmx:afterSwap", (event) => {
    const id = event.detail.target.id;
    const place = document.querySelector(`[data-replaces="${CSS.escape(id)}"]`) || document.getElementById(id);
    if (place) leaveOne(place);
    if (!inside || !place || !place.isConnected) return;
    const next = place.querySelector("[data-focus]") || place.querySelector("[aria-invalid='true']") || place;
    if (next.matches("[tabindex], a, button, input, textarea")) next.focus();
    inside = false;
  });
})();
