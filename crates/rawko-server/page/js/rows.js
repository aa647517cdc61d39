// Rows of the lists of tasks and instances: headings and cells, built once and filled again as the list scrolls. Separate
// from the list, which reads and filters.
import { ago, reset } from './clock.js';
import { fill, h, say } from './dom.js';
import { spentBrief } from './spent.js';
import { TONES, number, states, tone, waiting } from './words.js';

const HEADINGS = {
  tasks: ['Task', 'Status', 'State', 'Waiting for', 'Steps', 'Cost', 'Age'],
  instances: ['Instance', 'Status', 'States', 'Waiting for', 'Steps', 'Cost', 'Age'],
};

export const headings = (kind) =>
  h(
    'div',
    { class: 'columns', 'aria-hidden': 'true' },
    HEADINGS[kind].map((word, at) => h('span', { class: `c${at}` }, word)),
  );

const tag = (text, title) => h('span', { class: 'tag', title }, text);

/** The cells of a row. */
export function parts(row, kind) {
  const cell = (name) => h('span', { class: `cell cell-${name}` });
  const [status, where, waits, steps, money] = ['status', 'states', 'waits', 'steps number', 'cost number'].map(cell);
  const tick = h('span', { class: 'row-tick', 'aria-hidden': 'true' });
  const dot = h('span', { class: 'dot' });
  const name = h('span', { class: 'row-name' });
  const more = h('span', { class: 'row-more muted' });
  const tags = h('span', { class: 'row-tags' });
  const since = ago(Date.now());
  row.append(
    h('span', { class: 'cell cell-name' }, tick, dot, name, more, tags),
    status,
    where,
    waits,
    steps,
    money,
    h('span', { class: 'cell cell-age' }, since),
  );
  return {
    show(it, { selected = false } = {}) {
      row.classList.toggle('loading', !it);
      row.classList.toggle('ticked', selected);
      if (!it) return;
      const look = tone(it);
      dot.dataset.tone = look;
      say(name, (kind === 'tasks' && it.title) || it.id);
      name.title = it.title ? `${it.title} (${it.id})` : it.id;
      say(more, it.excerpt ?? (kind === 'tasks' ? (it.title ? it.id : '') : (it.title ?? it.chart)));
      more.title = more.textContent;
      fill(
        tags,
        it.forked_from ? tag('fork', `forked from ${it.forked_from.id}`) : null,
        it.agent ? tag(it.agent, 'agent') : null,
      );
      say(status, TONES[look] ?? it.status);
      status.dataset.tone = look;
      say(where, it.status === 'ended' ? '' : states(it.configuration));
      where.title = where.textContent;
      // What the status already names is not repeated.
      say(waits, look === 'person' ? '' : waiting(it));
      waits.dataset.tone = look;
      say(steps, number(it.step));
      say(money, spentBrief(it.spent));
      reset(since, it.created_ms);
      row.classList.toggle('changed', performance.now() - (it.changed ?? -1e4) < 1200);
    },
  };
}
