// Tokens and cost by day and agent, over the latest instances. Separate from the agents, because it is about time.
import { get, path } from './api.js';
import { fill, h, say } from './dom.js';
import { empty, failed } from './empty.js';
import { compact, cost, number, plural } from './words.js';

const ROWS_MAX = 5000;

export function usage(root) {
  const body = h('div', { class: 'scroll', tabindex: 0 });
  const about = h('span', { class: 'muted' });
  root.append(h('div', { class: 'view-head' }, h('h1', null, 'Usage'), about), body);
  const read = async () => {
    try {
      const rows = await everything();
      const own = ownOf(rows);
      say(about, `${plural(rows.length, 'instance')}${rows.length >= ROWS_MAX ? ', the latest ones' : ''}`);
      if (!own.some((row) => row.tokens)) return void fill(body, empty({ title: 'No usage yet', lead: 'Completions of models are counted here, by day and by agent.', commands: [] }));
      const day = (row) => new Date(row.created_ms).toISOString().slice(0, 10);
      fill(body, table('Day', sums(own, day).sort(([a], [b]) => b.localeCompare(a))), table('Agent', sums(own, (row) => row.agent ?? 'arbiter and others').sort((a, b) => b[1].tokens - a[1].tokens)));
    } catch (error) {
      fill(body, failed(error, read));
    }
    return undefined;
  };
  read();
  return { title: 'Usage', again: read };
}

async function everything() {
  let [rows, cursor] = [[], null];
  do {
    const answer = await get(path('instances'), { children: 'true', limit: 500, cursor });
    rows = rows.concat(answer.instances);
    cursor = answer.next;
  } while (cursor && rows.length < ROWS_MAX);
  return rows;
}

/** What each instance spent itself: its descendants count for it, too, and are taken away. */
function ownOf(rows) {
  const below = new Map();
  for (const row of rows) {
    if (!row.parent) continue;
    const sum = below.get(row.parent.id) ?? { tokens: 0, cost_usd: 0, tool_calls: 0 };
    for (const key of Object.keys(sum)) sum[key] += row.spent?.[key] ?? 0;
    below.set(row.parent.id, sum);
  }
  return rows.map((row) => {
    const inner = below.get(row.id) ?? {};
    const own = (key) => Math.max(0, (row.spent?.[key] ?? 0) - (inner[key] ?? 0));
    return { agent: row.agent, created_ms: row.created_ms, tokens: own('tokens'), cost_usd: own('cost_usd'), tool_calls: own('tool_calls') };
  });
}

function sums(rows, key) {
  const all = new Map();
  for (const row of rows) {
    if (!row.tokens && !row.tool_calls) continue;
    const sum = all.get(key(row)) ?? { runs: 0, tokens: 0, cost_usd: 0, tool_calls: 0 };
    sum.runs += 1;
    for (const name of ['tokens', 'cost_usd', 'tool_calls']) sum[name] += row[name];
    all.set(key(row), sum);
  }
  return [...all];
}

function table(name, entries) {
  const most = Math.max(1, ...entries.map(([, it]) => it.tokens));
  const bar = (it) => h('span', { class: 'usage-bar', 'aria-hidden': 'true', style: { '--part': String(it.tokens / most) } });
  const row = ([key, it]) => h('tr', null, h('th', { scope: 'row' }, key), h('td', { class: 'usage-cell' }, bar(it)), h('td', { class: 'number' }, compact(it.tokens)), h('td', { class: 'number' }, cost(it.cost_usd)), h('td', { class: 'number' }, number(it.tool_calls)), h('td', { class: 'number' }, number(it.runs)));
  const heads = [name, '', 'Tokens', 'Cost', 'Tool calls', 'Runs'];
  return h('section', { class: 'part usage' }, h('h2', null, `By ${name.toLowerCase()}`), h('table', { class: 'cost-table' }, h('thead', null, h('tr', null, heads.map((word) => (word ? h('th', { scope: 'col' }, word) : h('td'))))), h('tbody', null, entries.map(row))));
}
