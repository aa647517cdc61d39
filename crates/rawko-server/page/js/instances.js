// All instances: filters, search, and a list that stays light with ten thousand of them. Apart from one instance's view.
import { get, path } from './api.js';
import { attributes, calm, fill, h, say, steady } from './dom.js';
import { ago, reset } from './clock.js';
import { empty, failed } from './empty.js';
import { Feed } from './feed.js';
import { icon } from './icons.js';
import { bind } from './keys.js';
import { announce } from './notices.js';
import { go, href, note } from './route.js';
import { begin } from './start.js';
import { VirtualList } from './virtual.js';
import { spentBrief } from './spent.js';
import { TONES, compact, number, states, tone, waiting } from './words.js';

const FILTERS = [
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
  { key: 'ended', label: 'Ended', query: { status: 'ended' }, count: (counts) => counts.ended },
];

/** @param {HTMLElement} root */
export function instances(root, route, { may }) {
  const narrow = matchMedia('(max-width: 760px)');
  const asked = askedBy(route.query);
  let feed = null;

  const total = h('span', { class: 'muted number' });
  const chips = FILTERS.map((filter) => chip(filter, () => ask({ filter: filter.key })));
  const search = h('input', {
    class: 'input',
    type: 'search',
    placeholder: 'Find by id',
    'aria-label': 'Find by id',
    value: asked.q,
    spellcheck: 'false',
    autocomplete: 'off',
  });
  const charts = h('select', { class: 'input', 'aria-label': 'Chart' }, h('option', { value: '' }, 'All charts'));
  const children = h('input', { type: 'checkbox', checked: asked.children });
  const body = h('div', { class: 'list-body' });
  const list = new VirtualList({
    height: narrow.matches ? 68 : 44,
    label: 'Instances',
    render,
    need: (from, to) => feed?.need(to),
    pick,
  });
  list.element.addEventListener('auxclick', (event) => event.button === 1 && pickAt(event, true));

  root.append(
    h(
      'div',
      { class: 'view-head' },
      h('h1', null, 'Instances'),
      total,
      h('span', { class: 'grow' }),
      may.operate
        ? h('button', { class: 'button primary', type: 'button', on: { click: () => begin() } }, icon('plus'), 'Start')
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
        charts,
        h('label', { class: 'switch' }, children, h('span', null, 'Children')),
      ),
    ),
    body,
  );

  function ask(changes) {
    Object.assign(asked, changes);
    note({ filter: asked.filter, q: asked.q, chart: asked.chart, children: asked.children ? 'true' : '' });
    read();
  }

  function read() {
    feed?.abort.abort();
    const filter = FILTERS.find((it) => it.key === asked.filter) ?? FILTERS[0];
    const mine = new Feed(
      { ...filter.query, q: asked.q, chart: asked.chart, children: asked.children ? 'true' : '' },
      () => feed === mine && shown(),
    );
    feed = mine;
    for (const it of chips) it.press(it.key === filter.key);
    list.choose(-1);
    mine.first().catch((error) => error.name !== 'AbortError' && feed === mine && fill(body, failed(error, read)));
  }

  function shown() {
    say(total, feed.total ? number(feed.total) : '');
    for (const it of chips) it.count(feed.counts);
    const nothing = feed.total === 0;
    const wanted = nothing ? null : list.element.parentElement === body;
    if (nothing) fill(body, nothingThere());
    else if (!wanted) fill(body, headings(), list.element);
    list.setTotal(feed.total);
  }

  function nothingThere() {
    const narrowed = asked.filter || asked.q || asked.chart;
    if (narrowed)
      return empty({
        title: 'No matching instances',
        lead: 'Try another search or filter.',
        actions: [h('button', { class: 'button', on: { click: () => clear() } }, 'Show all')],
      });
    return empty({
      title: 'No instances yet',
      lead: 'An instance is one run of a chart. Start one here or from a terminal in the project; it appears in this list.',
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
    row.parts ??= parts(row);
    row.parts.show(it);
  }

  function pick(index, event) {
    const row = feed.rows[index];
    if (!row) return;
    if (event.ctrlKey || event.metaKey) window.open(href('instances', row.id), '_blank', 'noopener');
    else go('instances', row.id);
  }

  function pickAt(event, apart) {
    const row = feed.rows[Number(event.target.closest('.virtual-row')?.dataset.index)];
    if (row && apart) window.open(href('instances', row.id), '_blank', 'noopener');
  }

  const refresh = steady(() => feed?.refresh().catch(() => {}), 700);
  const typed = calm(() => ask({ q: search.value.trim() }), 180);
  search.addEventListener('input', typed);
  charts.addEventListener('change', () => ask({ chart: charts.value }));
  children.addEventListener('change', () => ask({ children: children.checked }));
  readCharts(charts, asked.chart);
  const unbind = bind('Instances', [
    { keys: '/', does: 'find by id', run: () => search.focus() },
    { keys: 'j / ArrowDown', does: 'next instance', run: () => step(1) },
    { keys: 'k / ArrowUp', does: 'previous instance', run: () => step(-1) },
    { keys: 'Enter', does: 'open the selected instance', run: (event) => list.chosen >= 0 && pick(list.chosen, event) },
  ]);
  const step = (by) => {
    list.choose(Math.max(0, list.chosen + by));
    list.element.focus({ preventScroll: true });
  };
  read();

  return {
    title: 'Instances',
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

const askedBy = ({ filter = '', q = '', chart = '', children = '' }) => ({
  filter,
  q,
  chart,
  children: children === 'true',
});

function chip(filter, chosen) {
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

async function readCharts(select, chosen) {
  const { charts } = await get(path('charts')).catch(() => ({ charts: [] }));
  const ids = [...new Set(charts.map((chart) => chart.id))].sort();
  for (const id of ids) select.append(h('option', { value: id }, id));
  select.value = chosen;
}

const headings = () =>
  h(
    'div',
    { class: 'columns', 'aria-hidden': 'true' },
    ['Instance', 'Chart', 'States', 'Waiting for', 'Steps', 'Cost', 'Age'].map((word, at) =>
      h('span', { class: `c${at}` }, word),
    ),
  );

/** The cells of a row, made once and filled again as the list scrolls. */
function parts(row) {
  const cell = (name) => h('span', { class: `cell cell-${name}` });
  const [chart, where, waits, steps, money] = ['chart', 'states', 'waits', 'steps number', 'cost number'].map(cell);
  const dot = h('span', { class: 'dot' });
  const hidden = h('span', { class: 'hidden-visually' });
  const name = h('span', { class: 'row-name' });
  const tags = h('span', { class: 'row-tags' });
  const since = ago(Date.now());
  row.append(
    h('span', { class: 'cell cell-name' }, dot, hidden, name, tags),
    chart,
    where,
    waits,
    steps,
    money,
    h('span', { class: 'cell cell-age' }, since),
  );
  return {
    show(it) {
      row.classList.toggle('loading', !it);
      if (!it) return;
      dot.dataset.tone = tone(it);
      say(hidden, `${TONES[tone(it)] ?? it.status}: `);
      say(name, it.id);
      name.title = it.id;
      fill(
        tags,
        it.forked_from ? tag('fork', `forked from ${it.forked_from.id}`) : null,
        it.agent ? tag(it.agent, 'agent') : null,
      );
      say(chart, it.version ? `${it.chart} ${it.version}` : it.chart);
      say(where, states(it.configuration));
      where.title = where.textContent;
      say(waits, waiting(it));
      waits.dataset.tone = tone(it);
      say(steps, number(it.step));
      say(money, spentBrief(it.spent));
      reset(since, it.created_ms);
      row.classList.toggle('changed', performance.now() - (it.changed ?? -1e4) < 1200);
    },
  };
}

const tag = (text, title) => h('span', { class: 'tag', title }, text);
