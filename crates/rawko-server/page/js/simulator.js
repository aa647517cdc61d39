// A chart simulated beside its text: events, time, stubs, and what came of them, lit on the drawing. Every request has all
// stimuli since the start, so that one can be taken back and a changed text is simulated anew.
import { ask as question, path } from './api.js';
import { ask, field } from './dialog.js';
import { fill, h, keyed, say } from './dom.js';
import { jsonInput } from './forms.js';
import { icon } from './icons.js';
import { announce } from './notices.js';
import { badgesOf } from './badges.js';
import { eachGrid, updateEach } from './items.js';
import { editStub, stubWords } from './stubs.js';
import { Tree } from './tree.js';
import { brief, complaint, duration, plural } from './words.js';

const DELAY = /^\d+(\.\d+)?\s*(ms|s|m|h|d)?$/;

export class Simulator {
  /** @param {{drawing: import('./drawing.js').Drawing, text: () => string, record: (run: any) => void, may: any}} world */
  constructor({ drawing, text, record, may }) {
    Object.assign(this, { drawing, text, stimuli: [], services: {}, input: {}, report: null, at: 0, goal: null, on: false, serial: 0, openGate: false });
    const button = (name, words, run, more = {}) =>
      h('button', { class: 'button small', type: 'button', on: { click: run }, ...more }, icon(name, 14), h('span', null, words));
    this.clock = h('strong', { class: 'number', role: 'status' });
    this.again = button('first', 'Restart', () => this.restart());
    this.back = button('back', 'Take back', () => this.takeBack());
    this.timer = button('clock', 'Next timer', () => this.advance(this.report.next_due_in_ms));
    this.record = button('check', 'Save as test…', () => record(this.run()), { hidden: !may.admin });
    this.amount = h('input', { class: 'input small-input code', type: 'text', 'aria-label': 'Time to advance', value: '1h', size: 5 });
    this.amount.addEventListener('keydown', (event) => event.key === 'Enter' && this.advanceBy());
    this.problem = h('p', { class: 'problem', role: 'alert', hidden: true });
    this.events = h('div', { class: 'event-buttons' });
    this.running = h('ul', { class: 'facts' });
    this.timers = h('ul', { class: 'facts' });
    this.each = h('div', { class: 'stack' });
    this.stubs = h('ul', { class: 'facts' });
    this.lines = h('ol', { class: 'sim-lines', 'aria-label': 'Steps' });
    this.effects = h('ul', { class: 'sim-effects' });
    this.tree = new Tree({ label: 'Context' });
    const part = (title, ...body) => h('section', { class: 'part' }, h('h2', null, title), body);
    this.parts = {
      events: part('Accepts', this.events),
      running: part('Waits for', this.running),
      timers: part('Timers', this.timers),
      each: part('Items', this.each),
      lines: part('Steps', this.lines),
      effects: part('Effects of the step', this.effects),
      context: part('Context', this.tree.element),
      stubs: part('Stubs', this.stubs),
    };
    this.body = h('div', { class: 'sim-body' }, h('div', { class: 'stack' }, this.parts.events, this.parts.running, this.parts.timers, this.parts.each, this.parts.stubs), h('div', { class: 'stack' }, this.parts.lines, this.parts.effects, this.parts.context));
    this.element = h(
      'div',
      { class: 'stack simulator' },
      h(
        'div',
        { class: 'row sim-bar' },
        this.clock,
        this.again,
        this.back,
        this.timer,
        h('span', { class: 'joined-field' }, this.amount, button('forward', 'Advance', () => this.advanceBy())),
        button('more', 'Input…', () => this.editInput()),
        h('span', { class: 'grow' }),
        this.record,
      ),
      this.problem,
      this.body,
    );
  }

  run() {
    return { stimuli: this.stimuli, services: this.services, input: this.input };
  }

  /** Begins to follow the text; the drawing shows the simulation from then on. */
  open() {
    this.on = true;
    return this.simulate();
  }

  /** Gives the drawing back. */
  close() {
    this.on = false;
    this.drawing.light([]);
    this.drawing.took([]);
    this.drawing.badges([]);
    this.drawing.offer([]);
  }

  /** Takes over a run, as `rawko verify` prints it: explored without a gate. Its first step is shown once it was played. */
  load({ input, services, events }) {
    Object.assign(this, { input: input ?? {}, services: services ?? {}, stimuli: events, goal: 0, openGate: true });
  }

  restart() {
    Object.assign(this, { stimuli: [], goal: null, openGate: false });
    return this.simulate();
  }

  takeBack() {
    Object.assign(this, { stimuli: this.stimuli.slice(0, -1), goal: null });
    return this.simulate();
  }

  send(type, data) {
    return this.add(data === undefined ? { type } : { type, data });
  }

  advance(ms) {
    return ms === null || ms === undefined ? undefined : this.add({ advance: ms });
  }

  advanceBy() {
    const text = this.amount.value.trim();
    if (!DELAY.test(text)) return this.complain(new Error('write a time such as 500ms, 30s, 15m, 24h or 7d'));
    return this.add({ advance: /^\d+$/.test(text) ? Number(text) : text.replace(/\s+/g, '') });
  }

  /** A stimulus follows the step that is looked at: later ones are dropped. */
  add(stimulus) {
    Object.assign(this, { stimuli: [...this.stimuli.slice(0, this.at), stimulus], goal: null });
    return this.simulate(true);
  }

  /** Plays everything again and shows the step that was looked at (`goal`), or the last one. Of several requests only the last counts. */
  async simulate(moved = false) {
    if (!this.on || !this.text()) return;
    const serial = ++this.serial;
    try {
      const report = await question(path('charts', 'simulate'), { text: this.text(), ...this.run(), open_gate: this.openGate });
      if (serial !== this.serial) return;
      this.report = report;
      const last = report.lines.length - 1;
      this.at = Math.min(this.goal ?? last, last);
      this.problem.hidden = true;
      this.body.classList.remove('stale');
      this.show(moved);
    } catch (error) {
      if (serial === this.serial) this.complain(error);
    }
  }

  complain(error) {
    fill(this.problem, icon('error'), h('span', null, complaint(error)));
    this.problem.hidden = false;
  }

  /** The text is no chart for now: what was simulated stays to be seen. */
  broken() {
    if (!this.on) return;
    this.serial += 1;
    this.complain(new Error('The chart has errors; fix them to simulate it.'));
    this.body.classList.add('stale');
  }

  /** Looks at a step; the next stimulus continues from there. */
  look(at) {
    // The last step stays the last one when stimuli follow; an earlier one stays on the screen when the text is checked again.
    Object.assign(this, { at, goal: at === this.report.lines.length - 1 ? null : at });
    this.show(false);
  }

  get line() {
    return this.report.lines[this.at];
  }

  show(moved) {
    const { report, at } = this;
    const { line } = this;
    const last = at === report.lines.length - 1;
    this.light(moved);
    say(this.clock, `Step ${at} · ${line.now_ms ? `after ${duration(line.now_ms)}` : 'time 0'}`);
    this.back.disabled = !this.stimuli.length;
    this.again.disabled = !this.stimuli.length;
    this.timer.disabled = !last || report.next_due_in_ms === null;
    say(this.timer.lastElementChild, report.next_due_in_ms === null ? 'Next timer' : `Next timer (${duration(report.next_due_in_ms)})`);
    const present = last ? report : { events: [], timers: [], running: [], each: [] };
    this.offer(present);
    keyed(this.lines, report.lines.map((it, index) => ({ it, index })), ({ index }) => index, ({ index }) => this.lineRow(index), (row, { it, index }) => this.updateLine(row, it, index));
    this.effectsOf(line);
    const before = report.lines[at - 1]?.report.context ?? {};
    const context = line.report.context ?? {};
    this.tree.show(context, { changed: at ? Object.keys(context).filter((key) => JSON.stringify(context[key]) !== JSON.stringify(before[key])) : [] });
    this.stubList();
    if (moved) announce(`${words(line)}: ${line.report.configuration.join(', ')}`);
  }

  light(moved) {
    const { line } = this;
    this.drawing.trouble(Boolean(line.report.error));
    this.drawing.light(line.report.configuration, { entered: moved });
    this.drawing.took(line.transitions);
    if (moved) this.drawing.trace(line.transitions);
    this.drawing.showActive();
  }

  /** What can happen next, as buttons and on the drawing. */
  offer({ events, timers, running, each }) {
    const sent = events.filter((it) => !it.is_result);
    this.parts.events.hidden = !sent.length;
    keyed(this.events, sent, (it) => `${it.event}/${it.would_act}`, (it) => this.eventButton(it));
    this.parts.running.hidden = !running.length;
    keyed(this.running, running, (it) => `${it.id}/${it.is_stubbed}`, (it) => this.runningRow(it));
    this.parts.timers.hidden = !timers.length;
    keyed(this.timers, timers, (it) => `${it.reason}/${it.due_in_ms}`, (it) => h('li', null, icon('clock'), h('span', { class: 'grow' }, it.reason), h('span', { class: 'muted number' }, `in ${duration(it.due_in_ms)}`)));
    this.parts.each.hidden = !each.length;
    keyed(this.each, each, (it) => it.invoke, eachGrid, (element, it) => updateEach(element, it));
    this.drawing.badges(badgesOf({ each }));
    const spots = [
      ...sent.flatMap((it) => it.transitions.map((transition) => ({ transition, label: `Send ${it.event}`, run: () => this.send(it.event) }))),
      ...timers.flatMap((it) => it.transitions.map((transition) => ({ transition, label: `Advance ${duration(it.due_in_ms)}`, run: () => this.advance(it.due_in_ms) }))),
      ...events.filter((it) => it.is_result).flatMap((it) => it.transitions.map((transition) => ({ transition, label: `Answer with ${it.event}`, run: () => this.ask(it.event) }))),
    ];
    this.drawing.offer(spots);
  }

  eventButton(it) {
    const send = h('button', { class: 'button small code', type: 'button', title: it.effects.join('\n'), data: { acts: String(it.would_act) }, on: { click: () => this.send(it.event) } }, it.event);
    const more = h('button', { class: 'button small icon-only', type: 'button', 'aria-label': `Send ${it.event} with data`, title: 'With data', on: { click: () => this.ask(it.event) } }, icon('more', 14));
    return h('span', { class: 'joined' }, send, more);
  }

  runningRow(it) {
    const answer = (kind, label) => h('button', { class: 'button small', type: 'button', 'aria-label': `${label} ${it.id}`, on: { click: () => this.ask(`${kind}.invoke.${it.id}`) } }, label);
    return h(
      'li',
      null,
      icon('tool'),
      h('span', { class: 'grow' }, h('strong', null, it.id), h('span', { class: 'muted' }, ` ${it.src} `), it.input === null ? null : h('code', { class: 'muted sim-input', title: brief(it.input, 600) }, brief(it.input, 120))),
      it.input?.isolation === 'worktree' ? h('span', { class: 'tag' }, 'worktree') : null,
      it.is_stubbed ? h('span', { class: 'tag' }, 'stubbed') : [answer('done', 'Done…'), answer('error', 'Fail…')],
    );
  }

  /** Sends an event with data. */
  ask(type) {
    const data = jsonInput({ label: 'Data', placeholder: type.startsWith('error.') ? '{"message": "no such card"}' : '{"amount": 3}' });
    ask({
      title: `Send ${type}`,
      act: 'Send',
      body: [field('Data', data.control, 'JSON (optional)'), data.trouble],
      work: async () => this.send(type, data.read()),
    });
  }

  editInput() {
    const data = jsonInput({ label: 'Input', value: Object.keys(this.input).length ? JSON.stringify(this.input, null, 2) : '', placeholder: '{"amount": 250}' });
    ask({
      title: 'Input of the simulation',
      lead: 'The chart starts with it; the steps so far are taken again.',
      act: 'Apply',
      body: [field('Input', data.control, 'A JSON object'), data.trouble],
      work: async () => {
        this.input = data.read() ?? {};
        await this.simulate();
      },
    });
  }

  stubList() {
    const known = [...new Map(this.report.invokes.map((it) => [it.id, it])).values()];
    this.parts.stubs.hidden = !known.length;
    const shown = known.map((it) => ({ ...it, stub: this.services[it.id] ?? this.services[it.src] ?? null }));
    keyed(this.stubs, shown, (it) => `${it.id}/${JSON.stringify(it.stub)}`, (it) =>
      h(
        'li',
        null,
        icon('tool'),
        h('span', { class: 'grow' }, h('strong', null, it.id), h('span', { class: 'muted' }, ` ${it.src}${it.is_each ? ' · each' : ''} · ${stubWords(it.stub)}`)),
        h('button', { class: 'button small', type: 'button', 'aria-label': `Set stub of ${it.id}`, on: { click: () => this.setStub(it) } }, 'Set…'),
      ),
    );
  }

  setStub(it) {
    editStub(it, async (stub) => {
      const { [it.id]: _own, [it.src]: _src, ...others } = this.services;
      this.services = stub ? { ...others, [it.id]: stub } : others;
      await this.simulate();
    });
  }

  lineRow(index) {
    return h('li', null, h('button', { class: 'sim-line', type: 'button', on: { click: () => this.look(index) } }, h('span', { class: 'sim-what code' }), h('span', { class: 'muted sim-where' })));
  }

  updateLine(row, it, index) {
    const button = row.firstElementChild;
    button.setAttribute('aria-current', index === this.at ? 'step' : 'false');
    say(button.children[0], words(it));
    button.title = words(it);
    say(button.children[1], it.report.error ?? it.refused ?? `${it.report.configuration.join(', ')}${it.report.status === 'active' ? '' : ` · ${it.report.status}`}`);
    button.classList.toggle('bad', Boolean(it.report.error ?? it.refused));
  }

  effectsOf({ report, story }) {
    const rows = [
      ...report.invoked.map((it) => `calls ${it.id ?? it.src}${it.id && it.id !== it.src ? ` (${it.src})` : ''} ${brief(it.input, 80)}`),
      ...report.emitted.map((it) => `emits ${it.type} ${it.data === null ? '' : brief(it.data, 80)}`),
      ...report.sent.map((it) => `sends ${it.type} to ${it.target}`),
      ...report.log.map((it) => `logs ${it}`),
      ...(report.output === null ? [] : [`returns ${brief(report.output, 120)}`]),
    ];
    this.parts.effects.hidden = !rows.length && !story.length;
    fill(
      this.effects,
      rows.map((text) => h('li', null, text)),
      story.length ? h('li', null, h('details', null, h('summary', null, `Decisions (${plural(story.length, 'line')})`), h('ul', { class: 'story-lines' }, story.map((text) => h('li', { class: 'code small-text' }, text))))) : null,
    );
  }
}

/** A stimulus in words. */
function words({ report: { stimulus } }) {
  if (!stimulus) return 'start';
  if (stimulus.advance !== undefined) return `advance ${typeof stimulus.advance === 'number' ? duration(stimulus.advance) : stimulus.advance}`;
  return `${stimulus.type}${stimulus.data === undefined || stimulus.data === null ? '' : ` ${brief(stimulus.data, 60)}`}`;
}
