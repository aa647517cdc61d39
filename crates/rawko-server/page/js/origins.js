// Where a request comes from: the instance at the top, its title, and the last message of the requesting instance. Separate
// from the list of requests, because it is read once per request and kept while the request is pending.
import { get, path } from './api.js';
import { askKey } from './ask.js';

const DEPTH_MAX = 8;
const BATCH = 40;
const AT_ONCE = 4;
/** By request: a later request of the same instance comes after other words. */
const settled = new Map();
/** Top-level instances, by the requesting instance. */
const tops = new Map();

/** The origin of a request as far as the page knows it without a request. The id of a descendant begins with that of its root and a dot. */
export const originNow = (ask) =>
  settled.get(askKey(ask)) ?? { root: ask.id.split('.')[0], title: ask.id.split('.')[0], chart: '', message: null };

/** Reads the origins of all pending requests, a batch at a time. `some` is called after each; it ends the reading with false. */
export async function readOrigins(asks, some) {
  keepOnly(settled, new Set(asks.map(askKey)));
  keepOnly(tops, new Set(asks.map((ask) => ask.id)));
  const missing = asks.filter((ask) => !settled.has(askKey(ask)));
  while (missing.length) {
    const batch = missing.splice(0, BATCH);
    const worker = async () => {
      for (let ask = batch.shift(); ask; ask = batch.shift()) {
        // A failed reading is repeated with the next one.
        const origin = await read(ask).catch(() => null);
        if (origin) settled.set(askKey(ask), origin);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    if (some() === false) return;
  }
}

function keepOnly(map, keys) {
  for (const key of map.keys()) if (!keys.has(key)) map.delete(key);
}

async function read({ id }) {
  const [top, message] = await Promise.all([tops.get(id) ?? topOf(id), lastWords(id)]);
  tops.set(id, top);
  return { ...top, message };
}

async function topOf(id) {
  let row = await get(path('instances', id));
  for (let depth = 0; row.parent && depth < DEPTH_MAX; depth += 1) row = await get(path('instances', row.parent.id));
  return { root: row.id, title: row.title ?? row.id, chart: row.chart };
}

async function lastWords(id) {
  const { turns } = await get(path('instances', id, 'transcript'), { limit: 20 });
  return turns.findLast((turn) => turn.kind === 'says')?.text ?? null;
}
