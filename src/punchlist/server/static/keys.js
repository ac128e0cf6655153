// Keys: j k select a row, enter opens it, a e d u and alt with arrows change a list, / searches, ? helps.

import { act } from "./forms.js";

const ROWS = ".row, .item[data-item]";
const GOALS = { h: "/", s: "/sessions", t: "/tasks" };
const OFF = "punchlist_keys_off";
const ADDING = ".list:has(.add)"; // the list of a subagent is within that of its parent, and has no form of its own
let chosen = "";
let goes = 0;

function current() {
  return document.activeElement?.closest(ROWS) ?? document.getElementById(chosen);
}

function choose(row) {
  if (!row) return;
  chosen = row.id;
  row.tabIndex = -1;
  row.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

function step(by) {
  const rows = [...document.querySelectorAll(ROWS)].filter((row) => row.checkVisibility());
  const place = rows.indexOf(current());
  choose(rows[place < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, place + by))]);
}

/** Open a row: its field, if it waits for an answer, else its page or its details. */
function open(row) {
  const field = row.querySelector(".acts input:not([type=hidden])");
  const details = row.querySelector("details:not(.edit)");
  if (field) field.focus();
  else if (row.matches(".item") && details) details.open = !details.open;
  else (row.querySelector("a.button") ?? row.querySelector("a"))?.click();
}

function edit(row) {
  const details = row.querySelector("details.edit");
  if (!details) return;
  details.open = true;
  details.querySelector("input[name=text]").select();
}

async function change(row, verb) {
  const id = row.id;
  await act(row, verb);
  // Unless the person has gone on meanwhile.
  if (document.activeElement === document.body && chosen === id) choose(document.getElementById(id));
}

function press(event) {
  const { key, target, altKey } = event;
  const typing = target.matches?.("input:not([type=checkbox], [type=range]), textarea, select");
  if (key === "Escape" && typing) {
    const row = target.closest(ROWS);
    target.closest("details.edit")?.removeAttribute("open");
    row ? choose(row) : target.blur();
    return true;
  }
  if (!areOn() && !altKey && key.length === 1) return false;
  if (typing || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return false;
  const row = current();
  const item = row?.matches(".item") ? row : null;
  if (altKey) {
    if (!item?.querySelector("[data-handle]") || !/^Arrow(Up|Down)$/.test(key)) return false;
    change(item, key === "ArrowUp" ? "up" : "down");
    return true;
  }
  if (goes > Date.now() && GOALS[key]) {
    location.href = GOALS[key];
    return true;
  }
  goes = 0;
  switch (key) {
    case "j": step(1); return true;
    case "k": step(-1); return true;
    case "g": goes = Date.now() + 1500; return true;
    case "/": {
      const field = document.querySelector(".search input");
      field ? field.select() : location.assign("/search");
      return true;
    }
    case "?": document.getElementById("keys").showModal(); return true;
    case "a": {
      const list = row?.closest(ADDING) ?? document.querySelector(ADDING);
      const field = list?.querySelector(".add input[name=text]");
      field?.closest(".adding")?.setAttribute("open", "");
      field?.focus();
      return Boolean(field);
    }
    case "u": {
      const list = row?.closest(ADDING) ?? document.querySelector(ADDING);
      list?.querySelector("button[value=undo]")?.click();
      return Boolean(list);
    }
    case "Enter": if (row && target === row) { open(row); return true; } return false;
    case "e": if (item) edit(item); return Boolean(item);
    case "d": if (item) change(item, "done"); return Boolean(item);
    default: return false;
  }
}

/** True unless a person turned single keys off, as one who speaks to the computer does (WCAG 2.1.4). */
function areOn() {
  try {
    return localStorage.getItem(OFF) === null;
  } catch {
    return true;
  }
}

function turn(on) {
  try {
    on ? localStorage.removeItem(OFF) : localStorage.setItem(OFF, "yes");
  } catch {
    // Storage is turned off: keys stay on.
  }
}

export function startKeys() {
  const box = document.getElementById("single-keys");
  box.checked = areOn();
  box.addEventListener("change", () => turn(box.checked));
  document.addEventListener("keydown", (event) => { if (press(event)) event.preventDefault(); });
}
