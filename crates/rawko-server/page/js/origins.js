// Where a request comes from: the instance at the top, its title, and the last message of the requesting instance. Separate
// from the list of requests, because it is read once per instance and kept.
import { get, path } from './api.js';

const DEPTH_MAX = 8;
const KNOWN_MAX = 300;
const READ_MAX = 40;
const AT_ONCE = 4;
const settled = new Map();

/** What is known about the origin of a request without asking. A top-level instance is its own. */
export const originNow = (id) => settled.get(id) ?? { root: id, title: id, chart: '', message: null };

/** Reads the origins of requests of descendants, a few at a time. Returns whether there is something new. */
export async function readOrigins(ids) {
  const missing = [...new Set(ids)].filter((id) => id.includes('.') && !settled.has(id)).slice(0, READ_MAX);
  if (settled.size > KNOWN_MAX) settled.clear();
  const some = missing.length > 0;
  const worker = async () => {
    for (let id = missing.shift(); id; id = missing.shift())
      settled.set(id, await read(id).catch(() => ({ root: id, title: id, chart: '', message: null })));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return some;
}

/** Forgets the last message of an instance, because there may be a newer one. */
export function forget(id) {
  settled.delete(id);
}

async function read(id) {
  const [top, message] = await Promise.all([topOf(id), lastWords(id)]);
  return { root: top.id, title: top.title ?? top.id, chart: top.chart, message };
}

async function topOf(id) {
  let row = await get(path('instances', id));
  for (let depth = 0; row.parent && depth < DEPTH_MAX; depth += 1) row = await get(path('instances', row.parent.id));
  return row;
}

async function lastWords(id) {
  const { turns } = await get(path('instances', id, 'transcript'), { limit: 20 });
  return turns.findLast((turn) => turn.kind === 'says')?.text ?? null;
}
