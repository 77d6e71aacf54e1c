/* What moves by itself slides to its new place, and its controls take no press until they have stood still for a moment.
 *
 * Whatever moved it counts: a card that came or left, a font, a resized window, a line that another line pushed down.
 * Scrolling does not count, and neither does a control that has always been where it is.
 */
(function () {
  "use strict";
  const PAUSE = 500; // ms that a control stands still before it takes a press
  const SLIDE = 160; // ms
  const NEAR = 2; // px that nobody notices
  const CONTROLS = "main button, main summary, main select, main .btn";
  const OUTER = ".page > *, .cards > .card, .rows > li";
  const BLOCKS = `${OUTER}, .card__in > *, .answer > *, .answer > fieldset > *, .card__foot`;
  let controls = new Map(); // element -> where it was in the view
  let blocks = new Map();
  let scrolledTo = 0;

  const rects = (selector) => new Map(Array.from(document.querySelectorAll(selector), (node) => [node, node.getBoundingClientRect()]));
  const far = (a, b) => Math.abs(a - b) >= NEAR;

  /* What keeps its place in the window (a bar that sticks) or on the page (all else, while it is scrolled) has not moved. */
  const differs = (was, now, scrolled) =>
    far(was.left, now.left) || far(was.width, now.width) || (far(was.top, now.top) && far(was.top - scrolled, now.top));

  function look() {
    scrolledTo = scrollY;
    controls = rects(CONTROLS);
    blocks = rects(BLOCKS);
  }

  /* Holds every control that is not where it was, and those that were not there at all. */
  function hold(pause) {
    for (const [control, now] of rects(CONTROLS)) {
      const was = controls.get(control);
      if (was && !differs(was, now, scrollY - scrolledTo)) continue;
      control.classList.add("moved");
      clearTimeout(control.stillAt);
      control.stillAt = setTimeout(() => control.classList.remove("moved"), pause);
    }
  }

  /* Shows each block where it was and lets it slide, so that the eye can follow. Blocks inside a block slide with it. */
  function slide() {
    const now = rects(BLOCKS);
    const scrolled = scrollY - scrolledTo;
    const shift = (node) => (blocks.has(node) && now.has(node) ? blocks.get(node).top - scrolled - now.get(node).top : 0);
    let slid = false;
    for (const node of now.keys()) {
      const outer = node.parentElement.closest(OUTER);
      const by = shift(node) - (outer ? shift(outer) : 0);
      if (Math.abs(by) < NEAR || !inReach(now.get(node), by)) continue;
      startFrom(node, by);
      slid = true;
    }
    return slid;
  }

  /* The first frame has the offset as a style: a frame that begins with an animation counts as a jump in Chromium. */
  function startFrom(node, by) {
    const from = { transform: `translateY(${by + offsetOf(node)}px)` };
    for (const running of node.getAnimations()) if (running.id === "slide") running.cancel();
    node.style.transform = from.transform;
    node.slideFrom = from;
    requestAnimationFrame(() => requestAnimationFrame(() => {
      if (node.slideFrom !== from) return; // it moved again meanwhile
      node.style.transform = "";
      node.animate([from, { transform: "none" }], { id: "slide", duration: SLIDE, easing: "ease-out" });
    }));
  }

  /* How far a block is from its place, while it slides. */
  const offsetOf = (node) => new DOMMatrix(getComputedStyle(node).transform).m42;

  const inReach = (place, by) => Math.min(place.top, place.top + by) < innerHeight && Math.max(place.bottom, place.bottom + by) > 0;

  function changed(records) {
    const cameOrLeft = records.some((record) => record.type === "childList");
    const slid = cameOrLeft && slide();
    hold(slid ? PAUSE + SLIDE : PAUSE);
    look();
  }

  const ATTRIBUTES = ["aria-current", "hidden", "open", "data-folded", "data-state"];
  new MutationObserver(changed).observe(document.querySelector("main"), {
    subtree: true, childList: true, attributes: true, attributeFilter: ATTRIBUTES,
  });
  new ResizeObserver(() => { hold(PAUSE); look(); }).observe(document.querySelector("main"));
  addEventListener("scroll", look, { passive: true, capture: true });
  look();

  window.needsYou = { moved: (control) => control.matches(".moved, .moved *") };
})();
