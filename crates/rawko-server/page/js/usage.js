// Tokens and cost by day, agent and model, over the latest instances. Separate from the agents, because it is about time.
import { get, path } from './api.js';
import { fill, h, say } from './dom.js';
import { empty, failed } from './empty.js';
import { href } from './route.js';
import { compact, cost, number, plural } from './words.js';

export function usage(root) {
  const body = h('div', { class: 'scroll', tabindex: 0 });
  const about = h('span', { class: 'muted' });
  root.append(h('div', { class: 'view-head' }, h('h1', null, 'Usage'), about), body);
  const read = async () => {
    try {
      const { instances, has_more: more, parts } = await get(path('usage'));
      say(about, `${plural(instances, 'instance')}${more ? ', the latest ones' : ''}`);
      if (!parts.some((it) => it.tokens)) return void fill(body, empty({ title: 'No usage yet', lead: 'Completions of models are counted here, by day, agent and model.', commands: [] }));
      fill(
        body,
        table('Day', sums(parts, (it) => it.day).sort(([a], [b]) => b.localeCompare(a))),
        table('Agent', most(sums(parts, (it) => it.agent ?? 'arbiter and others')), (name) => (name.includes(' ') ? name : h('a', { href: href('agents', name) }, name))),
        table('Model', most(sums(parts.filter((it) => it.tokens), (it) => it.model ?? 'not named'))),
      );
    } catch (error) {
      fill(body, failed(error, read));
    }
    return undefined;
  };
  read();
  return { title: 'Usage', again: read };
}

const most = (entries) => entries.sort((a, b) => b[1].tokens - a[1].tokens);

function sums(rows, key) {
  const all = new Map();
  for (const row of rows) {
    const sum = all.get(key(row)) ?? { runs: 0, tokens: 0, cost_usd: 0, tool_calls: 0 };
    for (const name of ['runs', 'tokens', 'cost_usd', 'tool_calls']) sum[name] += row[name];
    all.set(key(row), sum);
  }
  return [...all];
}

function table(name, entries, shown = (key) => key) {
  const most = Math.max(1, ...entries.map(([, it]) => it.tokens));
  const bar = (it) => h('span', { class: 'usage-bar', 'aria-hidden': 'true', style: { '--part': String(it.tokens / most) } });
  const row = ([key, it]) => h('tr', null, h('th', { scope: 'row' }, shown(key)), h('td', { class: 'usage-cell' }, bar(it)), h('td', { class: 'number' }, compact(it.tokens)), h('td', { class: 'number' }, cost(it.cost_usd)), name === 'Model' ? null : h('td', { class: 'number' }, number(it.tool_calls)), h('td', { class: 'number' }, number(it.runs)));
  const heads = [name, '', 'Tokens', 'Cost', 'Tool calls', 'Runs'].filter((word) => name !== 'Model' || word !== 'Tool calls');
  return h('section', { class: 'part usage' }, h('h2', null, `By ${name.toLowerCase()}`), h('table', { class: 'cost-table' }, h('thead', null, h('tr', null, heads.map((word) => (word ? h('th', { scope: 'col' }, word) : h('td', { class: 'usage-cell' }))))), h('tbody', null, entries.map(row))));
}
