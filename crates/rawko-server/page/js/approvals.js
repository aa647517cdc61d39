// Everything that waits for a person, over all instances, oldest danger first: what expires soonest. Apart from the instance,
// because whoever answers wants one list.
import { get, path } from './api.js';
import { askCard, askKey } from './ask.js';
import { fill, h, keyed, say, steady } from './dom.js';
import { empty, failed } from './empty.js';
import { plural } from './words.js';

export function approvals(root, _route, { may }) {
  const count = h('span', { class: 'muted number' });
  const list = h('div', { class: 'asks' });
  const body = h('div', { class: 'scroll', tabindex: 0 });
  root.append(h('div', { class: 'view-head' }, h('h1', null, 'Approvals'), count), body);
  let known = false;

  async function read() {
    try {
      const answer = await get(path('approvals'), { limit: 100 });
      known = true;
      show(answer.approvals, answer.total ?? answer.approvals.length);
    } catch (error) {
      if (!known) fill(body, failed(error, read));
    }
  }

  function show(asks, total) {
    say(count, total ? plural(total, 'question') : '');
    if (!asks.length) return void fill(body, nothing());
    if (list.parentElement !== body) fill(body, list);
    const soonest = [...asks].sort((a, b) => (a.expires_ms ?? Infinity) - (b.expires_ms ?? Infinity));
    keyed(list, soonest, askKey, (ask) => askCard(ask, { may, origin: true, answered: refresh }));
  }

  const refresh = steady(read, 200);
  read();
  return {
    title: 'Approvals',
    heard: (type) => type === 'step' && refresh(),
    again: refresh,
    gone: () => refresh.cancel(),
  };
}

const nothing = () =>
  empty({
    title: 'Nobody waits for you',
    lead: 'A chart asks a person with `src: human`: an approval, or a form to fill in. Its questions stand here until somebody answers, here or in a terminal.',
    commands: [
      ['What waits for a person', 'rawko ps --waiting person'],
      ['Say yes', 'rawko approve ID'],
      ['Say no', 'rawko deny ID'],
    ],
  });
