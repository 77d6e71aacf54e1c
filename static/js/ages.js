/* Keeps "41 min ago" true while the page stays open. The scale is the server's own. */
(function () {
  "use strict";

  function age(seconds) {
    const s = Math.max(0, Math.floor(seconds));
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min`;
    const hours = Math.floor(s / 3600);
    if (hours < 24) return `${hours} h ${Math.floor((s % 3600) / 60)} min`;
    return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  }

  function refresh() {
    for (const time of document.querySelectorAll("time[data-age]")) {
      const words = age((Date.now() - Date.parse(time.dateTime)) / 1000);
      if (time.textContent !== words) time.textContent = words;
    }
  }

  setInterval(refresh, 15000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
})();
