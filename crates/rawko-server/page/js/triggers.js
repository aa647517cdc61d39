// Schedules and webhooks: next and last run, missed due times, the latest deliveries. Separate from instances, because it is
// about what starts them.
import { get, path } from './api.js';
import { fill, h, say, steady } from './dom.js';
import { empty, failed } from './empty.js';
import { href } from './route.js';
import { fullMoment, moment, number, plural } from './words.js';

const TONES = { failed: 'error', missed: 'waiting', ignored: 'quiet', exists: 'quiet' };

export function triggers(root) {
  const body = h('div', { class: 'scroll', tabindex: 0 });
  const about = h('span', { class: 'muted' });
  root.append(h('div', { class: 'view-head' }, h('h1', null, 'Triggers'), about), body);
  const read = async () => {
    try {
      const { triggers: all } = await get(path('triggers'));
      say(about, plural(all.length, 'trigger'));
      if (!all.length)
        return void fill(body, empty({ title: 'No triggers', lead: 'Schedules and webhooks start charts and tasks. They are defined under `triggers` in the settings.', commands: [['List them', 'rawko triggers']] }));
      fill(body, all.map(section));
    } catch (error) {
      fill(body, failed(error, read));
    }
    return undefined;
  };
  const refresh = steady(read, 1000);
  read();
  return { title: 'Triggers', heard: (type) => type === 'step' && refresh(), again: refresh, gone: () => refresh.cancel() };
}

function section(it) {
  const facts = [
    it.next ? `next ${it.next}` : null,
    it.path ? `POST ${it.path}` : null,
    it.last ? `last ${moment(it.last.at_ms)}` : 'not run yet',
    plural(it.fired, 'run'),
    it.missed ? `${number(it.missed)} missed` : null,
  ].filter(Boolean);
  const tone = { armed: 'done', paused: 'waiting' }[it.status] ?? 'quiet';
  return h(
    'section',
    { class: 'part' },
    h('h2', null, h('a', { href: href('instances', it.instance) }, it.name), ' ', h('span', { class: 'pill', data: { tone } }, it.status)),
    h('p', null, h('code', null, it.definition)),
    h('p', { class: 'muted' }, facts.join(' · ')),
    it.recent.length ? table(it.recent) : null,
  );
}

function table(entries) {
  const heads = ['Time', 'Outcome', 'Event', 'Id', 'Instance', 'Detail'];
  return h('table', { class: 'audit-table' }, h('thead', null, h('tr', null, heads.map((word) => h('th', { scope: 'col' }, word)))), h('tbody', null, entries.toReversed().map(line)));
}

function line(it) {
  const details = [it.detail, it.missed ? `${number(it.missed)} missed` : null].filter(Boolean).join('; ');
  return h(
    'tr',
    null,
    h('td', { class: 'number', title: fullMoment(it.at_ms) }, moment(it.at_ms)),
    h('td', null, h('span', { class: 'pill', data: { tone: TONES[it.outcome] ?? 'done' } }, it.outcome)),
    h('td', null, it.event),
    h('td', null, h('code', null, it.key)),
    h('td', null, it.instance ? h('a', { href: href('instances', it.instance) }, it.instance) : ''),
    h('td', { class: 'wrap' }, details),
  );
}
