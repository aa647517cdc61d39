// The timeline: a slider over all steps of an instance, to drag, to play and to step through. Apart from the journal it moves
// in and from what follows it.
import { attributes, h, say } from './dom.js';
import { icon } from './icons.js';
import { moment, number } from './words.js';

const SPEEDS = [
  [1, '1×'],
  [4, '4×'],
  [20, '20×'],
];
const PLAY_MS = 700;

/** What kind of mark an entry has on the strip. */
export function markOf(entry) {
  if (entry.kind === 'refused' || entry.error || entry.status === 'error' || entry.event?.kind === 'failed')
    return 'bad';
  if (entry.faults?.length || entry.refusals?.length) return 'bad';
  if (entry.kind === 'ignored') return 'faint';
  if (entry.kind === 'started' || entry.kind === 'forked') return 'first';
  if (entry.event?.kind === 'event') return 'outside';
  return 'plain';
}

export class Timeline {
  /** @param {{entry: (step: number) => any, chosen: (step: number, live: boolean) => void, fork: (() => void) | null}} world */
  constructor(world) {
    this.world = world;
    Object.assign(this, { first: 0, last: 0, step: 0, live: true, playing: 0, speed: 0, frame: 0 });
    this.canvas = h('canvas', { class: 'timeline-marks', 'aria-hidden': 'true' });
    this.thumb = h('div', { class: 'timeline-thumb', 'aria-hidden': 'true' });
    this.slider = h(
      'div',
      { class: 'timeline-slider', role: 'slider', tabindex: 0, 'aria-label': 'Step', 'aria-valuemin': 0 },
      h('div', { class: 'timeline-track' }),
      this.canvas,
      this.thumb,
    );
    this.where = h('span', { class: 'timeline-where number' });
    this.what = h('span', { class: 'timeline-what' });
    const tool = (name, words, run) =>
      h(
        'button',
        { class: 'button quiet icon-only', type: 'button', 'aria-label': words, title: words, on: { click: run } },
        icon(name),
      );
    this.play = tool('play', 'Play', () => this.toggle());
    this.pace = h(
      'button',
      {
        class: 'button quiet small number',
        type: 'button',
        'aria-label': 'Speed 1×',
        title: 'Speed',
        on: { click: () => this.faster() },
      },
      '1×',
    );
    this.back = h(
      'button',
      { class: 'button small live-button', type: 'button', on: { click: () => this.follow() } },
      h('span', { class: 'live-dot', 'aria-hidden': 'true' }),
      'Live',
    );
    this.fork = world.fork
      ? h(
          'button',
          { class: 'button small', type: 'button', title: 'Fork from this step', on: { click: world.fork } },
          icon('fork'),
          'Fork',
        )
      : null;
    this.element = h(
      'section',
      { class: 'timeline', 'aria-label': 'Timeline' },
      this.slider,
      h(
        'div',
        { class: 'timeline-bar' },
        tool('first', 'First step', () => this.to(this.first)),
        tool('back', 'Previous step', () => this.to(this.step - 1)),
        this.play,
        tool('forward', 'Next step', () => this.to(this.step + 1)),
        tool('last', 'Last step', () => this.to(this.last)),
        this.pace,
        h('div', { class: 'timeline-words' }, this.where, this.what),
        this.fork,
        this.back,
      ),
    );
    this.slider.addEventListener('pointerdown', (event) => this.grab(event));
    this.slider.addEventListener('pointermove', (event) => this.held && this.drag(event));
    for (const type of ['pointerup', 'pointercancel']) this.slider.addEventListener(type, () => this.release());
    this.slider.addEventListener('keydown', (event) => this.key(event));
    this.watch = new ResizeObserver(() => this.soon());
    this.watch.observe(this.slider);
  }

  destroy() {
    this.stop();
    this.watch.disconnect();
    cancelAnimationFrame(this.frame);
  }

  /** Extends the journal. A reader at the present stays at the present. */
  grow(last, first = this.first) {
    this.first = first;
    this.last = Math.max(first, last);
    if (this.live) this.step = this.last;
    this.soon();
  }

  /** Goes to a step; the last one is still the past unless it is followed. */
  to(step, { live = false } = {}) {
    this.step = Math.max(this.first, Math.min(this.last, Math.round(step)));
    this.live = live;
    this.soon();
    this.world.chosen(this.step, this.live);
  }

  follow() {
    this.stop();
    this.to(this.last, { live: true });
  }

  toggle() {
    if (this.playing) return this.stop();
    if (this.step >= this.last) this.to(this.first);
    const next = () => {
      if (this.step >= this.last) return this.stop();
      this.to(this.step + 1);
      this.playing = setTimeout(next, PLAY_MS / SPEEDS[this.speed][0]);
      return undefined;
    };
    this.playing = setTimeout(next, 200);
    this.play.replaceChildren(icon('pause'));
    attributes(this.play, { 'aria-label': 'Pause', title: 'Pause' });
    return undefined;
  }

  stop() {
    clearTimeout(this.playing);
    this.playing = 0;
    this.play.replaceChildren(icon('play'));
    attributes(this.play, { 'aria-label': 'Play', title: 'Play' });
  }

  faster() {
    this.speed = (this.speed + 1) % SPEEDS.length;
    say(this.pace, SPEEDS[this.speed][1]);
    attributes(this.pace, { 'aria-label': `Speed ${SPEEDS[this.speed][1]}` });
  }

  grab(event) {
    if (event.button > 0) return;
    this.stop();
    this.held = true;
    this.slider.setPointerCapture(event.pointerId);
    this.slider.classList.add('held');
    this.drag(event);
  }

  drag(event) {
    const box = this.slider.getBoundingClientRect();
    const part = (event.clientX - box.left - 8) / Math.max(1, box.width - 16);
    const step = this.first + Math.round(Math.max(0, Math.min(1, part)) * (this.last - this.first));
    if (step !== this.step || this.live) this.to(step);
  }

  release() {
    this.held = false;
    this.slider.classList.remove('held');
  }

  key(event) {
    const page = Math.max(10, Math.round((this.last - this.first) / 20));
    const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -page, PageUp: page };
    if (event.key in moves) this.to(this.step + moves[event.key] * (event.shiftKey ? 10 : 1));
    else if (event.key === 'Home') this.to(this.first);
    else if (event.key === 'End') this.to(this.last);
    else if (event.key === ' ') this.toggle();
    else return;
    event.preventDefault();
  }

  /** Where a step is on the line, from 0 to 1. */
  part(step) {
    return this.last > this.first ? (step - this.first) / (this.last - this.first) : 1;
  }

  soon() {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.frame = 0;
    const entry = this.world.entry(this.step);
    const part = this.part(this.step);
    this.slider.style.setProperty('--part', String(part));
    this.element.classList.toggle('past', !this.live);
    const title = entry ? (entry.title ?? entry.kind) : '';
    attributes(this.slider, {
      'aria-valuemin': this.first,
      'aria-valuemax': this.last,
      'aria-valuenow': this.step,
      'aria-valuetext': `step ${this.step} of ${this.last}${title ? `: ${title}` : ''}${this.live ? ', live' : ''}`,
    });
    say(this.where, `${number(this.step)} / ${number(this.last)}`);
    say(this.what, entry ? `${title} · ${moment(entry.at_ms)}` : '');
    attributes(this.back, { 'aria-pressed': String(this.live) });
    this.marks();
  }

  /** A mark for every entry that is here; where there are more steps than pixels, one for a pixel. */
  marks() {
    const { clientWidth: width, clientHeight: height } = this.slider;
    const ratio = devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    const pen = this.canvas.getContext('2d');
    const styles = getComputedStyle(this.slider);
    const colours = Object.fromEntries(
      ['plain', 'outside', 'bad', 'faint', 'first'].map((name) => [name, styles.getPropertyValue(`--mark-${name}`)]),
    );
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const room = width - 16;
    const length = this.last - this.first;
    const stride = Math.max(1, Math.floor(length / Math.max(1, room)));
    const thick = Math.max(1, Math.min(3, (room / Math.max(1, length)) * 0.5));
    const middle = height / 2;
    for (let step = this.first; step <= this.last; step += stride) {
      const entry = this.world.entry(step);
      if (!entry) continue;
      const mark = markOf(entry);
      const tall = mark === 'plain' || mark === 'faint' ? 8 : 14;
      pen.fillStyle = colours[mark];
      pen.fillRect(8 + this.part(step) * room - thick / 2, middle - tall / 2, thick, tall);
    }
  }
}
