// Tokens and cost by day, agent and model, over the latest instances; the days also of one agent or model. Separate from the
// agents, because it is about time.
import { get, path } from './api.js';
import { fill, h, say } from './dom.js';
import { empty, failed } from './empty.js';
import { href, note } from './route.js';
import { compact, cost, number, plural } from './words.js';

const OTHERS = 'arbiter and others';
const agentOf = (part) => part.agent ?? OTHERS;
const modelOf = (part) => part.model ?? 'not named';

export function usage(root, route) {
  const body = h('div', { class: 'scroll', tabindex: 0 });
  const about = h('span', { class: 'muted' });
  const asked = { agent: route.query.agent ?? '', model: route.query.model ?? '' };
  let parts = [];
  const choice = (key, all) => h('select', { class: 'input', 'aria-label': all, hidden: true, on: { change: (event) => narrow(key, event.target.value) } });
  const choices = { agent: choice('agent', 'All agents'), model: choice('model', 'All models') };
  root.append(h('div', { class: 'view-head' }, h('h1', null, 'Usage'), about, h('span', { class: 'grow' }), choices.agent, choices.model), body);

  function narrow(key, value) {
    asked[key] = value;
    note(asked);
    show();
  }

  function offer(select, key, names) {
    select.hidden = names.length < 2 && !asked[key];
    fill(select, h('option', { value: '' }, select.getAttribute('aria-label')), names.map((name) => h('option', { value: name }, name)));
    if (asked[key] && !names.includes(asked[key])) select.append(h('option', { value: asked[key] }, asked[key]));
    select.value = asked[key];
  }

  function show() {
    const counted = parts.filter((it) => it.tokens || it.tool_calls);
    offer(choices.agent, 'agent', distinct(counted.map(agentOf)));
    offer(choices.model, 'model', distinct(counted.filter((it) => it.tokens).map(modelOf)));
    const of = parts.filter((it) => (!asked.agent || agentOf(it) === asked.agent) && (!asked.model || modelOf(it) === asked.model));
    if (!of.some((it) => it.tokens)) {
      const lead = parts.some((it) => it.tokens) ? 'Choose another agent or model.' : 'Completions of models are counted here, by day, agent and model.';
      return void fill(body, empty({ title: 'No usage yet', lead }));
    }
    fill(
      body,
      table('Day', sums(of, (it) => it.day).sort(([a], [b]) => b.localeCompare(a))),
      table('Agent', most(sums(of, agentOf)), (name) => (name === OTHERS ? name : h('a', { href: href('agents', name) }, name))),
      table('Model', most(sums(of.filter((it) => it.tokens), modelOf))),
    );
    return undefined;
  }

  const read = async () => {
    try {
      const answer = await get(path('usage'));
      parts = answer.parts;
      say(about, `${plural(answer.instances, 'instance')}${answer.has_more ? ', the latest ones' : ''}`);
      show();
    } catch (error) {
      fill(body, failed(error, read));
    }
  };
  read();
  return { title: 'Usage', again: read, moved: ({ query }) => (query.agent ?? '') === asked.agent && (query.model ?? '') === asked.model };
}

const distinct = (names) => [...new Set(names)].sort((a, b) => a.localeCompare(b));
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

/** Models call no tools, but the column stays: the tables stand below each other. */
function table(name, entries, shown = (key) => key) {
  const largest = Math.max(1, ...entries.map(([, it]) => it.tokens));
  const bar = (it) => h('span', { class: 'usage-bar', 'aria-hidden': 'true', style: { '--part': String(it.tokens / largest) } });
  const row = ([key, it]) =>
    h(
      'tr',
      null,
      h('th', { scope: 'row' }, shown(key)),
      h('td', { class: 'usage-cell' }, bar(it)),
      h('td', { class: 'number' }, compact(it.tokens)),
      h('td', { class: 'number' }, cost(it.cost_usd)),
      h('td', { class: 'number' }, name === 'Model' ? '' : number(it.tool_calls)),
      h('td', { class: 'number' }, number(it.runs)),
    );
  const head = (word) => h('th', { scope: 'col' }, word);
  const heads = [head(name), h('td', { class: 'usage-cell' }), head('Tokens'), head('Cost'), name === 'Model' ? h('td') : head('Tool calls'), head('Runs')];
  return h(
    'section',
    { class: 'part usage' },
    h('h2', null, `By ${name.toLowerCase()}`),
    h('table', { class: 'cost-table' }, h('thead', null, h('tr', null, heads)), h('tbody', null, entries.map(row))),
  );
}
