/* Keeps "41 min ago" true while the page stays open, and shows clock times in the reader's own time zone. */
(function () {
  "use strict";

  /* The scale is the server's own. */
  function age(seconds) {
    const s = Math.max(0, Math.floor(seconds));
    if (s < 60) return "under 1 min";
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

  /* The zone that the reader has said, or else the browser's own; which one that is, stands in the title. */
  const zone = known(document.documentElement.dataset.zone);
  const time = { hour: "2-digit", minute: "2-digit", hour12: false, timeZone: zone };
  const HOURS = new Intl.DateTimeFormat(undefined, time);
  const DAYS = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", ...time });
  const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: "short", timeZone: zone });

  function known(name) {
    try {
      return name && new Intl.DateTimeFormat(undefined, { timeZone: name }).resolvedOptions().timeZone;
    } catch {
      return undefined;
    }
  }

  function localise(root) {
    for (const time of root.querySelectorAll("time[data-clock]")) {
      const moment = new Date(time.dateTime);
      if (Number.isNaN(moment.getTime())) continue;
      time.textContent = (DATE.format(moment) === DATE.format(new Date()) ? HOURS : DAYS).format(moment);
      time.title = moment.toLocaleString(undefined, { timeZone: zone, timeZoneName: "short" });
      time.removeAttribute("data-clock");
    }
  }

  document.addEventListener("htmx:load", (event) => localise(event.detail.elt.parentElement || document));
  localise(document);
  setInterval(refresh, 15000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
})();
