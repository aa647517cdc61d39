// Everything that waits for a person, over all instances, oldest danger first: what expires soonest. Apart from the instance,
// because a person who answers wants one list.
import { get, path } from './api.js';
import { askCard, askKey } from './ask.js';
import { fill, h, keyed, say, steady } from './dom.js';
import { empty, failed } from './empty.js';
import { TASK_CHART } from './filters.js';
import { notifyButton } from './notify.js';
import { forget, originNow, readOrigins } from './origins.js';
import { prose } from './prose.js';
import { href } from './route.js';
import { plural } from './words.js';

const PAGE = 100;
/** The most cards shown; the count covers all requests. */
const PAGES_MAX = 10;

export function approvals(root, _route, { may }) {
  const count = h('span', { class: 'muted number' });
  const list = h('div', { class: 'ask-groups' });
  const body = h('div', { class: 'scroll', tabindex: 0 });
  root.append(h('div', { class: 'view-head' }, h('h1', null, 'Approvals'), count, h('span', { class: 'grow' }), notifyButton()), body);
  let [known, reading, stale, left] = [false, false, false, false];

  /** Asked again while it reads, it reads once more. */
  async function read() {
    if (reading) return void (stale = true);
    reading = true;
    try {
      const { asks, total } = await everything();
      known = true;
      if (!left) show(asks, total);
      if ((await readOrigins(asks.map((ask) => ask.id))) && !left) show(asks, total);
    } catch (error) {
      if (!known && !left) fill(body, failed(error, read));
    } finally {
      reading = false;
      if (stale && !left) refresh();
      stale = false;
    }
    return undefined;
  }

  function show(asks, total) {
    say(count, total ? plural(total, 'question') : '');
    if (!asks.length) return void fill(body, nothing());
    if (list.parentElement !== body) fill(body, list);
    const soonest = [...asks].sort((a, b) => (a.expires_ms ?? Infinity) - (b.expires_ms ?? Infinity));
    const groups = new Map();
    for (const ask of soonest) {
      ask.origin = originNow(ask.id);
      const key = ask.origin.root;
      if (!groups.has(key)) groups.set(key, { ...ask.origin, asks: [] });
      groups.get(key).asks.push(ask);
    }
    keyed(list, groups.values(), (it) => it.root, group, (element, it) => {
      keyed(element.lastElementChild, it.asks, askKey, (ask) => card(ask));
    });
  }

  /** A request with the last words of the instance that makes it. */
  function card(ask) {
    const answered = () => {
      forget(ask.id);
      refresh();
    };
    const element = askCard(ask, { may, origin: true, answered });
    if (ask.origin.message)
      element.querySelector('.ask-head').after(h('blockquote', { class: 'ask-message' }, prose(ask.origin.message.slice(0, 600))));
    return element;
  }

  const refresh = steady(read, 200);
  read();
  return {
    title: 'Approvals',
    heard: (type) => type === 'step' && refresh(),
    again: refresh,
    gone() {
      left = true;
      refresh.cancel();
    },
  };
}

/** The requests of one task or top-level instance. */
function group({ root, title, chart }) {
  const view = chart === TASK_CHART ? 'tasks' : 'instances';
  return h(
    'section',
    { class: 'ask-group', 'aria-label': title },
    h('h2', null, h('a', { href: href(view, root) }, title), title === root ? null : h('span', { class: 'muted small-text' }, ` ${root}`)),
    h('div', { class: 'asks' }),
  );
}

/** All questions, page by page; what is answered meanwhile may make one come twice. */
async function everything() {
  const asks = new Map();
  let [total, cursor] = [0, null];
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const answer = await get(path('approvals'), { limit: PAGE, cursor });
    for (const ask of answer.approvals) asks.set(askKey(ask), ask);
    total = answer.total ?? asks.size;
    cursor = answer.next;
    if (!cursor) break;
  }
  return { asks: [...asks.values()], total };
}

const nothing = () =>
  empty({
    title: 'No pending requests',
    lead: 'A chart requests an approval or a form with `src: human`. Requests are listed here until they are answered, on this page or in a terminal.',
    commands: [
      ['List pending requests', 'rawko ps --waiting person'],
      ['Approve', 'rawko approve ID'],
      ['Deny', 'rawko deny ID'],
    ],
  });
