// `Client`: starts runs and tasks, follows them and acts on them.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { ApiError, ConnectionLost, RunFailed } from "./errors.js";

const URL = "http://127.0.0.1:7411";
// The server sends a comment to each stream every 15 seconds.
const SILENCE_MS = 45_000;

export function defaults(options) {
  return {
    url: (options.url ?? process.env.RAWKO_URL ?? URL).replace(/\/+$/, ""),
    token: options.token ?? process.env.RAWKO_TOKEN,
  };
}

export class Client {
  #url;
  #headers;
  #retryFor;
  #silence;

  constructor(options = {}) {
    const { url, token } = defaults(options);
    this.#url = url;
    this.#headers = token ? { authorization: `Bearer ${token}` } : {};
    this.#retryFor = options.retryFor ?? 60_000;
    this.#silence = options.silence ?? SILENCE_MS;
  }

  async start(chart, input, { id, budget } = {}) {
    const body = { chart, id: id ?? newId(chart.split("@")[0]), input, budget };
    return this.#begin("POST /v1/instances", body, id === undefined);
  }

  async task(text, options = {}) {
    const body = { ...options, task: text, id: options.id ?? newId("task") };
    return this.#begin("POST /v1/tasks", body, options.id === undefined);
  }

  attach(id) {
    return new Run(this, id);
  }

  async approvals() {
    return (await this.call("GET /v1/approvals", { query: { limit: 100 } })).approvals;
  }

  /** Calls one operation of the API: its types are those of the OpenAPI document. */
  async call(operation, { path = {}, query = {}, body, key } = {}) {
    const [method, template] = operation.split(" ");
    const filled = template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name]));
    const search = queryOf(query);
    const init = { method, headers: { ...this.#headers, accept: "application/json" } };
    if (method !== "GET") {
      init.headers["idempotency-key"] = key ?? randomUUID();
      init.headers["content-type"] = "application/json";
      init.body = JSON.stringify(body ?? {});
    }
    const patience = new Patience(this.#retryFor);
    let isLost = false;
    for (;;) {
      try {
        const response = await this.#fetch(filled + search, init);
        const text = await response.text().catch((error) => {
          throw new ConnectionLost(`the response was cut off: ${error.message}`);
        });
        return text ? JSON.parse(text) : null;
      } catch (error) {
        if (error instanceof ConnectionLost) isLost = true;
        if (error instanceof ApiError) error.repeated = isLost;
        await patience.wait(error);
      }
    }
  }

  /** Yields live events, of one instance or of all. Reconnects without losing or repeating a step. */
  async *events({ instance, after, children, signal } = {}) {
    let last = after;
    const patience = new Patience(this.#retryFor);
    for (;;) {
      let isLeft = false;
      const path = `/v1/stream${queryOf({ instance, children, after: last })}`;
      try {
        for await (const event of this.#stream(path, signal)) {
          patience.renew();
          if (event.id !== undefined && (event.type === "step" || last === undefined)) last = event.id;
          isLeft = true;
          yield event;
          isLeft = false;
        }
        throw new ConnectionLost("the stream ended");
      } catch (error) {
        // The caller needs no more events, and closing a broken stream failed.
        if (isLeft || signal?.aborted) return;
        await patience.wait(error);
      }
    }
  }

  async #begin(operation, body, isGenerated) {
    try {
      return new Run(this, (await this.call(operation, { body })).instance);
    } catch (error) {
      // The server forgets keys when it restarts. A generated id exists only if an earlier attempt was carried out; one
      // that the caller chose probably does, if an attempt got no response.
      const exists = error instanceof ApiError && error.code === "rawko::api::exists";
      if (!exists || !(isGenerated || error.repeated)) throw error;
      const run = new Run(this, body.id);
      if (!isGenerated && body.chart && (await run.get()).chart !== body.chart.split("@")[0]) throw error;
      return run;
    }
  }

  async #fetch(path, init) {
    let response;
    try {
      response = await fetch(this.#url + path, init);
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new ConnectionLost(`cannot reach ${this.#url}: ${error.cause?.message ?? error.message}`);
    }
    if (response.ok) return response;
    const text = await response.text().catch(() => "");
    throw problemOf(response.status, text);
  }

  async *#stream(path, outer) {
    const abort = new AbortController();
    const stop = () => abort.abort();
    let isSilent = false;
    const silent = () => {
      isSilent = true;
      stop();
    };
    outer?.addEventListener("abort", stop);
    if (outer?.aborted) stop();
    try {
      const headers = { ...this.#headers, accept: "text/event-stream" };
      const response = await this.#fetch(path, { headers, signal: abort.signal });
      const decoder = new TextDecoder();
      let pending = "";
      try {
        const body = response.body[Symbol.asyncIterator]();
        for (;;) {
          const timer = setTimeout(silent, this.#silence);
          const { done, value } = await body.next().finally(() => clearTimeout(timer));
          if (done) break;
          const frames = (pending + decoder.decode(value, { stream: true })).split("\n\n");
          pending = frames.pop();
          for (const frame of frames) {
            const event = eventOf(frame);
            if (event) yield event;
          }
        }
      } catch (error) {
        if (isSilent) throw new ConnectionLost(`the server sent nothing for ${this.#silence} ms`);
        if (error instanceof TypeError) throw new ConnectionLost(`the stream was cut off: ${error.message}`);
        throw error;
      }
    } finally {
      outer?.removeEventListener("abort", stop);
      stop();
    }
  }
}

/** One run of a chart, or one task. */
export class Run {
  #client;

  constructor(client, id) {
    this.#client = client;
    this.id = id;
  }

  get() {
    return this.#client.call("GET /v1/instances/{id}", { path: { id: this.id } });
  }

  send(event, data, { key } = {}) {
    return this.#act("events", { type: event, data }, key);
  }

  approve(approved = true, { comment, data, invoke } = {}) {
    return this.#act("answer", { approved, comment, data, invoke });
  }

  async say(text) {
    const asked = { path: { id: this.id }, body: { text } };
    return new Run(this.#client, (await this.#client.call("POST /v1/tasks/{id}/continue", asked)).instance);
  }

  cancel(reason) {
    return this.#act("cancel", { reason });
  }

  pause() {
    return this.#act("pause");
  }

  resume() {
    return this.#act("resume");
  }

  #act(verb, body, key) {
    return this.#client.call(`POST /v1/instances/{id}/${verb}`, { path: { id: this.id }, body, key });
  }

  /** Yields the steps from the beginning (`after: null`: from now) and the progress of calls; ends with the run. */
  async *events({ after = 0, children = true, signal } = {}) {
    const asked = { instance: this.id, after: after ?? undefined, children, signal };
    for await (const event of this.#client.events(asked)) {
      if (event.type === "hello" && after === null && isOver(await this.get())) return;
      yield event;
      if (event.type === "step" && event.data.instance === this.id && event.data.status !== "active") return;
    }
  }

  [Symbol.asyncIterator]() {
    return this.events();
  }

  /** Waits for the end and returns the output. Throws `RunFailed` if the run did not succeed. */
  async result() {
    for await (const event of this.#client.events({ instance: this.id })) {
      if (event.type === "hello" || (event.type === "step" && event.data.status !== "active")) {
        let instance = await this.get();
        while (instance.status === "ended" && !instance.outcome) {
          // The server read it while its last step was written.
          await sleep(50);
          instance = await this.get();
        }
        if (isOver(instance)) {
          if (instance.outcome === "succeeded") return instance.output;
          throw new RunFailed(instance);
        }
      }
    }
  }
}

/** Lists repeat their name; what is not set is left out. */
function queryOf(values) {
  const known = Object.entries(values).filter(([, value]) => value !== undefined && value !== null);
  const pairs = known.flatMap(([name, value]) => [value].flat().map((item) => [name, String(item)]));
  return pairs.length ? `?${new URLSearchParams(pairs)}` : "";
}

function isOver(instance) {
  return instance.status === "ended" || instance.status === "stalled";
}

function eventOf(frame) {
  const fields = {};
  for (const line of frame.split("\n")) {
    const at = line.indexOf(":");
    if (at > 0) fields[line.slice(0, at)] = line.slice(at + 1).replace(/^ /, "");
  }
  if (fields.data === undefined) return undefined;
  const data = JSON.parse(fields.data);
  const event = { type: fields.event ?? "message", data, id: fields.id === undefined ? undefined : Number(fields.id) };
  const text = event.type === "progress" ? data.data?.text : undefined;
  return typeof text === "string" ? { ...event, text } : event;
}

export function problemOf(status, text) {
  let problem = {};
  try {
    problem = JSON.parse(text) ?? {};
  } catch {
    // A proxy answered.
  }
  return new ApiError(status, problem.code ?? "unknown", problem.detail ?? (text.slice(0, 500) || "no details"), problem);
}

function newId(prefix) {
  return `${prefix}-${randomUUID().replaceAll("-", "").slice(0, 16)}`;
}

/** Waits longer after each failure, up to a total; throws failures that time does not heal. */
class Patience {
  constructor(total) {
    this.total = total;
    this.renew();
  }

  renew() {
    this.delay = 50;
    this.until = undefined;
  }

  async wait(error) {
    const passes = error instanceof ConnectionLost || [429, 502, 503, 504].includes(error?.status);
    this.until ??= Date.now() + this.total;
    if (!passes || Date.now() > this.until) throw error;
    await sleep(this.delay * (0.5 + Math.random()));
    this.delay = Math.min(this.delay * 2, 2_000);
  }
}
