// Where a request comes from: the instance at the top, its title, and what the requesting instance said last. Separate
// from the list of requests, because it is read once per instance and kept.
import { get, path } from './api.js';

const DEPTH_MAX = 8;
const known = new Map();
const KNOWN_MAX = 300;

/** @returns {Promise<{root: string, title: string, chart: string, said: string | null}>} */
export function originOf(id) {
  if (known.size > KNOWN_MAX) known.clear();
  if (!known.has(id)) known.set(id, read(id).catch(() => ({ root: id, title: id, chart: '', said: null })));
  return known.get(id);
}

/** Forgets what an instance said, because it may have said more. */
export function forget(id) {
  known.delete(id);
}

async function read(id) {
  const [top, said] = await Promise.all([topOf(id), lastWords(id)]);
  return { root: top.id, title: top.title ?? top.id, chart: top.chart, said };
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
