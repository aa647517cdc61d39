// All channels: who is in them, who has the turn. Apart from one channel's view.
import { get, path, post } from './api.js';
import { fill, h, keyed, say, steady } from './dom.js';
import { ask, field } from './dialog.js';
import { empty, failed } from './empty.js';
import { icon } from './icons.js';
import { go, href } from './route.js';
import { face } from './turns.js';
import { plural } from './words.js';

export function channels(root, _route, { may }) {
  const list = h('ul', { class: 'cards', role: 'list' });
  const body = h('div', { class: 'scroll', tabindex: 0 });
  const create = () =>
    h('button', { class: 'button primary', type: 'button', on: { click: make } }, icon('plus'), 'New channel');
  const first = may.operate ? create() : null;
  root.append(h('div', { class: 'view-head' }, h('h1', null, 'Channels'), h('span', { class: 'grow' }), first), body);
  let known = false;

  async function read() {
    try {
      const answer = await get(path('channels'));
      known = true;
      if (!answer.offered) return void (fill(body, nowhere()), first?.remove());
      if (!answer.channels.length) return void fill(body, nothing(may.operate ? [create()] : []));
      if (list.parentElement !== body) fill(body, list);
      keyed(list, answer.channels, (it) => it.name, card, update);
    } catch (error) {
      if (!known) fill(body, failed(error, read));
    }
    return undefined;
  }

  const refresh = steady(read, 300);
  read();
  return {
    title: 'Channels',
    heard: (type) => type === 'channel' && refresh(),
    again: refresh,
    gone: () => refresh.cancel(),
  };
}

function make() {
  const name = h('input', {
    class: 'input',
    type: 'text',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'standup',
  });
  const chosen = h(
    'div',
    { class: 'ticks' },
    h('p', { class: 'muted' }, 'No agents yet. Agents can be assigned later.'),
  );
  get(path('agents'))
    .then(
      ({ agents }) =>
        agents.length &&
        fill(
          chosen,
          agents.map((it) =>
            h(
              'label',
              { class: 'switch' },
              h('input', { type: 'checkbox', value: it.name }),
              h('span', null, it.displayName ?? it.name),
            ),
          ),
        ),
    )
    .catch(() => {});
  ask({
    title: 'New channel',
    lead: 'A shared conversation: agents take turns, people can post at any time.',
    act: 'Create',
    body: [field('Name', name), h('fieldset', { class: 'group' }, h('legend', null, 'Agents'), chosen)],
    async work() {
      if (!name.value.trim()) throw new Error('the channel name is required');
      const agents = [...chosen.querySelectorAll('input:checked')].map((box) => box.value);
      await post(path('channels'), { name: name.value.trim(), agents, options: {} });
      go('channels', name.value.trim());
    },
  });
}

const nowhere = () =>
  empty({
    title: 'Channels are not available',
    lead: 'This server runs instances on Restate. Channels require a single machine: run rawko serve without --host restate.',
  });

const nothing = (actions) =>
  empty({
    title: 'No channels yet',
    lead: 'In a channel, agents take turns and people can post at any time. Define one in the settings or create one here.',
    commands: [
      ['Create a channel', 'rawko channels create standup'],
      ['Join it', 'rawko chat standup'],
    ],
    actions,
  });

function card(it) {
  const parts = {
    faces: h('span', { class: 'faces' }),
    turn: h('span', { class: 'muted' }),
    members: h('span', { class: 'muted' }),
  };
  const item = h(
    'li',
    null,
    h(
      'a',
      { class: 'card card-link channel-card', href: href('channels', it.name) },
      h('span', { class: 'channel-name' }, `# ${it.name}`),
      parts.faces,
      h('span', { class: 'channel-words' }, parts.turn, parts.members),
    ),
  );
  item.parts = parts;
  return item;
}

function update(item, it) {
  const members = membersOf(it);
  fill(
    item.parts.faces,
    members.slice(0, 6).map(({ name }) => face(name)),
  );
  say(
    item.parts.turn,
    it.paused_ms ? 'paused' : it.turn?.agent ? `${it.turn.agent}’s turn` : 'no active turn',
  );
  say(item.parts.members, `${plural(members.length, 'member')} · ${plural(it.posted ?? 0, 'message')}`);
}

/** Members in the order they take turns in. They may come as a list or by name. */
export function membersOf(channel) {
  const given = channel?.members ?? {};
  const all = Array.isArray(given)
    ? given.map((it) => (typeof it === 'string' ? { name: it } : { name: it.name ?? it.agent, ...it }))
    : Object.entries(given).map(([name, it]) => ({ name, ...it }));
  const order = channel?.order ?? [];
  const rank = (name) => (order.includes(name) ? order.indexOf(name) : order.length);
  return all.sort((a, b) => rank(a.name) - rank(b.name));
}
