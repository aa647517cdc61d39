// Services: functions that charts call, registered over one WebSocket. What runs is kept by idempotency key, not by
// connection: a call that comes again joins the work that runs, or gets the result that is remembered.

import { setTimeout as sleep } from "node:timers/promises";

import { defaults } from "./client.js";
import { ConnectionLost, RegistrationError, ServiceError } from "./errors.js";
import { connect } from "./socket.js";

/** Results that are remembered, so that a call which is repeated is not carried out again. */
const RESULTS_MAX = 10_000;
/** Keys that are sent with a registration. */
const KEYS_MAX = 1_000;
/** Heartbeats of the server that may be missing. */
const MISSED_MAX = 3;
const REGISTER_MS = 10_000;
/** The server accepts no larger message. */
const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;
/** After these the server may accept the same registration. */
const PASSING = new Set(["closing", "heartbeats_missed"]);

export class Services {
  #options;
  #services = new Map();
  #work = new Map();
  #results = new Map();
  /** Calls of the session by number: their key, and the answer that the server has not confirmed. */
  #keys = new Map();
  #answers = new Map();
  #session;
  #socket;
  #isStopping = false;
  #wake = () => {};
  #onStart = () => {};
  #running;

  constructor(options = {}) {
    this.#options = { ...defaults(options), name: options.name ?? "node", concurrency: options.concurrency ?? 8 };
  }

  service(name, schemas, handler) {
    this.#services.set(name, { name, input: schemas.input, output: schemas.output, handler });
    return this;
  }

  /** Returns the `services` section for `.rawko/config.yaml`. */
  describe() {
    const described = [...this.#services.values()].map(({ name, input, output }) => [name, { remote: {}, input, output }]);
    return { services: Object.fromEntries(described) };
  }

  /** Takes calls until `stop`. Connects again after every loss; throws only if the server refuses. */
  async run() {
    let delay = 50;
    while (!this.#isStopping) {
      try {
        await this.#converse(() => (delay = 50));
      } catch (error) {
        if (error?.status !== undefined && ![429, 502, 503, 504].includes(error.status)) {
          throw new RegistrationError(error.code, error.detail);
        }
        if (error instanceof RegistrationError) throw error;
        if (!(error instanceof ConnectionLost) && error?.status === undefined) throw error;
      } finally {
        this.#socket = undefined;
      }
      if (!this.#isStopping) {
        await sleep(delay * (0.5 + Math.random()));
        delay = Math.min(delay * 2, 2_000);
      }
    }
  }

  /** Takes calls in the background. Resolves once the server has accepted the program; rejects if it refuses. */
  async start() {
    const registered = new Promise((resolve) => (this.#onStart = resolve));
    this.#running = this.run();
    // Reported by `stop`, if it happens later.
    this.#running.catch(() => {});
    await Promise.race([this.#running, registered]);
  }

  /** Runs until SIGTERM or SIGINT. */
  async serve() {
    const stop = () => void this.stop();
    process.once("SIGTERM", stop).once("SIGINT", stop);
    try {
      await this.run();
    } finally {
      process.off("SIGTERM", stop).off("SIGINT", stop);
    }
  }

  /** Takes no more calls, finishes those that run, and disconnects. */
  async stop(graceMs = 30_000) {
    const until = Date.now() + graceMs;
    if (this.#socket) this.#send({ type: "goodbye" });
    while (this.#socket && (this.#work.size || this.#answers.size) && Date.now() < until) {
      await new Promise((resolve) => {
        this.#wake = resolve;
        setTimeout(resolve, Math.max(0, until - Date.now())).unref();
      });
    }
    this.#isStopping = true;
    this.#socket?.close();
    await this.#running;
  }

  #registration() {
    const offers = [...this.#services.values()].map(({ name, input, output }) => ({ name, input, output }));
    return {
      type: "register",
      protocol: 1,
      name: this.#options.name,
      session: this.#session,
      concurrency: this.#options.concurrency,
      services: offers,
      calls: [...this.#keys.keys()],
      keys: [...this.#work.keys(), ...[...this.#results.keys()].reverse()].slice(0, KEYS_MAX),
    };
  }

  /** One connection, from its registration to its end. Always throws, with the reason. */
  async #converse(onRegistered) {
    const { url, token } = this.#options;
    let [fail, socket, patience] = [undefined, undefined, REGISTER_MS];
    const ended = new Promise((_, reject) => (fail = reject));
    ended.catch(() => {});
    const onText = (text) => {
      try {
        const message = JSON.parse(text);
        if (message.type === "error" && message.fatal) {
          const { code } = message;
          fail(PASSING.has(code) ? new ConnectionLost(message.message) : new RegistrationError(code, message.message));
          socket.end("refused");
        } else if (message.type === "registered") {
          patience = MISSED_MAX * 1_000 * message.heartbeat_seconds;
          onRegistered();
          this.#socket = socket;
          this.#registered(message);
          if (this.#isStopping) socket.close();
        } else this.#hear(message);
      } catch (error) {
        fail(error);
        socket.end("failed");
      }
    };
    const headers = token ? { authorization: `Bearer ${token}` } : {};
    const onEnd = (reason) => fail(new ConnectionLost(reason));
    socket = await connect(`${url}/v1/services`, headers, { onText, onEnd });
    const watch = setInterval(() => {
      if (Date.now() - socket.heard > patience) socket.end("no heartbeat of the server arrived in time");
    }, 1_000);
    try {
      // Answers are sent once the server has answered which of them it wants.
      socket.send(JSON.stringify(this.#registration()));
      await ended;
    } finally {
      clearInterval(watch);
      socket.end("closed");
    }
  }

  #registered({ session, resumed }) {
    this.#session = session;
    this.#onStart();
    if (resumed) {
      for (const answer of this.#answers.values()) this.#send(answer);
      return;
    }
    // The server numbers calls anew; work and results stay, by key.
    this.#keys.clear();
    this.#answers.clear();
    for (const work of this.#work.values()) {
      work.calls.clear();
      work.stopped.clear();
    }
  }

  #hear(message) {
    if (message.type === "call") this.#begin(message);
    else if (message.type === "cancel") this.#cancel(message.call);
    else if (message.type === "received") {
      this.#keys.delete(message.call);
      this.#answers.delete(message.call);
      this.#wake();
    }
  }

  #begin({ call: number, key, service, instance, invoke, attempt, input }) {
    this.#keys.set(number, key);
    if (this.#results.has(key)) {
      this.#answer(number, this.#results.get(key));
      return;
    }
    const before = this.#work.get(key);
    if (before && !before.abort.signal.aborted) {
      before.calls.add(number);
      return;
    }
    const work = { key, calls: new Set([number]), stopped: new Set(), abort: new AbortController() };
    const progress = (data) =>
      work.calls.forEach((call) => {
        const message = { type: "progress", call, data };
        if (!faultOf(message)) this.#send(message);
      });
    const call = { service, key, instance, invoke, attempt, signal: work.abort.signal, progress };
    this.#work.set(key, work);
    // The same request again waits for its first attempt, which is being stopped.
    work.done = this.#carryOut(work, input, call, before?.done);
  }

  #cancel(number) {
    const work = this.#work.get(this.#keys.get(number));
    if (this.#answers.has(number)) this.#send(this.#answers.get(number));
    else if (!work?.calls.delete(number)) this.#answer(number, { type: "cancelled" });
    else {
      work.stopped.add(number);
      if (!work.calls.size) work.abort.abort();
    }
  }

  async #carryOut(work, input, call, before) {
    let answer;
    try {
      await before;
      answer = this.#results.get(work.key);
      if (!answer) {
        const value = (await this.#services.get(call.service).handler(input, call)) ?? null;
        answer = sendable({ type: "result", value });
      }
    } catch (error) {
      answer = failureOf(error, work.abort.signal.aborted);
    }
    if (answer.type === "result" || answer.outcome === "definite") {
      this.#results.set(work.key, answer);
      if (this.#results.size > RESULTS_MAX) this.#results.delete(this.#results.keys().next().value);
    }
    if (this.#work.get(work.key) === work) this.#work.delete(work.key);
    for (const number of [...work.calls, ...work.stopped]) this.#answer(number, answer);
    this.#wake();
  }

  #answer(number, answer) {
    const message = sendable({ ...answer, call: number });
    this.#answers.set(number, message);
    this.#send(message);
  }

  #send(message) {
    this.#socket?.send(encoded(message));
  }
}

/** Returns the text of a message. Throws if the server could not read it. */
function encoded(message) {
  const text = JSON.stringify(message, (key, value) => {
    if (key.isWellFormed() && (typeof value !== "string" || value.isWellFormed())) return value;
    throw new TypeError("a text has one half of a surrogate pair");
  });
  const size = Buffer.byteLength(text);
  if (size <= MESSAGE_BYTES_MAX) return text;
  throw new RangeError(`it has ${size} bytes, and a message has at most ${MESSAGE_BYTES_MAX}`);
}

/** Returns the answer, or the failure of one that the server could not read: sent as it is, it would never arrive. */
function sendable(answer) {
  const error = faultOf(answer);
  if (!error) return answer;
  const message = `the ${answer.type} is not JSON, or is too large: ${error.message}`;
  return { type: "failure", call: answer.call, message, category: "invalid_answer", outcome: "unknown" };
}

function faultOf(message) {
  try {
    encoded(message);
    return undefined;
  } catch (error) {
    return error;
  }
}

function failureOf(error, isCancelled) {
  if (error instanceof ServiceError) {
    const { message, category, retryable, definite, details } = error;
    return { type: "failure", message, category, retryable, details, outcome: definite ? "definite" : "unknown" };
  }
  if (isCancelled) return { type: "cancelled" };
  return { type: "failure", message: String(error?.stack?.split("\n")[0] ?? error), outcome: "unknown" };
}
