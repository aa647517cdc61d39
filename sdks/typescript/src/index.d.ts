// Types of the package. Those of the API are generated: see types.d.ts.

import type { Approval, Budget, Instance, NewTask, Operations, Receipt } from "./types.js";

export type * from "./types.js";

export interface ConnectOptions {
  /** Address of `rawko serve` [default: RAWKO_URL, else http://127.0.0.1:7411]. */
  url?: string;
  /** Token [default: RAWKO_TOKEN]. */
  token?: string;
}

/** One event of a stream: `hello`, `step` (a journal entry), `progress` (of a running call) or `channel`. */
export interface StreamEvent {
  type: "hello" | "step" | "progress" | "channel" | (string & {});
  data: Record<string, any>;
  id?: number;
  /** The streamed text of a model, if this is a piece of it. */
  text?: string;
}

type Filled<T> = keyof T extends never ? {} : T;
type CallOptions<K extends keyof Operations> = { key?: string } & (keyof Operations[K]["path"] extends never
  ? {}
  : { path: Operations[K]["path"] }) &
  (keyof Operations[K]["query"] extends never ? {} : { query?: Filled<Operations[K]["query"]> }) &
  (undefined extends Operations[K]["body"] ? {} : { body: Operations[K]["body"] });

export class Client {
  /**
   * `retryFor`: milliseconds to survive a restart of the server [default: 60,000]. `silence`: a stream that brings nothing
   * for so many milliseconds is opened again; the server sends something every 15 s [default: 45,000].
   */
  constructor(options?: ConnectOptions & { retryFor?: number; silence?: number });
  /** Starts a run of a published chart: `order`, `order@1.2.0`, `order@^1`. */
  start(chart: string, input?: unknown, options?: { id?: string; budget?: Budget }): Promise<Run>;
  /** Starts a task for the project's agents. */
  task(text: string, options?: Omit<NewTask, "task">): Promise<Run>;
  /** Returns a run or task that exists, such as one that another program started. */
  attach(id: string): Run;
  /** Returns the pending requests to people, newest first. */
  approvals(): Promise<Approval[]>;
  /** Yields live events, of one instance or of all. Reconnects without losing or repeating a step. */
  events(options?: {
    instance?: string;
    after?: number;
    children?: boolean;
    signal?: AbortSignal;
  }): AsyncGenerator<StreamEvent, void, undefined>;
  /** Calls one operation of the API: `client.call("GET /v1/instances/{id}", { path: { id } })`. */
  call<K extends keyof Operations>(operation: K, options?: CallOptions<K>): Promise<Operations[K]["result"]>;
}

/** One run of a chart, or one task. */
export class Run implements AsyncIterable<StreamEvent> {
  readonly id: string;
  private constructor();
  /** Returns the current state: status, active states, context, output. */
  get(): Promise<Instance>;
  /** Sends an event. With the same `key` it is handled once, however often it is sent. */
  send(event: string, data?: unknown, options?: { key?: string }): Promise<Receipt>;
  /** Answers the pending request to a person: yes or no, a comment, the fields of a form. */
  approve(approved?: boolean, options?: { comment?: string; data?: unknown; invoke?: string }): Promise<Receipt>;
  /** Gives the agents of a task a message, or continues one that has ended. */
  say(text: string): Promise<Run>;
  cancel(reason?: string): Promise<Receipt>;
  pause(): Promise<Receipt>;
  resume(): Promise<Receipt>;
  /** Yields the steps from the beginning (`after: null`: from now) and the progress of calls; ends with the run. */
  events(options?: {
    after?: number | null;
    children?: boolean;
    signal?: AbortSignal;
  }): AsyncGenerator<StreamEvent, void, undefined>;
  [Symbol.asyncIterator](): AsyncGenerator<StreamEvent, void, undefined>;
  /** Waits for the end and returns the output. Throws `RunFailed` if the run did not succeed. */
  result<T = unknown>(): Promise<T>;
}

/** One call of a service. `key` is the same for every attempt whose effect is in doubt. */
export interface Call {
  service: string;
  key: string;
  instance: string;
  invoke: string;
  /** 1 for the first attempt. */
  attempt: number;
  /** Aborted when the result is no longer wanted. */
  signal: AbortSignal;
  /** Shows progress to people who watch; nothing is stored. */
  progress(data: unknown): void;
}

/** The type of the values that a JSON Schema describes; write the schema `as const`. */
export type FromSchema<S> = S extends { const: infer V }
  ? V
  : S extends { enum: readonly (infer V)[] }
    ? V
    : S extends { type: "object"; properties: infer P }
      ? ObjectOf<P, S extends { required: readonly (infer R)[] } ? R : never>
      : S extends { type: "object" }
        ? Record<string, unknown>
        : S extends { type: "array"; items: infer I }
          ? FromSchema<I>[]
          : S extends { type: "array" }
            ? unknown[]
            : S extends { type: infer W }
              ? W extends keyof Scalars
                ? Scalars[W]
                : W extends readonly (infer U)[]
                  ? U extends keyof Scalars
                    ? Scalars[U]
                    : unknown
                  : unknown
              : unknown;

interface Scalars {
  string: string;
  number: number;
  integer: number;
  boolean: boolean;
  null: null;
}

type ObjectOf<P, R> = { -readonly [K in keyof P as K extends R ? K : never]: FromSchema<P[K]> } & {
  -readonly [K in keyof P as K extends R ? never : K]?: FromSchema<P[K]>;
};

/** A set of services and the program that provides them. */
export class Services {
  /** The token needs the role `service`. `concurrency`: calls at the same time [default: 8]. */
  constructor(options?: ConnectOptions & { name?: string; concurrency?: number });
  /** Adds a service. The types of the handler follow from the schemas. */
  service<const I = unknown, const O = unknown>(
    name: string,
    schemas: { input?: I; output?: O },
    handler: (input: FromSchema<I>, call: Call) => FromSchema<O> | Promise<FromSchema<O>>,
  ): this;
  /** Returns the `services` section for `.rawko/config.yaml`. */
  describe(): { services: Record<string, unknown> };
  /** Takes calls in the background. Resolves once the server has accepted the program; rejects if it refuses. */
  start(): Promise<void>;
  /** Takes calls until `stop`. Connects again after every loss; throws only if the server refuses. */
  run(): Promise<void>;
  /** Like `run`, and stops at SIGTERM and SIGINT. */
  serve(): Promise<void>;
  /** Takes no more calls, finishes those that run, and disconnects. */
  stop(graceMs?: number): Promise<void>;
}

/** The server rejected a request. `code` is stable; `detail` is meant for people. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly problem: Record<string, unknown>;
  /** An earlier attempt of the same request got no response, so it may have been carried out. */
  readonly repeated: boolean;
}

/** The server cannot be reached or closed the connection; the request may have been carried out. */
export class ConnectionLost extends Error {}

/** The server rejected a program that provides services; connecting again cannot help. */
export class RegistrationError extends Error {
  readonly code: string;
}

/** A run ended without success. */
export class RunFailed extends Error {
  readonly instance: Instance;
}

/** A call failed, and had no effect unless `definite` is false. Any other error of a handler has an unknown outcome. */
export class ServiceError extends Error {
  constructor(
    message: string,
    options?: {
      category?: "failed" | "network" | "timeout" | "invalid_answer" | "unknown" | "expired" | "limit";
      retryable?: boolean;
      definite?: boolean;
      details?: Record<string, unknown>;
    },
  );
}
