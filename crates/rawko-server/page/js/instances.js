// Lists of tasks and instances: filters, search, orders, selection, and rows that stay light with ten thousand of them.
// Separate from one instance's view.
import { get, path } from './api.js';
import { Selection } from './bulk.js';
import { calm, fill, h, say, steady } from './dom.js';
import { empty, failed } from './empty.js';
import { feedOf } from './feed.js';
import { FAILED, FILTERS, INTERNAL, ORDERS, TASK_CHART, chip, savedViews } from './filters.js';
import { icon } from './icons.js';
import { bind } from './keys.js';
import { announce } from './notices.js';
import { go, href, note } from './route.js';
import { begin } from './start.js';
import { headings, parts } from './rows.js';
import { VirtualList } from './virtual.js';
import { number } from './words.js';

export const instances = (root, route, world) => listView('instances', root, route, world);
export const tasks = (root, route, world) => listView('tasks', root, route, world);

/** @param {'tasks' | 'instances'} kind @param {HTMLElement} root */
function listView(kind, root, route, { may }) {
  const isTasks = kind === 'tasks';
  const narrow = matchMedia('(max-width: 760px)');
  const asked = askedBy(route.query);
  let feed = null;

  const total = h('span', { class: 'muted number' });
  const chips = FILTERS.map((filter) => chip(filter, () => ask({ filter: filter.key })));
  const search = h('input', {
    class: 'input',
    type: 'search',
    placeholder: 'Search',
    'aria-label': 'Search text',
    value: asked.q,
    spellcheck: 'false',
    autocomplete: 'off',
  });
  const charts = h('select', { class: 'input', 'aria-label': 'Chart' }, h('option', { value: '' }, 'All charts'));
  const children = h('input', { type: 'checkbox', checked: asked.children });
  const internal = h('input', { type: 'checkbox', checked: asked.internal });
  const order = h('select', { class: 'input', 'aria-label': 'Order' }, ORDERS.map((it) => h('option', { value: it.key }, it.label)));
  order.value = asked.sort;
  const views = savedViews({ kind, now: () => words(), open: (query) => go(kind, null, query) });
  const hint = h('p', { class: 'list-hint', role: 'status', hidden: true });
  const body = h('div', { class: 'list-body' });
  const list = new VirtualList({
    height: narrow.matches ? 68 : 44,
    label: isTasks ? 'Tasks' : 'Instances',
    render,
    need: (from, to) => feed?.need(to),
    pick,
  });
  list.element.addEventListener('auxclick', (event) => event.button === 1 && pickAt(event, true));

  const selection = new Selection({ list, rowAt: (index) => feed?.rows[index] ?? null, changed: () => refresh(), may });

  root.append(
    h(
      'div',
      { class: 'view-head' },
      h('h1', null, isTasks ? 'Tasks' : 'Instances'),
      total,
      h('span', { class: 'grow' }),
      may.operate ? selection.toggle : null,
      may.operate
        ? h('button', { class: 'button primary', type: 'button', on: { click: () => begin() } }, icon('plus'), isTasks ? 'New task' : 'Start')
        : null,
    ),
    h(
      'div',
      { class: 'filters' },
      h(
        'div',
        { class: 'chips', role: 'group', 'aria-label': 'Status' },
        chips.map((it) => it.element),
      ),
      h(
        'div',
        { class: 'filters-more' },
        h('div', { class: 'search' }, icon('search'), search),
        order,
        isTasks ? null : [charts, h('label', { class: 'switch' }, children, h('span', null, 'Children')), h('label', { class: 'switch' }, internal, h('span', null, 'Internal'))],
        views,
      ),
    ),
    selection.bar,
    hint,
    body,
  );

  function ask(changes) {
    Object.assign(asked, changes);
    note(words());
    read();
  }

  const words = () => ({ ...asked, children: asked.children ? 'true' : '', internal: asked.internal ? 'true' : '' });

  function read() {
    feed?.abort.abort();
    const filter = FILTERS.find((it) => it.key === asked.filter) ?? FILTERS[0];
    const query = {
      ...filter.query,
      chart: isTasks ? TASK_CHART : asked.chart,
      except: isTasks || asked.internal || asked.chart ? null : INTERNAL,
      children: asked.children ? 'true' : '',
    };
    const mine = feedOf(query, asked, () => feed === mine && shown());
    feed = mine;
    for (const it of chips) it.press(it.key === filter.key);
    list.choose(-1);
    selection.clear();
    countFailed();
    mine.first().catch((error) => error.name !== 'AbortError' && feed === mine && fill(body, failed(error, read)));
  }

  function shown() {
    say(total, feed.all ? number(feed.all) : '');
    say(hint, feed.hint);
    hint.hidden = !feed.hint;
    for (const it of chips) it.count(feed.counts ? { ...feed.counts, failed } : null);
    selection.shown();
    const nothing = feed.total === 0;
    const wanted = nothing ? null : list.element.parentElement === body;
    if (nothing) fill(body, nothingThere());
    else if (!wanted) fill(body, headings(kind), list.element);
    list.setTotal(feed.total);
  }

  function nothingThere() {
    const narrowed = asked.filter || asked.q || asked.chart;
    if (narrowed)
      return empty({
        title: isTasks ? 'No matching tasks' : 'No matching instances',
        lead: 'Try another search or filter.',
        actions: [h('button', { class: 'button', on: { click: () => clear() } }, 'Show all')],
      });
    return empty({
      title: isTasks ? 'No tasks yet' : 'No instances yet',
      lead: isTasks
        ? 'Describe a task in plain words. The arbiter selects an agent, the agent runs, the arbiter evaluates the result, until the task is complete or a limit is reached.'
        : 'An instance is one run of a chart. Start one here or from a terminal in the project; it appears in this list.',
      commands: [
        ['Watch agents offline', 'rawko demo'],
        ['Run a task', 'rawko task "Fix the failing test"'],
        ['Run a chart', 'rawko run CHART'],
      ],
      actions: may.operate
        ? [h('button', { class: 'button primary', on: { click: () => begin() } }, icon('plus'), 'Start')]
        : [],
    });
  }

  function clear() {
    search.value = '';
    charts.value = '';
    ask({ filter: '', q: '', chart: '' });
  }

  function render(index, row) {
    const it = feed.rows[index];
    row.parts ??= parts(row, kind);
    row.parts.show(it, { selected: it ? selection.has(it.id) : false });
    if (it && selection.on) row.setAttribute('aria-selected', String(selection.has(it.id)));
  }

  function pick(index, event) {
    const row = feed.rows[index];
    if (!row) return;
    if (selection.takes(row, index, event)) return;
    if (event.ctrlKey || event.metaKey) window.open(href(viewOf(row), row.id), '_blank', 'noopener');
    else go(viewOf(row), row.id);
  }

  function pickAt(event, apart) {
    const row = feed.rows[Number(event.target.closest('.virtual-row')?.dataset.index)];
    if (row && apart) window.open(href(viewOf(row), row.id), '_blank', 'noopener');
  }

  let failed = 0;
  /** How many ended otherwise than they should: the list counts by status only. */
  async function countFailed() {
    const except = asked.internal || asked.chart ? null : INTERNAL;
    const query = isTasks ? { chart: TASK_CHART } : { chart: asked.chart, except, children: asked.children ? 'true' : '' };
    const answer = await get(path('instances'), { ...query, outcome: FAILED, limit: 1 }).catch(() => null);
    if (!answer || failed === answer.total) return;
    failed = answer.total;
    if (feed?.ready) shown();
  }

  const refresh = steady(() => {
    feed?.refresh().catch(() => {});
    countFailed();
  }, 700);
  const typed = calm(() => ask({ q: search.value.trim() }), 180);
  search.addEventListener('input', typed);
  charts.addEventListener('change', () => ask({ chart: charts.value }));
  children.addEventListener('change', () => ask({ children: children.checked }));
  internal.addEventListener('change', () => ask({ internal: internal.checked }));
  order.addEventListener('change', () => ask({ sort: order.value }));
  if (!isTasks) readCharts(charts, asked.chart);
  const unbind = bind(isTasks ? 'Tasks' : 'Instances', [
    { keys: '/', does: 'search', run: () => search.focus() },
    { keys: 'j / ArrowDown', does: 'next row', run: () => step(1) },
    { keys: 'k / ArrowUp', does: 'previous row', run: () => step(-1) },
    { keys: 'x', does: 'select or deselect the row', run: () => may.operate && selection.flip(list.chosen) },
    { keys: 'Enter', does: 'open the row', run: (event) => list.chosen >= 0 && pick(list.chosen, event) },
  ]);
  const step = (by) => {
    list.choose(Math.max(0, list.chosen + by));
    list.element.focus({ preventScroll: true });
  };
  read();

  return {
    title: isTasks ? 'Tasks' : 'Instances',
    // What is asked for here stands in the address; a link to something else is another list.
    moved: ({ query }) => JSON.stringify(askedBy(query)) === JSON.stringify(asked),
    heard(type, event) {
      if (type !== 'step' || !feed?.ready) return;
      const moved = feed.patch(event);
      if (moved !== null) list.soon();
      if (moved !== false || event.step === 0) refresh();
      if (event.waits_for === 'person') announce(`${event.instance} is waiting for a person.`);
    },
    again: () => (feed?.ready ? refresh() : read()),
    gone() {
      unbind();
      refresh.cancel();
      typed.cancel();
      feed?.abort.abort();
      list.destroy();
    },
  };
}

const askedBy = ({ filter = '', q = '', chart = '', children = '', internal = '', sort = '' }) => ({
  filter,
  q,
  chart,
  children: children === 'true',
  internal: internal === 'true',
  sort,
});

/** A task is shown as one, wherever it is listed. */
const viewOf = (row) => (row.chart === TASK_CHART ? 'tasks' : 'instances');

async function readCharts(select, chosen) {
  const { charts } = await get(path('charts')).catch(() => ({ charts: [] }));
  const ids = [...new Set(charts.map((chart) => chart.id))].sort();
  for (const id of ids) select.append(h('option', { value: id }, id));
  select.value = chosen;
}
