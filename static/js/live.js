/* The live sockets: where they resume, how a dead one is noticed, and what the page says about it.
 *
 * The cursor is the DOM. A stream (data-stream="#list") resumes after the last data-seq in its list, so it can never run
 * ahead of what the person sees; a queue (data-queue="#cards") tells the server which cards it holds.
 * When no socket can be had, the page asks every few seconds instead (data-poll).
 */
(function () {
  "use strict";
  const SILENCE = Number(document.documentElement.dataset.silence || 40000); // ms; the server speaks at least every 15 s
  const POLL = Number(document.documentElement.dataset.pollEvery || 5000); // ms
  const GIVE_UP = 6 * POLL; // ms until what was asked is taken for lost
  const RETRY_MAX = 5000; // ms
  const SIGNED_OUT = 4401, AHEAD = 4409;
  const sockets = new Map(); // holder element -> {socket, wrapper, heard, state, since}

  htmx.config.wsReconnectDelay = (attempt) => Math.random() * Math.min(RETRY_MAX, 250 * 2 ** attempt);

  /* The extension freezes the address at first sight, so it is completed here, on every connect. */
  htmx.createWebSocket = function (url) {
    const holder = holderOf(url);
    const address = new URL(url);
    if (holder) for (const [name, value] of Object.entries(cursor(holder))) address.searchParams.set(name, value);
    return new WebSocket(address.href);
  };

  function holderOf(url) {
    const path = new URL(url).pathname;
    return Array.from(document.querySelectorAll("[ws-connect]")).find((e) => e.getAttribute("ws-connect") === path);
  }

  function cursor(holder) {
    if (holder.dataset.stream) return { after: lastSeq(document.querySelector(holder.dataset.stream)) };
    if (holder.dataset.queue) return { have: heldBy(document.querySelector(holder.dataset.queue)) };
    if ("badge" in holder.dataset) return { shown: shownCount() };
    return {};
  }

  function lastSeq(list) {
    const last = list && list.querySelector(":scope > [data-seq]:last-of-type");
    return last ? Number(last.dataset.seq) : Number((list && list.dataset.from) || 0);
  }

  /* One page of several takes no newcomers. */
  const heldBy = (list) => (list && "full" in list.dataset ? `full.${shownCount()},${held(list)}` : held(list));
  const shownCount = () => document.getElementById("needs-badge").dataset.count;

  function held(list) {
    if (!list) return "";
    const named = (card) => {
      const version = card.querySelector(":scope [data-version]");
      return version ? `${card.id}.${version.dataset.version}` : card.id;
    };
    return Array.from(list.querySelectorAll(":scope > .card[data-open]"), named).join(",");
  }

  function follow(holder, change) {
    const known = sockets.get(holder) || { socket: null, wrapper: null, heard: Date.now(), state: "connecting", since: Date.now() };
    if (change.state && change.state !== known.state) known.since = Date.now();
    sockets.set(holder, Object.assign(known, change));
    show();
  }

  /* The page shows its worst socket. */
  const WORDS = window.needsYouWords.connection;
  const WORST_FIRST = ["signed-out", "offline", "waiting", "polling", "connecting", "live"];
  let shown = "";

  function show() {
    const states = Array.from(sockets.values(), (known) => known.state);
    if (navigator.onLine === false) states.push("offline");
    const worst = WORST_FIRST.find((state) => states.includes(state));
    if (!worst || worst === shown) return;
    shown = worst;
    for (const place of document.querySelectorAll("[data-conn]")) {
      place.dataset.state = worst;
      place.querySelector("[data-conn-words]").textContent = WORDS[worst];
    }
    for (const banner of document.querySelectorAll("[data-banner]")) banner.hidden = banner.dataset.banner !== worst;
  }

  document.addEventListener("htmx:wsConnecting", (event) => follow(event.target, {}));
  document.addEventListener("htmx:wsOpen", (event) => {
    follow(event.target, { socket: event.detail.event.target, wrapper: event.detail.socketWrapper, heard: Date.now(), state: "live" });
  });
  document.addEventListener("htmx:wsBeforeMessage", (event) => follow(event.target, { heard: Date.now() }));
  document.addEventListener("htmx:wsClose", (event) => {
    const code = event.detail.event.code;
    if (code === AHEAD) return window.needsYou.reload(); // the database is older than this page: a backup was restored
    const known = sockets.get(event.target);
    const asks = known && known.state === "polling"; // and goes on asking while sockets are refused
    follow(event.target, { state: code === SIGNED_OUT ? "signed-out" : asks ? "polling" : "waiting" });
  });

  /* A second guard against repeats. It counts, so that tests can see that it had nothing to do. */
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const list = event.detail.target;
    if (!list.matches("[data-from]")) return;
    const seen = lastSeq(list);
    for (const item of event.detail.fragment.querySelectorAll("[data-seq]")) {
      if (Number(item.dataset.seq) > seen) continue;
      item.remove();
      window.repeatedEvents = (window.repeatedEvents || 0) + 1;
    }
    const holder = list.closest("[data-changes]");
    const kinds = Array.from(event.detail.fragment.querySelectorAll("[data-kind]"), (item) => item.dataset.kind);
    if (holder && kinds.some((kind) => !QUIET_KINDS.has(kind))) catchUp(holder);
  });

  /* What moves a session (an ask, an answer, a start, an end) changes more of its page than the thread. */
  const QUIET_KINDS = new Set(["output", "step", "usage", "report", "notice", "ignored"]);
  let due = 0;

  function catchUp(holder) {
    clearTimeout(due);
    due = setTimeout(() => {
      const query = new URLSearchParams({ have: held(document.getElementById("cards")) });
      htmx.ajax("GET", `${holder.dataset.changes}?${query}`, { source: holder, target: holder, swap: "none" });
    }, 60);
  }

  /* A peer that froze or a laptop that slept closes nothing: Chromium stays in CLOSING for a minute and the extension
   * only comes back on some codes. So a silent socket is dropped without waiting for its close. */
  function watch() {
    for (const [holder, known] of sockets) {
      if (!holder.isConnected) { sockets.delete(holder); continue; }
      const open = known.socket && known.socket.readyState === WebSocket.OPEN;
      if (open && Date.now() - known.heard > SILENCE) revive(holder, known);
    }
    show();
  }

  function revive(holder, known) {
    const dead = known.socket;
    dead.onclose = dead.onerror = dead.onmessage = null;
    dead.close(4000);
    follow(holder, { socket: null, state: "waiting" });
    known.wrapper.reconnect();
  }

  /* No socket for a while (a proxy that strips Upgrade): ask. The answers are the same fragments. */
  function poll() {
    for (const [holder, known] of sockets) {
      const cut = known.state !== "live" && known.state !== "signed-out" && Date.now() - known.since > 2 * POLL;
      if (!cut || !holder.dataset.poll || document.hidden || navigator.onLine === false) continue;
      if (known.asked) {
        // What is answered slowly is not asked twice: the second would come from the same place.
        if (Date.now() - known.asked < GIVE_UP) continue;
        htmx.trigger(holder, "htmx:abort");
      }
      const asked = (known.asked = Date.now());
      const query = new URLSearchParams(cursor(holder));
      htmx.ajax("GET", `${holder.dataset.poll}?${query}`, { source: holder, target: holder, swap: "none" })
        .then(() => { if (known.state === "waiting" || known.state === "connecting") follow(holder, { state: "polling", since: known.since }); })
        .catch(() => { if (known.state === "polling") follow(holder, { state: "waiting", since: known.since }); })
        .finally(() => { if (known.asked === asked) known.asked = 0; });
    }
  }

  /* Who reads at the end of the page stays there while it grows. */
  let atEnd = false;
  document.addEventListener("htmx:wsBeforeMessage", () => {
    const page = document.documentElement;
    atEnd = page.scrollHeight - (scrollY + innerHeight) < 120 && page.scrollHeight > innerHeight;
  });
  document.addEventListener("htmx:wsAfterMessage", (event) => {
    if (atEnd && event.target.dataset.stream) scrollTo({ top: document.documentElement.scrollHeight });
  });

  setInterval(watch, Math.min(5000, SILENCE / 4));
  setInterval(poll, POLL);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) watch(); });
  addEventListener("online", watch);
  addEventListener("offline", show);
})();
