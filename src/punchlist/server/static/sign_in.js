// Keep the key that came with the sign-in, and go on to the page that was asked for.

const { key, to } = document.currentScript.dataset;
try {
  localStorage.setItem("punchlist_key", key);
} catch {
  // Storage is turned off: this browser may read, and the server says so when something is to be changed.
}
location.replace(to);
