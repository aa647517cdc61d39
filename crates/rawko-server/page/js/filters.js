// Filters, orders and saved views of the lists. Separate from the list, because they are data and small controls.
import { attributes, fill, h, say } from './dom.js';
import { ask, field } from './dialog.js';
import { compact } from './words.js';

/** Outcomes that a person wants to look into. */
export const FAILED = ['failed', 'limit', 'loop', 'stuck'];
/** Charts of the engine itself: hidden unless asked for. */
export const INTERNAL = ['channel', 'agent_lifecycle', 'speaker', 'task_queue', 'trigger_log'];
export const TASK_CHART = 'rawko';

export const FILTERS = [
  {
    key: '',
    label: 'All',
    query: {},
    count: (counts) => counts.running + counts.waiting + counts.paused + counts.stalled + counts.ended,
  },
  { key: 'running', label: 'Running', query: { status: 'running' }, count: (counts) => counts.running },
  { key: 'waiting', label: 'Waiting', query: { status: 'waiting' }, count: (counts) => counts.waiting },
  { key: 'person', label: 'Waiting for a person', query: { waits: 'person' }, count: (counts) => counts.person },
  { key: 'paused', label: 'Paused', query: { status: 'paused' }, count: (counts) => counts.paused },
  { key: 'stalled', label: 'Stalled', query: { status: 'stalled' }, count: (counts) => counts.stalled },
  { key: 'failed', label: 'Failed', query: { outcome: FAILED }, count: (counts) => counts.failed ?? 0 },
  { key: 'ended', label: 'Ended', query: { status: 'ended' }, count: (counts) => counts.ended },
];

/** Orders besides the newest first. */
export const ORDERS = [
  { key: '', label: 'Newest first' },
  { key: 'oldest', label: 'Oldest first', query: { sort: 'created', order: 'asc' } },
  { key: 'updated', label: 'Recently changed', query: { sort: 'updated' } },
  { key: 'cost', label: 'Highest cost', query: { sort: 'cost' } },
  { key: 'steps', label: 'Most steps', query: { sort: 'steps' } },
  { key: 'title', label: 'By name', query: { sort: 'title' } },
  { key: 'outcome', label: 'By outcome', query: { sort: 'outcome' } },
];

export function chip(filter, chosen) {
  const count = h('span', { class: 'chip-count number' });
  const element = h(
    'button',
    { class: 'chip', type: 'button', 'aria-pressed': 'false', on: { click: chosen } },
    filter.label,
    count,
  );
  return {
    key: filter.key,
    element,
    press: (is) => attributes(element, { 'aria-pressed': String(is) }),
    count: (counts) => say(count, counts ? compact(filter.count(counts)) : ''),
  };
}


const VIEWS_KEY = 'rawko.views';

function readViews() {
  try {
    const views = JSON.parse(localStorage.getItem(VIEWS_KEY) ?? '[]');
    return Array.isArray(views) ? views : [];
  } catch {
    return [];
  }
}

/** Saved filters of a list, in this browser. @param {{kind: string, now: () => object, open: (query: object) => void}} world */
export function savedViews({ kind, now, open }) {
  const choose = h('select', { class: 'input', 'aria-label': 'Saved views' });
  const show = () => {
    const views = readViews().filter((view) => view.kind === kind);
    choose.hidden = !views.length;
    fill(
      choose,
      h('option', { value: '' }, 'Views'),
      views.map((view) => h('option', { value: view.name }, view.name)),
      h('option', { value: '\u0000remove' }, 'Remove a view…'),
    );
  };
  const keep = (views) => {
    localStorage.setItem(VIEWS_KEY, JSON.stringify(views));
    show();
  };
  const save = h(
    'button',
    { class: 'button quiet', type: 'button', title: 'Keep search, filters and order under a name', on: { click: add } },
    'Save view',
  );
  function add() {
    const name = h('input', { class: 'input', type: 'text', maxlength: 40, required: true });
    ask({
      title: 'Save this view',
      lead: 'Keeps search, filters and order under a name, in this browser.',
      act: 'Save',
      body: [field('Name', name)],
      async work() {
        const text = name.value.trim();
        if (!text) throw new Error('a name is required');
        keep([...readViews().filter((view) => view.kind !== kind || view.name !== text), { kind, name: text, query: now() }]);
      },
    });
  }
  function remove() {
    const which = h('select', { class: 'input' }, readViews().filter((view) => view.kind === kind).map((view) => h('option', null, view.name)));
    ask({
      title: 'Remove a view',
      act: 'Remove',
      body: [field('View', which)],
      work: async () => keep(readViews().filter((view) => view.kind !== kind || view.name !== which.value)),
    });
  }
  choose.addEventListener('change', () => {
    const { value } = choose;
    choose.value = '';
    if (value === '\u0000remove') return void remove();
    const view = readViews().find((it) => it.kind === kind && it.name === value);
    if (view) open(view.query);
    return undefined;
  });
  show();
  return h('span', { class: 'row views' }, choose, save);
}
