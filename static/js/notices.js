/* Says something to the person without moving anything: a line in the corner, read out politely. */
(function () {
  "use strict";
  const STAY = 6000; // ms

  window.needsYou.say = function (text) {
    const region = document.getElementById("toasts");
    const same = Array.from(region.children).find((toast) => toast.dataset.notice === text);
    if (same) same.remove();
    const toast = document.createElement("div");
    toast.className = "toast";
    toast.dataset.notice = text;
    const words = document.createElement("span");
    words.textContent = text;
    toast.append(words);
    region.append(toast);
    setTimeout(() => toast.remove(), STAY);
  };
})();
