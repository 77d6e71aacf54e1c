/* One card at a time: what its buttons do while an answer is under way, and what is said when it cannot be sent.
 *
 * A card's request touches that card only, so another card can be answered meanwhile.
 */
(function () {
  "use strict";
  const WHY = {
    0: "The server could not be reached. Nothing is lost: your answer may or may not have arrived, and sending it again records it once.",
    400: "The server could not read that; most likely it is far too long. Nothing was recorded, and it is still here.",
    401: "You are signed out, so nothing was recorded. Sign in in another tab, then send again.",
    403: "This page is too old to be trusted, so nothing was recorded. Reload it; what you typed is kept.",
    404: "This is not yours, or it is gone. Nothing was recorded.",
    413: "That is too long to send. Nothing was recorded; shorten it and send again.",
    429: "Too many tries in a short time. Wait a moment and send again.",
    500: "The server failed, and nothing was recorded. What you typed is still here.",
  };

  const holder = (node) => node.closest("[data-card], form");

  function busy(node, submitter) {
    const place = holder(node);
    if (!place) return;
    for (const button of place.querySelectorAll("button")) {
      if (button === submitter) button.setAttribute("aria-busy", "true");
      else if (!button.disabled) { button.disabled = true; button.dataset.wasEnabled = ""; }
    }
    place.querySelector("[data-problem]")?.remove();
  }

  function free(node) {
    const place = holder(node);
    if (!place) return;
    for (const button of place.querySelectorAll("[aria-busy]")) button.removeAttribute("aria-busy");
    for (const button of place.querySelectorAll("[data-was-enabled]")) { button.disabled = false; delete button.dataset.wasEnabled; }
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
      link.textContent = "Reload this page";
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
