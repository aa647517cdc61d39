// Everything that waits for a person, over all instances, oldest danger first: what expires soonest. Apart from the instance,
// because a person who answers wants one list.
import { get, path } from './api.js';
import { askCard, askKey } from './ask.js';
import { fill, h, keyed, say, steady } from './dom.js';
import { empty, failed } from './empty.js';
import { TASK_CHART } from './filters.js';
import { notifyButton } from './notify.js';
import { originNow, readOrigins } from './origins.js';
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
      // A change ends the reading: the next one begins with the requests that are pending then.
      await readOrigins(soonestFirst(asks), () => {
        if (!left) show(asks, total);
        return !left && !stale;
      });
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
    say(count, total ? plural(total, 'request') : '');
    if (!asks.length) return void fill(body, nothing());
    if (list.parentElement !== body) fill(body, list);
    const groups = new Map();
    for (const ask of soonestFirst(asks)) {
      ask.origin = originNow(ask);
      const key = ask.origin.root;
      if (!groups.has(key)) groups.set(key, { ...ask.origin, asks: [] });
      groups.get(key).asks.push(ask);
    }
    keyed(list, groups.values(), (it) => it.root, group, (element, it) => {
      entitle(element, it);
      keyed(element.lastElementChild, it.asks, askKey, (ask) => askCard(ask, { may, origin: true, answered: () => refresh() }), quote);
    });
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

/** What expires soonest comes first. */
const soonestFirst = (asks) => [...asks].sort((a, b) => (a.expires_ms ?? Infinity) - (b.expires_ms ?? Infinity));

/** Adds the last words of the requesting instance to a request, once they were read. */
function quote(element, { origin }) {
  if (!origin.message || element.querySelector('.ask-message')) return;
  element.querySelector('.ask-head').after(h('blockquote', { class: 'ask-message' }, prose(origin.message.slice(0, 600))));
}

/** The requests of one task or top-level instance. */
const group = () => h('section', { class: 'ask-group' }, h('h2'), h('div', { class: 'asks' }));

/** The title is known later than the request. */
function entitle(element, { root, title, chart }) {
  const view = chart === TASK_CHART ? 'tasks' : 'instances';
  if (element.getAttribute('aria-label') === title && element.dataset.view === view) return;
  element.setAttribute('aria-label', title);
  element.dataset.view = view;
  fill(element.firstElementChild, h('a', { href: href(view, root) }, title), title === root ? null : h('span', { class: 'muted small-text' }, ` ${root}`));
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
