// One step: what happened, what changed, what it asked for, and why it went this way. Apart from the list of steps.
import { fill, h } from './dom.js';
import { diff } from './diff.js';
import { prose } from './prose.js';
import { treeOf } from './tree.js';
import { brief, fullMoment, moment, number, states } from './words.js';

const KINDS = {
  started: 'started',
  forked: 'forked',
  step: 'event handled',
  ignored: 'ignored: no transition accepts this event',
  refused: 'refused: the step failed',
};
const EFFECTS = {
  invoked: 'invoked',
  timer: 'set a timer',
  log: 'logged',
  emitted: 'emitted',
  sent: 'sent',
  stopped: 'stopped',
  called: 'called',
  stalled: 'stalled',
  failed: 'failed',
};

export class StepPanel {
  /** @param {import('./journal.js').Journal} journal */
  constructor(journal) {
    this.journal = journal;
    this.body = h('div', { class: 'stack' });
    this.element = h('div', { class: 'step-panel' }, this.body);
    this.shown = null;
    this.why = new AbortController();
  }

  /** @param {any | null} entry */
  show(step, entry) {
    const key = entry ? `${step}/${entry.seq}/${entry.changes?.length}/${entry.refusals?.length ?? 0}` : `${step}/?`;
    if (key === this.shown) return;
    this.shown = key;
    if (!entry) return void fill(this.body, h('p', { class: 'muted' }, `Step ${number(step)} …`));
    fill(this.body, head(step, entry), this.changes(entry), cause(entry), effects(entry), this.story(step));
  }

  changes(entry) {
    const begins = entry.kind === 'started' || entry.kind === 'forked';
    // What an instance begins with was nothing before.
    const changes = (entry.changes ?? []).map((change) => (begins ? { ...change, before: undefined } : change));
    return section(
      'Context',
      changes.length ? diff(changes) : h('p', { class: 'muted' }, 'No changes.'),
    );
  }

  /** The explanation: loaded when the step is shown, not while the reader drags past. */
  story(step) {
    this.why.abort();
    this.why = new AbortController();
    const { signal } = this.why;
    const body = h('div', { class: 'story', 'aria-busy': 'true' }, h('p', { class: 'muted' }, '…'));
    setTimeout(async () => {
      if (signal.aborted) return;
      try {
        const lines = await this.journal.storyAt(step, { signal });
        fill(
          body,
          lines.length
            ? h('ol', { class: 'story-lines' }, lines.map(line))
            : h('p', { class: 'muted' }, 'No transitions were considered.'),
        );
      } catch (error) {
        if (error.name !== 'AbortError') fill(body, h('p', { class: 'muted' }, error.message));
      }
      body.removeAttribute('aria-busy');
    }, 220);
    return section('Why', body);
  }
}

const section = (title, ...body) => h('section', { class: 'part' }, h('h2', null, title), body);

function head(step, entry) {
  return h(
    'div',
    { class: 'step-head' },
    h(
      'div',
      { class: 'step-head-line' },
      h('span', { class: 'step-chip number' }, number(step)),
      h('strong', null, entry.title ?? entry.kind),
      h('time', { class: 'muted number', title: fullMoment(entry.at_ms) }, moment(entry.at_ms)),
    ),
    entry.kind !== 'step' ? h('p', { class: 'muted' }, KINDS[entry.kind] ?? entry.kind) : null,
    h(
      'p',
      { class: 'step-states' },
      (entry.configuration ?? []).map((name) => h('span', { class: 'state-chip' }, name)),
      (entry.left ?? []).length ? h('span', { class: 'muted' }, ` exited ${states(entry.left)}`) : null,
    ),
    entry.error
      ? h(
          'p',
          { class: 'problem' },
          typeof entry.error === 'string' ? entry.error : (entry.error.message ?? brief(entry.error, 400)),
        )
      : null,
    (entry.faults ?? []).map((fault) => h('p', { class: 'problem' }, faultWords(fault))),
    (entry.refusals ?? []).map((refusal) =>
      h('p', { class: 'problem' }, `Refused earlier, at ${moment(refusal.at_ms)}: ${refusal.title}: ${refusal.error}`),
    ),
  );
}

/** An expression of the chart that failed, in one line: as the command line prints it. */
function faultWords({ what, state, at, message }) {
  const where = state ? `in state ${state}` : 'in the root state';
  if (what === 'invoke') return `Invoke ${at} failed ${where}: ${message}`;
  return `${what[0].toUpperCase()}${what.slice(1)} failed ${where}${at ? ` on ${at}` : ''}: ${message}`;
}

function cause(entry) {
  const event = entry.event;
  if (!event) return null;
  const data = event.data ?? event.error ?? event.input ?? event.edits ?? null;
  const title =
    {
      event: 'Event',
      answered: 'Answer',
      failed: 'Failure',
      timer: 'Timer',
      started: 'Input',
      forked: 'Edits',
      retry: 'Retry',
      cancel: 'Cancel',
    }[event.kind] ?? 'Event';
  if (data === null || data === undefined) return event.reason ? section(title, h('p', null, event.reason)) : null;
  if (typeof data === 'string') return section(title, prose(data));
  return section(title, treeOf(data, title));
}

function effects(entry) {
  // Faults stand at the head of the step.
  const all = (entry.effects ?? []).filter((it) => it.type !== 'fault');
  if (!all.length) return null;
  return section('Effects', h('ul', { class: 'effects' }, all.map(effect)));
}

function effect(it) {
  const kind = it.type ?? it.kind;
  const what = it.invoke
    ? `${it.invoke}${it.src ? ` · ${it.src}` : ''}`
    : (it.message ?? it.event ?? it.handler ?? it.for ?? '');
  const more = it.input ?? it.data ?? it.params ?? it.error ?? null;
  const line = [
    h('span', { class: 'effect-kind' }, EFFECTS[kind] ?? kind),
    h('span', { class: 'effect-what' }, what),
    it.attempt > 1 ? h('span', { class: 'tag' }, `attempt ${it.attempt}`) : null,
  ];
  if (more === null || typeof more !== 'object')
    return h('li', null, line, typeof more === 'string' ? h('span', { class: 'muted' }, ` ${brief(more, 200)}`) : null);
  return h('li', null, h('details', { class: 'effect-fold' }, h('summary', null, line), treeOf(more, what)));
}

/** Lines of a story are indented by depth and begin with what was done. */
function line(text) {
  const depth = Math.min(6, Math.floor((text.length - text.trimStart().length) / 2));
  const trimmed = text.trim();
  const kind = /^not taken/.test(trimmed)
    ? 'not'
    : /^taken/.test(trimmed)
      ? 'taken'
      : /^(entered|left|ran|assigned|raised)/.test(trimmed)
        ? 'did'
        : 'plain';
  return h('li', { class: `story-${kind}`, data: { depth: String(depth) } }, trimmed);
}
