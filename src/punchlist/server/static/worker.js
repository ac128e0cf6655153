// A shared worker: one connection to the server for all tabs. A browser allows six to a host.

import { Stream } from "./stream.js";

const stream = new Stream();

self.onconnect = ({ ports: [port] }) => {
  const reader = (message) => port.postMessage(message);
  port.onmessage = ({ data }) => (data.topic === undefined ? stream.remove(reader) : stream.add(data.topic, reader));
};
