// The properties of a chart beside its text: which hold, and a shortest run against each that does not. Separate from the
// simulator, which plays such a run on the drawing.
import { ask as question, path } from './api.js';
import { fill, h, say } from './dom.js';
import { icon } from './icons.js';
import { doing } from './notices.js';
import { complaint, plural } from './words.js';

const ICONS = { holds: 'check', violated: 'error', unknown: 'warning' };

export class Verifier {
  /** @param {{text: () => string, play: (trace: any) => void}} world */
  constructor({ text, play }) {
    Object.assign(this, { text, play, on: false, verified: null });
    this.summary = h('strong', { role: 'status' });
    this.again = h('button', { class: 'button small', type: 'button', on: { click: () => doing(this.again, () => this.verify()) } }, icon('play', 14), h('span', null, 'Verify again'));
    this.problem = h('p', { class: 'problem', role: 'alert', hidden: true });
    this.list = h('ul', { class: 'facts proofs' });
    this.hint = h('p', { class: 'muted' }, 'Every event, timer and outcome of a call is tried in every reachable configuration, for at most 10 seconds. Own properties are in `properties:` of the chart.');
    this.element = h('div', { class: 'stack' }, h('div', { class: 'row' }, this.summary, h('span', { class: 'grow' }), this.again), this.problem, this.list, this.hint);
  }

  /** Verifies the text if it changed since the last time. */
  open() {
    this.on = true;
    if (this.text() && this.verified !== this.text()) doing(this.again, () => this.verify());
  }

  /** The text was read. */
  arrived() {
    if (this.on) this.open();
  }

  close() {
    this.on = false;
  }

  /** The text changed: the verdicts are on another chart. */
  stale() {
    if (this.verified !== null && this.verified !== this.text()) say(this.summary, 'The text changed since; verify again');
  }

  async verify() {
    const text = this.text();
    this.problem.hidden = true;
    say(this.summary, 'Exploring…');
    try {
      this.show(await question(path('charts', 'verify'), { text }));
      this.verified = text;
      this.stale();
    } catch (error) {
      say(this.summary, '');
      fill(this.list);
      fill(this.problem, icon('error'), h('span', null, complaint(error)));
      this.problem.hidden = false;
    }
  }

  show({ states, properties }) {
    const count = (verdict) => properties.filter((it) => it.verdict === verdict).length;
    const parts = [`${count('holds')} hold`, count('violated') ? `${count('violated')} violated` : null, count('unknown') ? `${count('unknown')} unknown` : null];
    say(this.summary, `${plural(properties.length, 'property', 'properties')}: ${parts.filter(Boolean).join(', ')} (${plural(states, 'state')} explored)`);
    const order = ['violated', 'unknown', 'holds'];
    const sorted = [...properties].sort((one, other) => order.indexOf(one.verdict) - order.indexOf(other.verdict));
    fill(this.list, sorted.map((it) => this.row(it)));
  }

  row(it) {
    const show = it.trace ? `Show trace (${plural(it.trace.events.length, 'step')})` : '';
    return h(
      'li',
      { data: { verdict: it.verdict } },
      icon(ICONS[it.verdict]),
      h('span', { class: 'grow' }, h('strong', { class: 'code' }, it.name), h('span', { class: 'muted' }, it.verdict === 'violated' ? '' : ` ${it.bound}`)),
      it.trace
        ? h('button', { class: 'button small', type: 'button', 'aria-label': `${show} of ${it.name}`, on: { click: () => this.play(it.trace) } }, icon('play', 14), show)
        : null,
      h('span', { class: 'proof-verdict' }, it.verdict),
    );
  }
}
