// One EventSource for all topics that are shown: in a shared worker for all tabs, else for one page.

const SILENCE = 30_000; // the server sends a heartbeat every 12 s at most
const AGAIN = [500, 1000, 2000, 4000];

export class Stream {
  #wanted = new Map(); // topic -> readers
  #parts = new Map(); // topic -> the latest parts, for a reader that comes later
  #source = null;
  #opened = "";
  #state = "opening";
  #timer = 0;
  #tries = 0;
  #heard = Infinity; // when a heartbeat came last; a server that sends none is believed

  constructor() {
    setInterval(() => {
      if (this.#source && Date.now() - this.#heard > SILENCE) this.#lose();
    }, 5000);
  }

  /** Send the parts of a topic, and the state of the connection, to a reader: a function. */
  add(topic, reader) {
    for (const readers of this.#wanted.values()) readers.delete(reader);
    if (!this.#wanted.has(topic)) this.#wanted.set(topic, new Set());
    this.#wanted.get(topic).add(reader);
    reader({ state: this.#state });
    if (this.#parts.has(topic)) reader({ topic, parts: this.#parts.get(topic) });
    this.#open();
  }

  remove(reader) {
    for (const readers of this.#wanted.values()) readers.delete(reader);
    this.#open();
  }

  #open() {
    for (const [topic, readers] of this.#wanted) {
      if (readers.size) continue;
      this.#wanted.delete(topic);
      this.#parts.delete(topic);
    }
    const topics = [...this.#wanted.keys()].sort();
    const address = `/live?${new URLSearchParams(topics.map((topic) => ["topic", topic]))}`;
    if (address === this.#opened && this.#source) return;
    this.#source?.close();
    this.#source = null;
    this.#opened = address;
    clearTimeout(this.#timer);
    if (!topics.length) return;
    const source = new EventSource(address);
    this.#source = source;
    source.onopen = () => {
      this.#tries = 0;
      this.#heard = Infinity;
      this.#tell("live");
    };
    source.onerror = () => this.#lose();
    source.addEventListener("beat", () => { this.#heard = Date.now(); });
    source.onmessage = (message) => {
      const { topic, parts } = JSON.parse(message.data);
      this.#parts.set(topic, { ...this.#parts.get(topic), ...parts });
      for (const reader of this.#wanted.get(topic) ?? []) reader({ topic, parts });
    };
  }

  /** Close a connection that is lost, and try again soon; the browser's own way would wait for longer and longer. */
  #lose() {
    this.#source?.close();
    this.#source = null;
    this.#opened = "";
    this.#tell("lost");
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#open(), AGAIN[Math.min(this.#tries++, AGAIN.length - 1)]);
  }

  #tell(state) {
    this.#state = state;
    for (const readers of this.#wanted.values()) for (const reader of readers) reader({ state });
  }
}
