/* The words of the other scripts, as the page carries them: translated on the server. */
window.needsYouWords = JSON.parse(document.querySelector("meta[name=script-words]").content);
