// One agent: its prompt, its grant, its model, and what it did. Separate from the list, which shows how all of them are.
import { get, path } from './api.js';
import { ago } from './clock.js';
import { fill, h } from './dom.js';
import { empty, failed } from './empty.js';
import { prose } from './prose.js';
import { href } from './route.js';
import { spentBrief } from './spent.js';
import { treeOf } from './tree.js';
import { face } from './turns.js';
import { TONES, cost, number, tone } from './words.js';

const HISTORY = 50;
/** Keys that stand in places of their own. */
const APART = ['system_prompt', 'systemPrompt', 'model', 'tools', 'permissions', 'limits', 'isolation'];

export function agent(root, route) {
  const { name } = route;
  const body = h('div', { class: 'scroll', tabindex: 0 });
  root.append(h('div', { class: 'view-head' }, h('p', { class: 'crumbs' }, h('a', { href: href('agents') }, 'Agents')), face(name), h('h1', null, name)), body);
  const read = async () => {
    try {
      const [{ agents }, details, rows] = await Promise.all([
        get(path('agents')),
        get(path('agents', name)).catch((error) => (error.status === 404 ? null : Promise.reject(error))),
        history(name),
      ]);
      const it = agents.find((one) => one.name === name);
      if (!it) return void fill(body, empty({ title: 'No such agent', lead: `There is no agent ${name} in this project.`, commands: [['List agents', 'rawko agents']] }));
      fill(body, h('div', { class: 'agent-page' }, facts(it, details?.definition ?? {}), definition(details?.definition ?? {}), runs(rows)));
    } catch (error) {
      fill(body, failed(error, read));
    }
    return undefined;
  };
  read();
  return { title: name, again: read };
}

/** The latest runs of an agent, among the latest instances. */
async function history(name) {
  let [rows, cursor, pages] = [[], null, 0];
  do {
    const answer = await get(path('instances'), { children: 'true', limit: 500, cursor });
    rows = rows.concat(answer.instances.filter((row) => row.agent === name));
    cursor = answer.next;
    pages += 1;
  } while (cursor && rows.length < HISTORY && pages < 10);
  return rows.slice(0, HISTORY);
}

const part = (title, ...content) => h('section', { class: 'card part' }, h('h2', null, title), content);

function facts(it, { model }) {
  const fact = (term, ...value) => h('div', null, h('dt', null, term), h('dd', null, value));
  return h(
    'section',
    { class: 'card part' },
    h('p', { class: 'wrap' }, it.description || 'No description.'),
    h(
      'dl',
      { class: 'head-facts' },
      fact('Kind', it.kind),
      fact('Model', it.model ?? model ?? 'default'),
      fact('Health', it.health?.state ?? 'unknown', it.health?.message ? ` · ${it.health.message}` : ''),
      fact('Runs', number(it.calls ?? 0)),
      it.failures ? fact('Failures', number(it.failures)) : null,
      it.cost_usd ? fact('Cost', cost(it.cost_usd)) : null,
      it.file ? fact('File', h('code', null, it.file)) : null,
    ),
  );
}

function definition(all) {
  const prompt = all.system_prompt ?? all.systemPrompt;
  const others = Object.fromEntries(Object.entries(all).filter(([key]) => !APART.includes(key)));
  return [
    prompt ? part('Prompt', h('div', { class: 'prose' }, prose(prompt))) : null,
    part('Grant', grant(all)),
    limited(all.limits ?? {}),
    Object.keys(others).length ? part('Definition', treeOf(others, 'Definition')) : null,
  ];
}

/** The limits that are set. */
function limited(limits) {
  const set = Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== null));
  return Object.keys(set).length ? part('Limits', treeOf(set, 'Limits')) : null;
}

/** What the agent may use, in words. */
function grant({ tools = {}, permissions, isolation }) {
  const names = (list) => (list?.length ? list.map((name, at) => [at ? ', ' : null, h('code', null, name)]) : null);
  const fact = (term, value) => (value ? h('div', null, h('dt', null, term), h('dd', null, value)) : null);
  return [
    h(
      'dl',
      { class: 'head-facts grant' },
      fact('Tools', tools.allowed ? (names(tools.allowed) ?? 'none') : 'all that the settings allow'),
      fact('Blocked', names(tools.blocked)),
      fact('Hosts', tools.network ? (names(tools.network) ?? 'none') : null),
      fact('Works in', isolation ? 'a worktree of its own' : 'the project'),
    ),
    tools.bash_filter ?? tools.bashFilter ? treeOf({ commands: tools.bash_filter ?? tools.bashFilter }, 'Commands') : null,
    permissions ? treeOf({ permissions }, 'Permissions') : null,
  ];
}

function runs(rows) {
  if (!rows.length) return part('History', h('p', { class: 'muted' }, 'No runs yet.'));
  const row = (it) => {
    const word = tone(it);
    return h(
      'li',
      null,
      h('span', { class: 'dot', data: { tone: word }, title: TONES[word] ?? '' }),
      h('span', { class: 'grow' }, h('a', { href: href('instances', it.id) }, it.title ?? it.id), h('span', { class: 'muted' }, ` ${it.outcome ?? it.status}`)),
      h('span', { class: 'muted number' }, spentBrief(it.spent)),
      ago(it.created_ms),
    );
  };
  return part('History', h('ul', { class: 'facts' }, rows.map(row)));
}
