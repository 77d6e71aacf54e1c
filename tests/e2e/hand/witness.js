/* Sees what a person sees: the option under each press, and which words of bound actions were on the screen. */
(() => {
  const seen = new Set(); // "ask-1 rm -rf build"
  const presses = []; // {card, option, label}
  window.witness = { presses, seen };

  const optionOf = (node) => node && node.closest && node.closest(".card :is([data-option], [name=same])");
  const told = (option) => option && { card: option.closest(".card").id, option: option.value, label: option.innerText.trim() };

  function isOnScreen(box) {
    if (!box.height || box.top < 0 || box.bottom > innerHeight || box.left < 0 || box.right > innerWidth) return false;
    return document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  }

  addEventListener("pointerdown", (event) => {
    const option = optionOf(document.elementFromPoint(event.clientX, event.clientY));
    presses.push(told(option) || null);
  }, true);

  addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") presses.push(told(optionOf(document.activeElement)) || null);
    if (!/^[1-9]$/.test(event.key) || event.target.matches("input, textarea, select")) return;
    const card = document.querySelector(".card[aria-current]");
    const option = card && card.querySelectorAll("[data-option]")[Number(event.key) - 1];
    const at = option && isOnScreen(option.getBoundingClientRect());
    presses.push(at && option.contains(at) ? told(option) : null);
  }, true);

  function look() {
    for (const place of document.querySelectorAll(".card .bound dd")) {
      for (const words of window.wordsToSee || []) {
        const key = `${place.closest(".card").id} ${words}`;
        if (seen.has(key) || !place.textContent.includes(words)) continue;
        const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
          const at = walker.currentNode.data.indexOf(words);
          if (at < 0) continue;
          const range = document.createRange();
          range.setStart(walker.currentNode, at);
          range.setEnd(walker.currentNode, at + words.length);
          const hit = Array.from(range.getClientRects()).some((box) => {
            const top = isOnScreen(box);
            return top && place.contains(top);
          });
          if (hit) seen.add(key);
        }
      }
    }
    requestAnimationFrame(look);
  }
  addEventListener("DOMContentLoaded", look);
})();
