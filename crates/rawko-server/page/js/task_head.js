// The head of a task: what was asked, how it stands, who works on it, what it cost, and the actions. Separate from its view.
import { ago } from './clock.js';
import { fill, h, say } from './dom.js';
import { icon } from './icons.js';
import { href } from './route.js';
import { TONES, compact, cost, duration, number, tone } from './words.js';

export class TaskHead {
  constructor(id, { may, acts }) {
    this.id = id;
    this.name = h('h1', { class: 'task-title' }, id);
    this.pill = h('span', { class: 'pill' }, h('span', { class: 'dot' }), h('span'));
    this.facts = h('dl', { class: 'head-facts' });
    this.lineage = h('span', { class: 'lineage' });
    const act = (name, words, run, kind = '') => {
      const button = h('button', { class: `button ${kind}`, type: 'button', hidden: true, on: { click: () => run(button) } }, icon(name), h('span', null, words));
      return button;
    };
    this.acts = {
      raise: act('plus', 'Raise limit', acts.raise, 'primary'),
      retry: act('retry', 'Retry', acts.retry, 'primary'),
      resume: act('play', 'Resume', acts.resume, 'primary'),
      pause: act('pause', 'Pause', acts.pause),
      fork: act('fork', 'Fork', acts.fork),
      cancel: act('stop', 'Cancel', acts.cancel),
    };
    const steps = h('a', { class: 'button', href: href('instances', id), title: 'Every step, with its context and reasons' }, icon('instances'), h('span', null, 'Steps'));
    this.element = h(
      'header',
      { class: 'instance-head' },
      h('p', { class: 'crumbs' }, h('a', { href: href('tasks') }, 'Tasks'), this.lineage),
      h(
        'div',
        { class: 'instance-title' },
        this.name,
        this.pill,
        h('span', { class: 'grow' }),
        h('div', { class: 'row head-acts' }, may.operate ? Object.values(this.acts) : null, steps),
      ),
      this.facts,
    );
  }

  /** Pauses or resumes, whichever is possible. */
  toggle() {
    const button = [this.acts.resume, this.acts.pause].find((it) => !it.hidden);
    button?.click();
  }

  show(doc) {
    const kind = tone(doc);
    this.pill.dataset.tone = kind;
    this.pill.firstElementChild.dataset.tone = kind;
    say(this.pill.lastElementChild, TONES[kind] ?? doc.status);
    say(this.name, doc.title ?? doc.id);
    this.name.title = doc.context?.task ?? doc.id;
    const over = doc.status === 'ended';
    this.acts.raise.hidden = !(over && doc.outcome === 'limit');
    this.acts.retry.hidden = doc.status !== 'stalled';
    this.acts.resume.hidden = doc.status !== 'paused';
    this.acts.pause.hidden = over || ['paused', 'stalled'].includes(doc.status);
    this.acts.fork.hidden = false;
    this.acts.cancel.hidden = over;
    this.showLineage(doc);
    const key = JSON.stringify([doc.status, doc.spent, doc.context?.currentMode, doc.context?.iterationCount, doc.updated_ms]);
    if (key === this.key) return;
    this.key = key;
    fill(this.facts, facts(doc, over));
  }

  showLineage(doc) {
    const parts = [' / ', h('span', { class: 'code' }, doc.id)];
    const from = doc.forked_from;
    if (from)
      parts.push(h('span', { class: 'tag' }, 'forked from ', h('a', { href: href('tasks', from.id) }, `${from.id} at step ${from.step}`)));
    const key = JSON.stringify(from ?? null);
    if (this.lineage.dataset.key === key) return;
    this.lineage.dataset.key = key;
    fill(this.lineage, parts);
  }
}

function facts(doc, over) {
  const fact = (name, ...value) => h('div', null, h('dt', null, name), h('dd', null, value));
  const digits = (text) => h('span', { class: 'number' }, text);
  const { context = {}, spent = {} } = doc;
  const most = context.maxIterations ? ` of ${number(context.maxIterations)}` : '';
  return [
    !over && context.currentMode ? fact('Agent', h('strong', null, context.currentMode)) : null,
    context.iterationCount ? fact('Iteration', digits(`${number(context.iterationCount)}${most}`)) : null,
    over ? fact('Duration', digits(duration(doc.updated_ms - doc.created_ms))) : null,
    fact('Started', ago(doc.created_ms), ' ago'),
    spent.cost_usd > 0 ? fact('Cost', digits(cost(spent.cost_usd))) : null,
    spent.tokens ? fact('Tokens', digits(compact(spent.tokens))) : null,
    spent.tool_calls ? fact('Tool calls', digits(number(spent.tool_calls))) : null,
  ];
}
