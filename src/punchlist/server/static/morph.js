// Make an element equal to new HTML, in place: focus, selection, scroll, open details and half-typed fields stay.

/** Replace the content of `old` by the element that `html` holds. */
export function morph(old, html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  const next = template.content.firstElementChild;
  if (next) keepingFocus(() => morphNode(old, next));
}

/** Make the page's main part equal to that of another page. */
export function morphPage(text) {
  const next = new DOMParser().parseFromString(text, "text/html");
  const main = next.getElementById("main");
  if (!main) return false;
  document.title = next.title;
  keepingFocus(() => {
    morphNode(document.getElementById("main"), document.adoptNode(main));
    const count = next.getElementById("count");
    if (count) morphNode(document.getElementById("count"), document.adoptNode(count));
  });
  if (document.body.dataset.topic !== next.body.dataset.topic) document.body.dataset.topic = next.body.dataset.topic;
  return true;
}

/** The fields whose text is on its way to the server, which may refuse it. */
export const sending = new Set();

/** True if a person typed into a field and the server has not taken it. */
export function isDirty(node) {
  if (sending.has(node)) return true;
  if (/^(hidden|range)$/.test(node.type)) return false;
  if (node.type === "checkbox") return node.checked !== node.defaultChecked;
  return /^(INPUT|TEXTAREA)$/.test(node.nodeName) && node.value !== node.defaultValue;
}

function holdsTyping(node) {
  return node.nodeType === 1 && (isDirty(node) || [...node.querySelectorAll("input, textarea")].some(isDirty));
}

function keepingFocus(change) {
  const held = document.activeElement;
  const range = held && /^(INPUT|TEXTAREA)$/.test(held.nodeName) && held.type !== "range" && held.selectionStart !== null
    ? [held.selectionStart, held.selectionEnd] : null;
  change();
  if (!held || held === document.body || held === document.activeElement) return;
  const again = held.isConnected ? held : held.id && document.getElementById(held.id);
  if (!again) return;
  again.focus({ preventScroll: true });
  if (range) again.setSelectionRange(...range);
}

function morphNode(old, next) {
  if (old.nodeType !== next.nodeType || old.nodeName !== next.nodeName) {
    old.replaceWith(next);
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== next.nodeValue) old.nodeValue = next.nodeValue;
    return;
  }
  if (old.isEqualNode(next)) return;
  morphAttributes(old, next);
  // A clock without words runs by itself.
  if (old.nodeName !== "TIME" || next.hasChildNodes()) morphChildren(old, next);
}

function morphAttributes(old, next) {
  const typed = isDirty(old);
  const opens = next.hasAttribute("data-opens") && !old.hasAttribute("data-opens"); // not if it was closed since
  for (const { name } of [...old.attributes]) {
    // Whether a details element is open, and which row is selected, is the reader's choice.
    if (!next.hasAttribute(name) && !/^(open|tabindex)$/.test(name)) old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (name === "open" && old.nodeName === "DETAILS") continue;
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (opens) old.open = true;
  if ("value" in old && old.nodeName === "INPUT" && !typed && old.value !== next.value) old.value = next.value;
}

/** The id of a node. `form.id` would be a field with the name `id`. */
function idOf(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.getAttribute("id") : null;
}

function morphChildren(old, next) {
  const known = new Map([...old.children].map((child) => [idOf(child), child]));
  known.delete(null);
  let place = old.firstChild;
  for (const child of [...next.childNodes]) {
    const id = idOf(child);
    let match = id ? known.get(id) : null;
    if (!match && !id && place && !idOf(place) && place.nodeName === child.nodeName) match = place;
    if (!match) {
      old.insertBefore(child, place);
      if (id && child.nodeName === "LI") child.classList.add("fresh");
    } else {
      if (match === place) place = place.nextSibling;
      else if (old.moveBefore) old.moveBefore(match, place); // keeps focus
      else old.insertBefore(match, place);
      morphNode(match, child);
    }
  }
  while (place) {
    const gone = place;
    place = place.nextSibling;
    // What a person was typing stays until they leave it, though it waits no more.
    if (!holdsTyping(gone)) gone.remove();
    else if (gone.classList) gone.classList.add("stale");
  }
}
