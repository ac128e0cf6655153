// Send forms without a reload: the page that answers is drawn into this one. Drag items to reorder them.

import { isDirty, morphPage, sending } from "./morph.js";

const TYPED = "input:not([type=hidden], [type=range], [type=checkbox]), textarea";
let drawSince = () => {};

/** The key of this browser, by which the server tells our page from a program that was sent its cookie. */
function readKey() {
  try {
    return localStorage.getItem("punchlist_key") ?? "";
  } catch {
    return ""; // storage is turned off; the server says what follows
  }
}

/** Load a page by a form's method and draw it here; fall back to the browser's own way. */
export async function send(form, submitter) {
  const fields = new URLSearchParams(new FormData(form, submitter));
  const isPost = form.method === "post";
  const address = isPost ? form.action : `${form.action.split("?")[0]}?${fields}`;
  const finish = isPost ? takeTyped(form) : (isRefused) => isRefused || forget(form, fields);
  const began = performance.now();
  let response;
  try {
    const headers = { "X-Punchlist-Key": readKey() };
    response = await fetch(address, isPost ? { method: "POST", body: fields, headers } : {});
  } catch {
    finish(true);
    return notice("The server does not answer; nothing was changed.");
  }
  finish(!response.ok);
  if (response.headers.get("Content-Type") === "application/problem+json") return notice((await response.json()).detail);
  if (!morphPage(await response.text())) return notice("The server answered with something that is no page.");
  drawSince(began); // parts that came meanwhile may be newer than the answer
  if (!isPost) history.replaceState(null, "", response.url);
}

/** Empty the fields of a form that is on its way, so that a person may type on; return what ends that.
 *
 * What was sent is put back if it was refused, unless something else was typed meanwhile. */
function takeTyped(form) {
  const taken = [...form.querySelectorAll(TYPED)].filter(isDirty).map((field) => [field, field.value, field.defaultValue]);
  for (const [field, , empty] of taken) {
    field.value = empty;
    sending.add(field);
  }
  const edit = form.querySelector("details.edit[open]");
  if (edit) {
    if (edit.contains(document.activeElement)) document.activeElement.blur();
    edit.open = false;
  }
  return (isRefused) => {
    for (const [field, sent, empty] of taken) {
      sending.delete(field);
      if (field.value === empty) field.value = isRefused ? sent : field.defaultValue;
    }
    if (edit && isRefused) edit.open = true;
  };
}

/** Let the answer replace what was typed into a form that asks, unless a person typed on. */
function forget(form, fields) {
  for (const field of form.querySelectorAll(TYPED)) {
    if (field.value === fields.get(field.name)) field.value = field.defaultValue;
  }
}

function notice(text) {
  const main = document.getElementById("main");
  main.querySelector(":scope > .notice")?.remove();
  const said = Object.assign(document.createElement("p"), { className: "notice bad", textContent: text });
  said.setAttribute("role", "alert");
  main.prepend(said);
}

/** Do something to the item or task of a row, as one of its buttons would. */
export function act(row, verb, extra = {}) {
  const form = row.querySelector("form");
  const made = document.createElement("form");
  Object.assign(made, { method: "post", action: form.action });
  for (const { name, value } of form.querySelectorAll("input[type=hidden]")) addField(made, name, value);
  for (const [name, value] of Object.entries({ do: verb, ...extra })) addField(made, name, value);
  return send(made);
}

function addField(form, name, value) {
  form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
}

export function startForms(draw) {
  drawSince = draw;
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method === "dialog" || form.matches(".search")) return;
    event.preventDefault();
    const sent = send(form, event.submitter);
    if (form.matches(".theme")) sent.then(() => location.reload());
  });
  let timer = 0;
  document.addEventListener("input", ({ target }) => {
    if (!target.matches("input[data-live]")) return;
    target.form.querySelector("output").textContent = `${target.value} of ${target.max}`;
    clearTimeout(timer);
    timer = setTimeout(() => send(target.form), 120);
  });
  startDrag();
}

// Items are dragged by their mark, with a mouse or a finger.

function startDrag() {
  let dragged = null;
  const find = (event) => {
    const row = document.elementFromPoint(event.clientX, event.clientY)?.closest(".item[data-item]");
    return row && row.closest(".list") === dragged.closest(".list") && row !== dragged ? row : null;
  };
  const mark = (row) => {
    for (const one of document.querySelectorAll(".item.over")) if (one !== row) one.classList.remove("over");
    row?.classList.add("over");
  };
  const end = () => {
    mark(null);
    dragged?.classList.remove("dragged");
    dragged = null;
  };
  document.addEventListener("pointerdown", (event) => {
    if (!event.target.matches("[data-handle]") || !document.body.classList.contains("may-edit")) return;
    event.preventDefault(); // selects no text
    dragged = event.target.closest(".item");
    event.target.setPointerCapture(event.pointerId);
  });
  document.addEventListener("pointermove", (event) => {
    if (!dragged) return;
    dragged.classList.add("dragged");
    mark(find(event));
  });
  document.addEventListener("pointerup", (event) => {
    if (!dragged) return;
    const [moved, row] = [dragged, find(event)];
    end();
    if (row) act(moved, "move", { before: row.dataset.item });
  });
  document.addEventListener("pointercancel", end);
}
