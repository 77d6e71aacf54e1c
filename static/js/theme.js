/* Runs before the first paint: says that scripts work, and puts on the chosen theme. */
(function () {
  "use strict";
  const root = document.documentElement;
  root.dataset.js = "";

  function chosen() {
    try { return localStorage.getItem("theme"); } catch { return null; }
  }

  function wear(theme) {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
    for (const button of document.querySelectorAll("[data-set-theme]")) {
      button.setAttribute("aria-pressed", String(button.dataset.setTheme === (theme || "")));
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-set-theme]");
    if (!button) return;
    try { localStorage.setItem("theme", button.dataset.setTheme); } catch { /* private window: this page only */ }
    wear(button.dataset.setTheme);
  });
  /* A menu closes when one looks elsewhere. */
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll(".menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && event.target.closest && event.target.closest(".menu[open]");
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });

  document.addEventListener("DOMContentLoaded", () => wear(chosen()));
  wear(chosen());
})();
