// One tick a second for everything that counts: ages, countdowns, turn clocks. Apart, so that a hundred clocks cost one timer,
// and so that they agree. Data attributes define what elements show; the clock only writes text.
import { age, duration, fullMoment } from './words.js';
import { h, say } from './dom.js';

const shown = new Set();
let timer = 0;
/** How far the server's clock is ahead of ours; its times are what counts. */
let ahead = 0;

export const now = () => Date.now() + ahead;

/** A time the server calls now. Small differences are the network's. */
export function heardNow(ms) {
  const difference = ms - Date.now();
  ahead = Math.abs(difference) > 5000 ? difference : 0;
}

function write(element) {
  const { since, until } = element.dataset;
  if (since !== undefined)
    say(element, element.dataset.long ? duration(now() - Number(since)) : age(now() - Number(since)));
  if (until === undefined) return;
  const left = Number(until) - now();
  say(element, left > 0 ? duration(left < 60_000 ? Math.ceil(left / 1000) * 1000 : left) : 'due');
  const bar = element.bar?.deref();
  if (bar) bar.style.setProperty('--left', String(Math.max(0, Math.min(1, left / bar.whole))));
  element.classList.toggle('soon', left < 10_000);
}

function tick() {
  for (const element of shown) {
    if (!element.isConnected && element.wasShown) shown.delete(element);
    else if (element.isConnected) {
      element.wasShown = true;
      write(element);
    }
  }
  if (shown.size === 0) {
    clearInterval(timer);
    timer = 0;
  }
}

function keep(element) {
  shown.add(element);
  write(element);
  if (!timer) timer = setInterval(tick, 1000);
  return element;
}

/** How long ago something was. */
export function ago(ms, { long = false } = {}) {
  const data = { since: String(ms) };
  if (long) data.long = 'true';
  return keep(h('time', { class: 'number', datetime: iso(ms), title: fullMoment(ms), data }));
}

/** How long until something. With a bar it shows how much of the whole is left. */
export function countdown(ms, bar = null, since = null) {
  const element = h('time', {
    class: 'number countdown',
    role: 'timer',
    datetime: iso(ms),
    title: fullMoment(ms),
    data: { until: String(ms) },
  });
  if (bar) {
    bar.whole = Math.max(1, ms - (since ?? now()));
    element.bar = new WeakRef(bar);
  }
  return keep(element);
}

/** Another time for a clock that is there already. */
export function reset(element, ms) {
  if (element.dataset.since !== undefined) element.dataset.since = String(ms);
  else element.dataset.until = String(ms);
  attributesOf(element, ms);
  shown.add(element);
  write(element);
}

function attributesOf(element, ms) {
  element.setAttribute('datetime', iso(ms));
  element.title = fullMoment(ms);
}

function iso(ms) {
  const at = new Date(ms);
  return Number.isNaN(at.getTime()) ? '' : at.toISOString();
}
