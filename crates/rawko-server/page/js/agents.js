// The project's agents and how they are. Apart, because it is a list of its own.
import { get, path } from './api.js';
import { fill, h, keyed, say, steady } from './dom.js';
import { empty, failed } from './empty.js';
import { href } from './route.js';
import { face } from './turns.js';
import { cost, number } from './words.js';

const HEALTH = { ok: 'ok', warning: 'warning', broken: 'broken', unknown: 'not checked' };
const TONE = { ok: 'done', warning: 'person', broken: 'error', unknown: 'cancelled' };

export function agents(root) {
  const list = h('ul', { class: 'cards two', role: 'list' });
  const body = h('div', { class: 'scroll', tabindex: 0 });
  root.append(
    h(
      'div',
      { class: 'view-head' },
      h('h1', null, 'Agents'),
    ),
    body,
  );
  let known = false;

  async function read() {
    try {
      const { agents: all } = await get(path('agents'));
      known = true;
      if (!all.length) return void fill(body, nothing());
      if (list.parentElement !== body) fill(body, list);
      keyed(list, all, (it) => it.name, card, update);
    } catch (error) {
      if (!known) fill(body, failed(error, read));
    }
    return undefined;
  }

  const refresh = steady(read, 10_000);
  read();
  return {
    title: 'Agents',
    heard: (type) => type === 'step' && refresh(),
    again: refresh,
    gone: () => refresh.cancel(),
  };
}

const nothing = () =>
  empty({
    title: 'No agents yet',
    lead: 'An agent is a file in .rawko/agents with instructions, tools and a model.',
    commands: [
      ['Create four agents', 'rawko init'],
      ['Check agents', 'rawko agents check'],
    ],
  });

function card() {
  const parts = {
    face: h('span'),
    name: h('a', { class: 'agent-link' }),
    id: h('code', { class: 'muted' }),
    pill: h('span', { class: 'pill' }, h('span', { class: 'dot' }), h('span')),
    words: h('p', { class: 'agent-words' }),
    message: h('p', { class: 'agent-message' }),
    facts: h('dl', { class: 'head-facts' }),
  };
  const item = h(
    'li',
    { class: 'card agent' },
    h(
      'div',
      { class: 'agent-head' },
      parts.face,
      h('div', { class: 'grow agent-name' }, parts.name, parts.id),
      parts.pill,
    ),
    parts.words,
    parts.message,
    parts.facts,
  );
  item.parts = parts;
  return item;
}

function update(item, it) {
  const { parts } = item;
  const health = it.health ?? { state: 'unknown' };
  fill(parts.face, face(it.name));
  say(parts.name, it.displayName ?? it.name);
  parts.name.href = href('agents', it.name);
  say(parts.id, it.name);
  parts.pill.dataset.tone = parts.pill.firstElementChild.dataset.tone = it.busy
    ? 'work'
    : (TONE[health.state] ?? 'cancelled');
  say(parts.pill.lastElementChild, it.busy ? `${number(it.busy)} active` : (HEALTH[health.state] ?? health.state));
  say(parts.words, it.description ?? it.whenToUse ?? '');
  parts.message.hidden = !health.message || health.state === 'ok';
  say(parts.message, health.message ?? '');
  const fact = (name, ...value) => h('div', null, h('dt', null, name), h('dd', null, value));
  fill(
    parts.facts,
    fact('Kind', it.kind ?? 'llm'),
    it.model ? fact('Model', it.model) : null,
    it.calls ? fact('Runs', h('span', { class: 'number' }, number(it.calls))) : null,
    it.failures ? fact('Failures', h('span', { class: 'number' }, number(it.failures))) : null,
    it.cost_usd > 0 ? fact('Cost', h('span', { class: 'number' }, cost(it.cost_usd))) : null,
    it.channels?.length
      ? fact(
          'Channels',
          it.channels.map((name, at) => [at ? ', ' : null, h('a', { href: href('channels', name) }, `#${name}`)]),
        )
      : null,
    it.file ? fact('File', h('code', null, it.file)) : null,
  );
}
