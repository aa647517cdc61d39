// The overview of a task: its result, plan, checks, cost by agent and the agents that worked on it. Separate from the
// conversation, which shows how it came about.
import { ago } from './clock.js';
import { fill, h } from './dom.js';
import { icon } from './icons.js';
import { inline, prose } from './prose.js';
import { href } from './route.js';
import { spentBrief } from './spent.js';
import { planOf, face } from './turns.js';
import { TONES, compact, cost, duration, number, plural, tone } from './words.js';

/** How a task ended, as a heading. */
const ENDED = {
  succeeded: 'Succeeded',
  failed: 'Failed',
  limit: 'Limit reached',
  loop: 'Loop detected',
  stuck: 'Stuck',
  cancelled: 'Cancelled',
};

const isTicked = (step) => ['done', 'completed'].includes(step.status);

export class Overview {
  constructor(id) {
    this.id = id;
    const part = () => h('div', { class: 'overview-part' });
    this.parts = { trouble: part(), result: part(), plan: part(), checks: part(), agents: part(), cost: part(), task: part() };
    this.element = h('div', { class: 'stack overview' }, Object.values(this.parts));
  }

  show(doc) {
    const { context = {} } = doc;
    this.put('trouble', trouble(doc), [doc.status, doc.fault, doc.failure, doc.reason]);
    this.put('result', result(doc), [doc.status, doc.outcome, doc.output?.summary, doc.output?.problem, doc.reason]);
    this.put('plan', plan(context.plan), context.plan);
    this.put('checks', checks(doc), [context.evidence, doc.output?.checks, doc.status]);
    this.put('agents', agents(doc), [doc.child_rows]);
    this.put('cost', costs(doc), [doc.child_rows, doc.spent]);
    this.put('task', wholeTask(doc), context.task);
  }

  /** Builds a part again only if its data changed. */
  put(name, make, data) {
    const key = JSON.stringify(data ?? null);
    const place = this.parts[name];
    if (place.dataset.key === key) return;
    place.dataset.key = key;
    fill(place, make);
  }
}

const section = (title, ...body) => h('section', { class: 'part' }, h('h2', null, title), body);

function trouble(doc) {
  if (doc.status !== 'stalled') return null;
  const message = doc.fault ?? doc.failure?.error?.message ?? doc.reason ?? 'A call failed, and no transition handles it.';
  return h('div', { class: 'card bad-card', role: 'alert' }, h('h2', null, icon('error'), doc.failure ? `${doc.failure.invoke} failed` : 'Stopped'), h('p', { class: 'wrap' }, inline(message)));
}

function result(doc) {
  if (doc.status !== 'ended') return null;
  const outcome = doc.outcome ?? null;
  const good = outcome === 'succeeded';
  const output = doc.output ?? {};
  const words = output.summary ?? output.problem?.message ?? output.reason ?? doc.reason ?? null;
  return h(
    'div',
    { class: `card ${good ? 'good-card' : outcome === 'failed' ? 'bad-card' : 'warn-card'}` },
    h('h2', null, icon(good ? 'check' : 'stop'), ENDED[outcome] ?? 'Ended'),
    words ? prose(String(words)) : null,
    good && output.verified === false ? h('p', { class: 'hint' }, 'Not verified: the project has no checks that ran.') : null,
    output.changesProblem ? h('p', { class: 'hint' }, String(output.changesProblem)) : null,
  );
}

function plan(given) {
  if (!given || !Array.isArray(given.steps) || !given.steps.length) return null;
  return section(`Plan · ${given.steps.filter(isTicked).length} of ${given.steps.length}`, planOf(given));
}

function checks(doc) {
  const all = doc.output?.checks ?? doc.context?.evidence?.report?.checks ?? [];
  if (!Array.isArray(all) || !all.length) return null;
  const row = (check) =>
    h(
      'li',
      { class: check.ok ? 'check good' : 'check bad' },
      icon(check.ok ? 'check' : 'error'),
      h(
        'div',
        { class: 'grow' },
        h('strong', null, check.name),
        h('span', { class: 'hidden-visually' }, check.ok ? ' passed: ' : ' failed: '),
        h('span', { class: 'muted' }, ` ${check.summary ?? ''}`),
        h('code', { class: 'check-command' }, check.command ?? ''),
        (check.findings ?? []).length ? h('details', null, h('summary', null, plural(check.findings.length, 'finding')), h('ul', { class: 'check-findings' }, check.findings.slice(0, 50).map(finding))) : null,
      ),
    );
  return section(all.every((check) => check.ok) ? 'Checks · passed' : 'Checks · failing', h('ul', { class: 'checks' }, all.map(row)));
}

function finding(it) {
  if (typeof it === 'string') return h('li', null, it);
  const place = [it.file ?? it.path, it.line].filter(Boolean).join(':');
  return h('li', null, place ? h('code', null, place) : null, place ? ' ' : null, it.message ?? JSON.stringify(it));
}

const nameOf = (row) => row.agent ?? row.parent?.invoke ?? row.id;

function agents(doc) {
  const rows = doc.child_rows ?? [];
  if (!rows.length) return null;
  const row = (it) => {
    const kind = tone(it);
    return h(
      'li',
      null,
      h(
        'a',
        { class: 'child-link', href: href('tasks', it.id) },
        face(nameOf(it)),
        h('span', { class: 'grow' }, h('strong', null, nameOf(it)), h('span', { class: 'child-state', data: { tone: kind } }, TONES[kind] ?? it.status)),
        h('span', { class: 'child-spent number muted' }, spentBrief(it.spent)),
        h('span', { class: 'child-spent number muted' }, it.status === 'ended' ? duration(it.updated_ms - it.created_ms) : ago(it.created_ms)),
      ),
    );
  };
  return section('Agent runs', h('ol', { class: 'agent-runs' }, rows.map(row)));
}

function costs(doc) {
  const { spent = {} } = doc;
  if (!spent.tokens && !spent.cost_usd) return null;
  const by = new Map();
  for (const row of doc.child_rows ?? []) {
    const sum = by.get(nameOf(row)) ?? { tokens: 0, cost_usd: 0, runs: 0 };
    sum.tokens += row.spent?.tokens ?? 0;
    sum.cost_usd += row.spent?.cost_usd ?? 0;
    sum.runs += 1;
    by.set(nameOf(row), sum);
  }
  const known = [...by.values()].reduce((sum, it) => sum + it.tokens, 0);
  const knownCost = [...by.values()].reduce((sum, it) => sum + it.cost_usd, 0);
  const rest = { tokens: Math.max(0, spent.tokens - known), cost_usd: Math.max(0, spent.cost_usd - knownCost), runs: null };
  if (rest.tokens) by.set('arbiter', rest);
  const priced = spent.cost_usd > 0;
  const cells = (it) => [h('td', { class: 'number' }, it.runs === null ? '' : number(it.runs)), h('td', { class: 'number' }, compact(it.tokens)), priced ? h('td', { class: 'number' }, cost(it.cost_usd)) : null];
  return section(
    'Cost',
    h(
      'table',
      { class: 'cost-table' },
      h('thead', null, h('tr', null, ['Agent', 'Runs', 'Tokens', priced ? 'Cost' : null].filter(Boolean).map((word) => h('th', { scope: 'col' }, word)))),
      h('tbody', null, [...by].map(([name, it]) => h('tr', null, h('th', { scope: 'row' }, name), cells(it)))),
      h('tfoot', null, h('tr', null, h('th', { scope: 'row' }, 'Total'), cells({ ...spent, runs: null }))),
    ),
  );
}

function wholeTask(doc) {
  const text = doc.context?.task;
  if (typeof text !== 'string' || text.trim() === (doc.title ?? '').trim()) return null;
  return section('Task', prose(text));
}
