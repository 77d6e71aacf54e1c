/* A press records the option whose label was under the pointer when it went down, or that the card showed for a key.
 * Otherwise it records nothing, and says so.
 */
(function () {
  "use strict";
  const { moved, fold, isBound, unread, show, inView, say } = window.needsYou;
  const WORDS = window.needsYouWords.press;
  const ANSWERS = "[data-option], [name=same]";
  const STILL = 10; // px that a hand shakes while it presses
  let press = null; // the pointer that is down: {control, label, x, y, held}
  let byKey = null; // the control on which Enter or Space went down

  const controlAt = (target) => target instanceof Element && target.closest("main button, main summary, main a.btn");
  const label = (control) => control.textContent.trim() + control.value;

  /* A control that just moved lets the pointer through, so it is looked for by its place. */
  function heldAt(x, y) {
    return Array.from(document.querySelectorAll("main .moved")).find((control) => {
      const box = control.getBoundingClientRect();
      return x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
    });
  }

  function pointerDown(event) {
    const control = controlAt(event.target);
    const held = control ? moved(control) : Boolean(heldAt(event.clientX, event.clientY));
    press = { control, label: control && label(control), x: event.clientX, y: event.clientY, held };
    byKey = null;
    if (held) say(WORDS.moved);
  }

  /* Where no click follows because the page moved under a hand that did not, the hand is told. */
  function pointerUp(event) {
    if (!press || !press.control || press.held) return;
    const stood = Math.hypot(event.clientX - press.x, event.clientY - press.y) < STILL;
    const under = controlAt(document.elementFromPoint(event.clientX, event.clientY));
    if (stood && under !== press.control) say(WORDS.moved);
  }

  function refuse(event, text) {
    event.preventDefault();
    event.stopImmediatePropagation();
    if (text) say(text);
  }

  function click(event) {
    const control = controlAt(event.target);
    if (!control || !event.isTrusted) return;
    const pointed = press;
    press = null;
    if (pointed && event.detail > 0) {
      const same = pointed.control === control && pointed.label === label(control) && !pointed.held;
      if (!same) return refuse(event, pointed.held ? "" : WORDS.moved);
    } else if (isDefaultOfAField(control)) return refuse(event, WORDS.choose);
    if (control.matches(ANSWERS) && !mayApprove(control)) refuse(event);
  }

  /* Enter in a field presses the first button of its form. That is no choice of an option. */
  const isDefaultOfAField = (control) =>
    control.matches(ANSWERS) && byKey !== control && document.activeElement !== control && document.activeElement !== document.body;

  /* An approval of which something was never in view goes there instead. A changed call is shown once more as a whole. */
  function mayApprove(option) {
    const card = option.closest(".card");
    if (!card || option.matches("[data-denies]") || isChanged(option.form)) return true;
    fold();
    const clamp = card.querySelector("[data-folded]");
    const part = isBound(card) ? unread(card) : null;
    if (!part && !clamp) { markWhole(option.form); return true; }
    show(card, part || clamp.lastElementChild);
    say(WORDS.read_first);
    return false;
  }

  const isChanged = (form) => Array.from(form?.elements || []).some((field) => field.name.startsWith("edit/")
    && (field.options ? !field.options[field.selectedIndex]?.defaultSelected : field.value !== field.defaultValue));

  const markWhole = (form) => { if (form && form.elements.whole) form.elements.whole.value = "1"; };

  /* The keys 1 to 9: only what is on the screen, has stood still, and can be pressed. */
  function choose(option) {
    if (!option || option.disabled) return;
    if (moved(option)) return say(WORDS.moved);
    if (!inView(option)) {
      option.scrollIntoView({ block: "center", behavior: "instant" });
      return say(WORDS.out_of_view);
    }
    if (mayApprove(option)) option.click();
  }

  function keyDown(event) {
    if (event.key !== "Enter" && event.key !== " ") return;
    byKey = controlAt(event.target) || null;
    if (byKey && event.repeat) refuse(event); // a key that is held down presses once
  }

  document.addEventListener("pointerdown", pointerDown, true);
  document.addEventListener("pointerup", pointerUp, true);
  document.addEventListener("pointercancel", () => { press = null; }, true);
  document.addEventListener("click", click, true);
  document.addEventListener("keydown", keyDown, true);

  window.needsYou.choose = choose;
})();
