// The present of an instance: what it asks, what it takes, what runs, what it waits for, its children. Apart from its past.
import { get, path } from './api.js';
import { askCard, askKey } from './ask.js';
import { deliver, retry, sendEvent } from './acting.js';
import { ago, countdown } from './clock.js';
import { fill, h, keyed, say } from './dom.js';
import { icon } from './icons.js';
import { eachGrid, updateEach } from './items.js';
import { doing } from './notices.js';
import { inline } from './prose.js';
import { href } from './route.js';
import { spentBrief } from './spent.js';
import { planOf } from './turns.js';
import { treeOf } from './tree.js';
import { TONES, brief, plural, states, tone } from './words.js';

/** Details that the timer's label leaves out. */
const KINDS = { after: '', send: ' delayed send', timeout: '', retry: '' };

/** How an instance ended, as a heading. */
const ENDED = {
  succeeded: 'Done',
  failed: 'Failed',
  limit: 'Limit reached',
  loop: 'Loop detected',
  stuck: 'Stuck',
  cancelled: 'Cancelled',
};

export class Present {
  constructor(id, { may, changed }) {
    Object.assign(this, { id, may, changed });
    this.asks = h('div', { class: 'stack' });
    this.trouble = h('div');
    this.result = h('div');
    this.plan = h('div');
    this.events = h('div', { class: 'event-buttons' });
    this.running = h('ul', { class: 'facts' });
    this.unsure = h('ul', { class: 'facts' });
    this.each = h('div', { class: 'stack' });
    this.tree = h('ul', { class: 'facts' });
    this.timers = h('ul', { class: 'facts' });
    this.children = h('ul', { class: 'children' });
    this.quiet = h('p', { class: 'muted', hidden: true });
    this.parts = {
      events: part('Accepts', this.events),
      worktree: part('Worktree', this.tree),
      each: part('Items', this.each),
      running: part('Running', this.running),
      unsure: part('Result unknown', this.unsure),
      timers: part('Timers', this.timers),
      children: part('Children', this.children),
    };
    this.element = h(
      'div',
      { class: 'stack present' },
      this.trouble,
      this.asks,
      this.result,
      this.plan,
      this.quiet,
      Object.values(this.parts),
    );
  }

  show(doc) {
    const waits = doc.waits ?? { asks: [], events: [], timers: [] };
    this.failing(doc);
    keyed(this.asks, waits.asks, askKey, (ask) =>
      askCard(ask, { may: this.may, origin: ask.id !== this.id, answered: () => this.changed() }),
    );
    this.ending(doc);
    this.planning(doc.context?.plan);
    this.offer(waits.events);
    const running = (doc.running ?? []).filter((it) => it.kind !== 'unknown');
    const unsure = (doc.running ?? []).filter((it) => it.kind === 'unknown');
    this.parts.running.hidden = !running.length;
    keyed(this.running, running, (it) => `${it.invoke}/${it.attempt}/${it.since_ms}`, runningRow);
    this.parts.unsure.hidden = !unsure.length;
    keyed(this.unsure, unsure, (it) => it.idempotency, unsureRow);
    const tree = doc.context?.worktree?.branch ? doc.context.worktree : null;
    this.parts.worktree.hidden = !tree;
    keyed(this.tree, tree ? [tree] : [], (it) => JSON.stringify(it), treeRow);
    this.parts.each.hidden = !doc.each?.length;
    const live = this.may.operate ? this.id : null;
    keyed(this.each, doc.each ?? [], (it) => it.invoke, eachGrid, (element, it) => updateEach(element, it, live));
    this.parts.timers.hidden = !waits.timers.length;
    keyed(this.timers, waits.timers, (it) => `${it.kind}/${it.for}/${it.due_ms}`, timerRow);
    this.family(doc);
    const idle =
      !waits.asks.length &&
      !waits.events.length &&
      !waits.timers.length &&
      !doc.running?.length &&
      (doc.status === 'waiting' || doc.status === 'running');
    this.quiet.hidden = !idle;
    say(this.quiet, idle ? 'Idle.' : '');
  }

  failing(doc) {
    const fault =
      doc.fault ??
      (doc.status === 'stalled'
        ? (doc.failure?.error?.message ?? 'Unhandled failure; retry or cancel the instance.')
        : null);
    if (!fault) {
      // The same failure may come again.
      delete this.trouble.dataset.key;
      return void this.trouble.replaceChildren();
    }
    if (this.trouble.dataset.key === fault) return;
    this.trouble.dataset.key = fault;
    const again = h(
      'button',
      { class: 'button', type: 'button', on: { click: () => doing(again, () => retry(this.id)) } },
      icon('retry'),
      'Retry',
    );
    const { message: _said, ...error } = Object(doc.failure?.error);
    fill(
      this.trouble,
      h(
        'div',
        { class: 'card bad-card', role: 'alert' },
        h('h2', null, icon('error'), doc.failure ? `${doc.failure.invoke} failed` : 'Stopped'),
        h('p', { class: 'wrap' }, inline(fault)),
        Object.keys(error).length ? treeOf(error, 'Error') : null,
        this.may.operate && doc.status === 'stalled' ? h('div', { class: 'row' }, again) : null,
      ),
    );
  }

  ending(doc) {
    const over = doc.status === 'ended';
    const key = over ? JSON.stringify([doc.outcome, doc.output, doc.reason]) : '';
    if (this.result.dataset.key === key) return;
    this.result.dataset.key = key;
    if (!over) return void this.result.replaceChildren();
    const output = doc.output;
    const good = doc.outcome === 'succeeded';
    const summary = output && typeof output === 'object' && typeof output.summary === 'string' ? output.summary : null;
    const others = summary
      ? Object.fromEntries(Object.entries(output).filter(([key]) => key !== 'summary' && key !== 'task'))
      : output;
    const body =
      output === null || output === undefined
        ? h('p', doc.reason ? { class: 'wrap' } : { class: 'muted' }, doc.reason ?? 'No output.')
        : typeof output === 'object'
          ? treeOf(others, 'Output')
          : h('p', { class: 'wrap' }, brief(output, 2000));
    fill(
      this.result,
      h(
        'div',
        { class: `card ${good ? 'good-card' : doc.outcome === 'failed' ? 'bad-card' : 'warn-card'}` },
        h('h2', null, icon(good ? 'check' : 'stop'), ENDED[doc.outcome] ?? 'Ended'),
        summary ? h('p', { class: 'wrap' }, summary) : null,
        body,
      ),
    );
  }

  planning(plan) {
    const is = plan && Array.isArray(plan.steps);
    const key = is ? JSON.stringify(plan) : '';
    if (this.plan.dataset.key === key) return;
    this.plan.dataset.key = key;
    if (!is) return void this.plan.replaceChildren();
    const ticked = plan.steps.filter((step) => step.status === 'done' || step.status === 'completed').length;
    fill(this.plan, part(`Plan · ${ticked} of ${plan.steps.length}`, planOf(plan)));
  }

  offer(events) {
    this.parts.events.hidden = !events.length || !this.may.operate;
    const all = [...events.map((name) => ({ name })), { name: null }];
    keyed(
      this.events,
      all,
      ({ name }) => name ?? '…',
      ({ name }) => this.eventButton(name),
    );
    this.offered = events;
  }

  eventButton(name) {
    if (name === null)
      return h(
        'button',
        { class: 'button quiet small', type: 'button', on: { click: () => sendEvent(this.id, this.offered) } },
        'Other event…',
      );
    const send = h(
      'button',
      {
        class: 'button small code',
        type: 'button',
        title: `Send ${name}`,
        on: { click: () => doing(send, () => deliver(this.id, { type: name })) },
      },
      name,
    );
    const more = h(
      'button',
      {
        class: 'button small icon-only',
        type: 'button',
        'aria-label': `Send ${name} with data`,
        title: 'With data',
        on: { click: () => sendEvent(this.id, this.offered, name) },
      },
      icon('more', 14),
    );
    return h('span', { class: 'joined' }, send, more);
  }

  /** Shows children at once, their descendants as soon as they are read. */
  family(doc) {
    const rows = doc.child_rows ?? (doc.children ?? []).map((id) => ({ id, status: null }));
    this.parts.children.hidden = !rows.length;
    keyed(this.children, grown(rows, this.below ?? []), (row) => row.id, childRow, updateChild);
    if (rows.length) this.readBelow(rows);
  }

  /** The ids of children begin with that of their parent, so one question finds the whole tree. */
  async readBelow(rows) {
    if (this.reading) return;
    this.reading = true;
    const answer = await get(path('instances'), { children: 'true', q: `${this.id}.`, limit: 500 }).catch(() => null);
    this.reading = false;
    if (!answer) return;
    this.below = answer.instances;
    keyed(this.children, grown(rows, this.below), (row) => row.id, childRow, updateChild);
  }
}

/** Rows with those below them. */
function grown(rows, all) {
  const of = (id) => all.filter((row) => row.parent?.id === id).sort((a, b) => a.created_ms - b.created_ms);
  const grow = (row) => ({ ...row, child_rows: of(row.id).map(grow) });
  return rows.map(grow);
}

const part = (title, ...body) => h('section', { class: 'part' }, h('h2', null, title), body);

function runningRow(it) {
  return h(
    'li',
    null,
    h('span', { class: 'spinner', 'aria-hidden': 'true' }),
    h(
      'span',
      { class: 'grow' },
      h('strong', null, it.invoke),
      h('span', { class: 'muted' }, ` ${it.src ?? ''}`),
      it.attempt > 1 ? h('span', { class: 'tag' }, `attempt ${it.attempt}`) : null,
    ),
    it.since_ms ? ago(it.since_ms, { long: true }) : null,
  );
}

/** A call that may have had its effect: it keeps its key until its result is known. */
const unsureRow = (it) =>
  h(
    'li',
    null,
    icon('warning'),
    h('span', { class: 'grow' }, h('strong', null, it.src), h('span', { class: 'muted' }, ' a retry has the same idempotency key: '), h('code', null, it.idempotency)),
  );

/** The copy of the project that an agent works in. */
const treeRow = (it) =>
  h(
    'li',
    null,
    icon('fork'),
    h('span', { class: 'grow' }, h('strong', null, it.branch), h('span', { class: 'muted' }, ` ${it.path ?? ''}`)),
    it.commit ? h('code', { class: 'muted' }, String(it.commit).slice(0, 10)) : null,
  );

function timerRow(it) {
  return h(
    'li',
    null,
    icon('clock'),
    h('span', { class: 'grow' }, it.for ?? '', h('span', { class: 'muted' }, KINDS[it.kind] ?? ` ${it.kind}`)),
    countdown(it.due_ms),
  );
}

function childRow(row) {
  const dot = h('span', { class: 'dot' });
  const link = h(
    'a',
    { class: 'child-link', href: href('instances', row.id) },
    dot,
    h('span', { class: 'grow child-name' }, row.id),
    h('span', { class: 'child-where muted' }),
    h('span', { class: 'child-spent number muted' }),
  );
  const inner = h('ul', { class: 'children' });
  return h('li', null, link, inner);
}

function updateChild(element, row) {
  const [dot, , where, spent] = element.firstElementChild.children;
  if (row.status) dot.dataset.tone = tone(row);
  dot.title = TONES[dot.dataset.tone] ?? '';
  say(where, row.status === 'ended' ? (row.outcome ?? 'ended') : states(row.configuration));
  say(spent, spentBrief(row.spent) || (row.step === undefined ? '' : plural(row.step, 'step')));
  keyed(element.lastElementChild, row.child_rows ?? [], (it) => it.id, childRow, updateChild);
}
