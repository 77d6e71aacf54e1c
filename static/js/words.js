/* The words of the other scripts, from the block that the page carries: translated on the server. */
window.needsYouWords = JSON.parse(document.getElementById("script-words").textContent);
