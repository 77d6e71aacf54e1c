/* Toasts go by themselves after a while, but not while somebody reads or uses them. */
(function () {
  "use strict";
  const STAY = 8000; // ms

  function expire(toast) {
    if (toast.matches("[data-undo]")) setTimeout(() => expire(toast), 1000); // undo.js ends it
    else if (toast.matches(":hover") || toast.contains(document.activeElement)) setTimeout(() => expire(toast), 1000);
    else toast.remove();
  }

  const region = document.getElementById("toasts");
  if (!region) return;
  new MutationObserver((changes) => {
    for (const change of changes) {
      for (const node of change.addedNodes) if (node.matches?.(".toast")) setTimeout(() => expire(node), STAY);
    }
  }).observe(region, { childList: true });
  for (const toast of region.querySelectorAll(".toast")) setTimeout(() => expire(toast), STAY);

  region.addEventListener("click", (event) => event.target.closest("[data-dismiss]")?.closest(".toast").remove());
})();
