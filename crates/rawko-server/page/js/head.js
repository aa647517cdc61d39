// The head of an instance: what it is, how it stands, what it cost, what can be done to it. Apart from its view.
import { ago } from './clock.js';
import { fill, h, say } from './dom.js';
import { TASK_CHART } from './filters.js';
import { icon } from './icons.js';
import { href } from './route.js';
import { TONES, compact, cost, duration, number, tone, waiting } from './words.js';

export class Head {
  constructor(id, { may, acts }) {
    this.may = may;
    this.pill = h('span', { class: 'pill' }, h('span', { class: 'dot' }), h('span'));
    this.lineage = h('span', { class: 'lineage' });
    this.purpose = h('p', { class: 'head-purpose', hidden: true });
    this.facts = h('dl', { class: 'head-facts' });
    const act = (name, words, run, tone = '') => {
      const button = h(
        'button',
        { class: `button ${tone}`, type: 'button', on: { click: () => run(button) } },
        icon(name),
        h('span', null, words),
      );
      return button;
    };
    this.acts = {
      retry: act('retry', 'Retry', acts.retry, 'primary'),
      resume: act('play', 'Resume', acts.resume, 'primary'),
      pause: act('pause', 'Pause', acts.pause),
      send: act('send', 'Send', acts.send),
      migrate: act('forward', 'Migrate…', acts.migrate),
      cancel: act('stop', 'Cancel', acts.cancel),
    };
    const crumbs = h('p', { class: 'crumbs' }, h('a', { href: href('instances') }, 'Instances'), this.lineage);
    this.element = h(
      'header',
      { class: 'instance-head' },
      crumbs,
      h(
        'div',
        { class: 'instance-title' },
        h('h1', { title: id }, id),
        this.pill,
        h('span', { class: 'grow' }),
        may.operate ? h('div', { class: 'row head-acts' }, Object.values(this.acts)) : null,
      ),
      this.purpose,
      this.facts,
    );
  }

  show(doc) {
    const kind = tone(doc);
    this.pill.firstElementChild.dataset.tone = kind;
    this.pill.dataset.tone = kind;
    const waits = waiting(doc);
    say(
      this.pill.lastElementChild,
      kind === 'active' && waits
        ? `waiting for ${waits}`
        : (TONES[kind] ?? doc.status),
    );
    const over = doc.status === 'ended';
    this.acts.retry.hidden = doc.status !== 'stalled';
    this.acts.resume.hidden = doc.status !== 'paused';
    this.acts.pause.hidden = over || doc.status === 'paused';
    this.acts.send.hidden = over;
    this.acts.migrate.hidden = over;
    this.acts.cancel.hidden = over;
    this.shownLineage(doc);
    this.shownPurpose(doc);
    const key = JSON.stringify([doc.chart, doc.version, doc.last_step, doc.spent, doc.status, doc.agent, doc.faults]);
    if (key === this.key) return;
    this.key = key;
    fill(this.facts, factsOf(doc, over));
  }

  /** What was asked, with a link to the task that this is the machine of. */
  shownPurpose({ id, chart, title }) {
    this.purpose.hidden = !title;
    if (!title || this.purpose.dataset.title === title) return;
    this.purpose.dataset.title = title;
    fill(this.purpose, chart === TASK_CHART ? h('a', { href: href('tasks', id) }, title) : title);
  }

  shownLineage(doc) {
    const parts = [];
    if (doc.parent) parts.push(' / ', h('a', { href: href('instances', doc.parent.id) }, doc.parent.id));
    if (doc.forked_from)
      parts.push(
        h(
          'span',
          { class: 'tag' },
          'forked from ',
          h(
            'a',
            { href: href('instances', doc.forked_from.id, { step: doc.forked_from.step }) },
            `${doc.forked_from.id} at step ${doc.forked_from.step}`,
          ),
        ),
      );
    fill(this.lineage, parts);
  }
}

/** How many, with a link to the step of the latest. A step that could not be taken has no state of its own to show. */
function lastFault({ id, faults: { count, last }, last_step }) {
  const step = Math.min(last.step, last_step);
  return h(
    'a',
    { class: 'head-faults', title: last.text, href: href('instances', id, { tab: 'step', step }) },
    h('span', { class: 'number' }, number(count)),
    ' · ',
    last.text,
  );
}

function factsOf(doc, over) {
  const fact = (name, ...value) => h('div', null, h('dt', null, name), h('dd', null, value));
  const spent = doc.spent ?? {};
  return [
    fact(
      'Chart',
      h('a', { href: href('charts', doc.chart, { version: doc.version }) }, `${doc.chart} ${doc.version ?? ''}`),
    ),
    doc.agent ? fact('Agent', doc.agent) : null,
    fact('Steps', h('span', { class: 'number' }, number(doc.last_step ?? doc.step))),
    over ? fact('Duration', h('span', { class: 'number' }, duration(doc.updated_ms - doc.created_ms))) : null,
    fact('Age', ago(doc.created_ms)),
    doc.faults?.count ? fact('Faults', lastFault(doc)) : null,
    spent.cost_usd > 0 ? fact('Cost', h('span', { class: 'number' }, cost(spent.cost_usd))) : null,
    spent.tokens ? fact('Tokens', h('span', { class: 'number' }, compact(spent.tokens))) : null,
    spent.tool_calls ? fact('Tool calls', h('span', { class: 'number' }, number(spent.tool_calls))) : null,
  ];
}
