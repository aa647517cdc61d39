// Requests to `/v1`: JSON in and out, problems as errors with their stable codes. Apart, so that no other module knows about
// headers, keys or status codes.

/** A problem document of the server (RFC 9457). */
export class Problem extends Error {
  /** @param {{status: number, title?: string, detail?: string, code?: string}} body */
  constructor(body) {
    super(body.detail || body.title || `the server responded with status ${body.status}`);
    this.name = 'Problem';
    this.status = body.status;
    this.code = body.code ?? null;
    this.body = body;
  }
}

/** The server cannot be reached at all. */
export class Unreachable extends Error {
  constructor() {
    super('cannot reach the server');
    this.name = 'Unreachable';
  }
}

const listeners = { refused: () => {}, unreachable: () => {} };

/** Listeners for a missing token and for a server that does not respond. */
export function onTrouble(given) {
  Object.assign(listeners, given);
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function call(method, path, { body, signal, key, accept, patience = 2 } = {}) {
  const headers = { Accept: accept ?? 'application/json' };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (key) headers['Idempotency-Key'] = key;
  const request = { method, headers, signal, credentials: 'same-origin', cache: 'no-store' };
  if (body !== undefined) request.body = JSON.stringify(body);
  let response;
  try {
    response = await fetch(path, request);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    listeners.unreachable();
    throw new Unreachable();
  }
  if (response.ok) return response;
  if (response.status === 429 && method === 'GET' && patience > 0) {
    await pause(Math.min(3, Number(response.headers.get('Retry-After')) || 1) * 1000);
    return call(method, path, { signal, accept, patience: patience - 1 });
  }
  const problemBody = await response.json().catch(() => ({}));
  const problem = new Problem({ title: response.statusText, ...problemBody, status: response.status });
  if (response.status === 401) listeners.refused(problem);
  throw problem;
}

/** @param {Record<string, unknown>} query */
export function withQuery(path, query = {}) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === '' || value === false) continue;
    for (const one of Array.isArray(value) ? value : [value]) words.append(name, String(one));
  }
  const text = words.toString();
  return text ? `${path}?${text}` : path;
}

/** The path below `/v1` from names of any kind. */
export const path = (...parts) => '/v1/' + parts.map((part) => encodeURIComponent(part)).join('/');

export async function get(address, query, { signal } = {}) {
  return (await call('GET', withQuery(address, query), { signal })).json();
}

export async function text(address, query, { signal, accept = '*/*' } = {}) {
  return (await call('GET', withQuery(address, query), { signal, accept })).text();
}

/** Keys of requests with an unknown result. */
const unsettled = new Map();

/**
 * A request that changes something. Where no answer came, or the server failed, it may have been applied: the same
 * request again has the same key, so that it is done once.
 */
export async function post(address, body = {}, { signal } = {}) {
  const request = `${address} ${JSON.stringify(body)}`;
  const key = unsettled.get(request) ?? freshKey();
  unsettled.delete(request);
  try {
    const response = await call('POST', address, { body, signal, key });
    return response.status === 204 ? null : response.json().catch(() => null);
  } catch (error) {
    if (!(error instanceof Problem) || error.status >= 500) unsettled.set(request, key);
    throw error;
  }
}

/** A question that needs a body; nothing changes. */
export async function ask(address, body, { signal } = {}) {
  return (await call('POST', address, { body, signal })).json();
}

export async function remove(address) {
  await call('DELETE', address);
}

/** `crypto.randomUUID` is for secure pages only; a page in a local network is none. */
export function freshKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
