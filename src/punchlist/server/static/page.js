// The page: follows the board, sends forms with the browser's key, keys, drag. Without it every page can still be read.

import { startForms } from "./forms.js";
import { startKeys } from "./keys.js";
import { morph } from "./morph.js";
import { Stream } from "./stream.js";

const link = document.getElementById("link");
const skew = Date.now() / 1000 - Number(document.body.dataset.at || Date.now() / 1000);

/** Say how the connection stands, once for each change: a screen reader speaks every word that is written here. */
function showState(state) {
  const words = { live: "live", lost: "connection lost, trying again", opening: "connecting" }[state];
  link.hidden = false;
  link.classList.toggle("lost", state === "lost");
  document.getElementById("gone").hidden = state !== "lost";
  if (link.textContent !== words) link.textContent = words;
}

let followed = ""; // the topic whose parts come
const received = new Map(); // its latest parts: id -> [html, when it came]

function take(message) {
  if (message.state) showState(message.state);
  if (!message.parts || message.topic !== document.body.dataset.topic) return;
  const now = performance.now();
  for (const [id, html] of Object.entries(message.parts)) received.set(id, [html, now]);
  drawSince(now);
}

/** Draw the parts that came since a time. Those of a topic that the page shows no more, such as a list before a filter, are not. */
function drawSince(begin) {
  const isShown = followed === document.body.dataset.topic;
  for (const [id, [html, at]] of received) {
    const element = isShown && at >= begin && document.getElementById(id);
    if (element && !element.querySelector(".dragged")) morph(element, html);
  }
  tick();
}

/** Follow the topic of the page; `data-topic` may change when a form shows another one. */
function follow() {
  let want;
  try {
    const port = new SharedWorker("/static/worker.js", { type: "module", name: "punchlist" }).port;
    port.onmessage = ({ data }) => take(data);
    want = (topic) => port.postMessage({ topic });
  } catch {
    const stream = new Stream();
    want = (topic) => (topic === undefined ? stream.remove(take) : stream.add(topic, take));
  }
  const begin = () => {
    received.clear();
    followed = document.body.dataset.topic;
    want(followed);
  };
  begin();
  addEventListener("pagehide", () => want(undefined));
  addEventListener("pageshow", (event) => event.persisted && begin());
  new MutationObserver(begin).observe(document.body, { attributeFilter: ["data-topic"] });
}

/** Say how long ago a time was, as the server does: `< 1 min`, `4 min`, `7 h 2 min`, `3 days`. */
function age(seconds) {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  if (seconds < 60) return "< 1 min";
  if (hours < 1) return `${minutes} min`;
  if (hours >= 48) return `${Math.floor(hours / 24)} days`;
  return minutes ? `${hours} h ${minutes} min` : `${hours} h`;
}

/** The words until a lease ends, as the server says them. */
function until(seconds) {
  if (seconds <= 0) return "now";
  return seconds < 60 ? `in ${seconds} s` : `in ${age(seconds + 30)}`;
}

function tick() {
  if (document.hidden) return;
  const now = Date.now() / 1000 - skew;
  for (const time of document.querySelectorAll("time[data-age], time[data-until]")) {
    const at = Date.parse(time.dateTime) / 1000;
    const words = "until" in time.dataset
      ? until(Math.floor(at - now))
      : age(Math.max(0, Math.floor(now - at)));
    if (time.textContent !== words) time.textContent = words;
  }
  for (const bar of document.querySelectorAll("svg[data-lease]")) {
    const left = Math.max(0, bar.dataset.until - now) / bar.dataset.lease;
    bar.querySelector(".left").setAttribute("width", Math.min(100, 100 * left).toFixed(1));
  }
}

/** The menu closes when it is left; a command is copied; the help opens. */
function startButtons() {
  const menu = document.querySelector(".menu");
  const close = () => { menu.open = false; };
  document.addEventListener("click", async ({ target }) => {
    if (!menu.contains(target)) close();
    const button = target.closest("button[data-copies], button[data-opens]");
    if (!button) return;
    if (button.dataset.opens) {
      close();
      document.getElementById(button.dataset.opens).showModal();
      return;
    }
    const command = button.parentElement.querySelector("pre");
    try {
      await navigator.clipboard.writeText(command.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(command); // such as over plain HTTP from another machine
    }
  });
  menu.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    close();
    menu.querySelector("summary").focus();
  });
}

follow();
startButtons();
startForms(drawSince);
startKeys();
setInterval(tick, 1000);
