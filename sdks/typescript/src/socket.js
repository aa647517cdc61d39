// A WebSocket client (RFC 6455) over Node's own HTTP: text messages, pings and closing. Node 20 has none of its own,
// and that of later versions cannot send a token in a header.

import { createHash, randomBytes } from "node:crypto";
import http from "node:http";
import https from "node:https";

import { problemOf } from "./client.js";
import { ConnectionLost } from "./errors.js";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const [TEXT, CLOSE, PING, PONG] = [0x1, 0x8, 0x9, 0xa];
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024;
const CONNECT_MS = 10_000;

/** Opens a connection. `onText` gets each message, `onEnd` the reason of the end, once. */
export function connect(url, headers, { onText, onEnd }) {
  const key = randomBytes(16).toString("base64");
  const request = (url.startsWith("https:") ? https : http).request(url, {
    headers: {
      ...headers,
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": key,
    },
  });
  return new Promise((resolve, reject) => {
    request.setTimeout(CONNECT_MS, () => request.destroy(new Error("no response arrived in time")));
    request.on("error", (error) => reject(new ConnectionLost(`cannot reach ${url}: ${error.message}`)));
    request.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part) => (text += part));
      response.on("end", () => reject(problemOf(response.statusCode, text)));
      response.on("error", (error) => reject(new ConnectionLost(error.message)));
    });
    request.on("upgrade", (response, socket, head) => {
      // Heartbeats take over.
      socket.setTimeout(0);
      const expected = createHash("sha1").update(key + GUID).digest("base64");
      if (response.headers["sec-websocket-accept"] !== expected) {
        socket.destroy();
        reject(new ConnectionLost("the server does not speak WebSocket"));
        return;
      }
      resolve(new Socket(socket, head, onText, onEnd));
    });
    request.end();
  });
}

class Socket {
  #socket;
  #pending;
  #parts = [];
  #onText;
  #onEnd;

  constructor(socket, head, onText, onEnd) {
    this.#socket = socket;
    this.#pending = head;
    this.#onText = onText;
    this.#onEnd = onEnd;
    /** When anything arrived last. */
    this.heard = Date.now();
    socket.setNoDelay(true);
    socket.on("data", (data) => {
      this.heard = Date.now();
      this.#pending = this.#pending.length ? Buffer.concat([this.#pending, data]) : data;
      this.#read();
    });
    socket.on("error", (error) => this.end(`the connection broke: ${error.message}`));
    socket.on("close", () => this.end("the server closed the connection"));
    if (head.length) queueMicrotask(() => this.#read());
  }

  send(text) {
    this.#frame(TEXT, Buffer.from(text));
  }

  close() {
    this.#frame(CLOSE, Buffer.from([0x03, 0xe8]));
    this.#socket.end();
  }

  /** Destroys the connection and reports its end. */
  end(reason) {
    const onEnd = this.#onEnd;
    this.#onEnd = undefined;
    this.#socket.destroy();
    onEnd?.(reason);
  }

  #read() {
    for (let frame = this.#next(); frame; frame = this.#next()) {
      const { isLast, opcode, data } = frame;
      if (opcode === PING) this.#frame(PONG, data);
      else if (opcode === CLOSE) return this.end("the server closed the connection");
      else if (opcode !== PONG) {
        this.#parts.push(data);
        if (isLast) {
          const text = Buffer.concat(this.#parts).toString("utf8");
          this.#parts = [];
          this.#onText(text);
        }
      }
    }
  }

  #next() {
    const bytes = this.#pending;
    if (bytes.length < 2) return undefined;
    let [length, start] = [bytes[1] & 0x7f, 2];
    if (length === 126) {
      if (bytes.length < 4) return undefined;
      [length, start] = [bytes.readUInt16BE(2), 4];
    } else if (length === 127) {
      if (bytes.length < 10) return undefined;
      [length, start] = [Number(bytes.readBigUInt64BE(2)), 10];
    }
    if (bytes[1] & 0x80 || length > MESSAGE_BYTES_MAX) {
      this.end("the server sent an invalid frame");
      return undefined;
    }
    if (bytes.length < start + length) return undefined;
    this.#pending = bytes.subarray(start + length);
    return { isLast: (bytes[0] & 0x80) !== 0, opcode: bytes[0] & 0x0f, data: bytes.subarray(start, start + length) };
  }

  #frame(opcode, data) {
    if (!this.#onEnd || !this.#socket.writable) return;
    const length = data.length;
    let head;
    if (length < 126) head = Buffer.from([0x80 | opcode, 0x80 | length]);
    else if (length < 65_536) head = Buffer.from([0x80 | opcode, 0xfe, length >> 8, length & 0xff]);
    else {
      head = Buffer.alloc(10);
      head.set([0x80 | opcode, 0xff]);
      head.writeBigUInt64BE(BigInt(length), 2);
    }
    const mask = randomBytes(4);
    const masked = Buffer.allocUnsafe(length);
    for (let i = 0; i < length; i += 1) masked[i] = data[i] ^ mask[i & 3];
    this.#socket.write(Buffer.concat([head, mask, masked]));
  }
}
