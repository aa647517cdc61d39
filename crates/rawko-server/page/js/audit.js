// The audit log from its end: which call was allowed or refused, by which rule. Separate from instances, because it covers all.
import { get, path } from './api.js';
import { fill, h, say, steady } from './dom.js';
import { empty, failed } from './empty.js';
import { doing } from './notices.js';
import { inline } from './prose.js';
import { href } from './route.js';
import { fullMoment, moment, plural } from './words.js';

const PAGE = 500;
const BAD = ['refused', 'failed', 'denied', 'interrupted'];

export function audit(root, route) {
  const instance = route.query.instance ?? '';
  const rows = h('tbody');
  const bad = h('input', { type: 'checkbox' });
  const body = h('div', { class: 'scroll', tabindex: 0 });
  const extent = h('span', { class: 'muted', role: 'status' });
  const earlier = h('button', { class: 'button', type: 'button', on: { click: () => doing(earlier, older) } }, 'Earlier lines');
  const more = h('p', { class: 'row audit-more' }, earlier, extent);
  const only = h('input', { class: 'input', type: 'search', placeholder: 'Search', 'aria-label': 'Search the audit log' });
  root.append(
    h(
      'div',
      { class: 'view-head' },
      h('h1', null, 'Audit'),
      instance ? h('span', { class: 'tag' }, instance) : null,
      h('span', { class: 'grow' }),
      only,
      h('label', { class: 'switch' }, bad, h('span', null, 'Refused and failed only')),
    ),
    body,
  );
  /** The cursor of the lines before those; whether the reader went back. */
  let [lines, next, isBack] = [[], null, false];
  const show = () => {
    const words = only.value.toLowerCase();
    const fits = (it) =>
      (!bad.checked || BAD.includes(it.decision)) &&
      (!words || [it.instance, it.service, it.decision, it.reason].some((text) => text?.toLowerCase().includes(words)));
    const found = lines.filter(fits);
    more.hidden = !next;
    say(extent, `The last ${plural(lines.length, 'line')}; a search covers these.`);
    if (!found.length) {
      const nothing = empty({ title: 'No matching lines', lead: 'Every call of a service, a tool or a model leaves a line here.', commands: [['Verify the log', 'rawko audit verify']] });
      return void fill(body, nothing, more);
    }
    fill(rows, found.toReversed().map(line));
    if (!body.contains(rows))
      fill(body, h('table', { class: 'audit-table' }, h('thead', null, h('tr', null, ['Time', 'Decision', 'Service', 'Instance', 'Rule or error'].map((word) => h('th', { scope: 'col' }, word)))), rows), more);
    return undefined;
  };
  const read = async () => {
    try {
      const answer = await get(path('audit'), { limit: PAGE, instance });
      const all = isBack ? joined(lines, answer.lines) : answer.lines;
      // More arrived than a page has: start anew.
      if (all === answer.lines) [next, isBack] = [answer.next, false];
      lines = all;
      show();
    } catch (error) {
      if (!lines.length) fill(body, failed(error, read));
    }
  };
  const older = async () => {
    const answer = await get(path('audit'), { limit: PAGE, instance, cursor: next });
    [lines, next, isBack] = [answer.lines.concat(lines), answer.next, true];
    show();
  };
  const refresh = steady(read, 1000);
  for (const [control, type] of [[bad, 'change'], [only, 'input']]) control.addEventListener(type, show);
  read();
  return { title: 'Audit', heard: (type) => type === 'step' && refresh(), again: refresh, gone: () => refresh.cancel() };
}

const keyOf = (it) => `${it.at_ms}/${it.effect}/${it.decision}`;

/** The end of the log after what was loaded before; only the end if there is a gap between them. */
export function joined(before, end) {
  const first = end.length ? keyOf(end[0]) : null;
  const place = before.findLastIndex((it) => keyOf(it) === first);
  return place > 0 ? before.slice(0, place).concat(end) : end;
}

function line(it) {
  const tone = BAD.includes(it.decision) ? 'error' : 'done';
  return h(
    'tr',
    null,
    h('td', { class: 'number', title: fullMoment(it.at_ms) }, moment(it.at_ms)),
    h('td', null, h('span', { class: 'pill', data: { tone } }, it.decision)),
    h('td', null, h('code', null, it.service)),
    h('td', null, h('a', { href: href('instances', it.instance) }, it.instance)),
    h('td', { class: 'wrap' }, it.reason ? inline(it.reason) : null, it.provenance?.by ? h('span', { class: 'muted' }, ` · by ${it.provenance.by}`) : null),
  );
}
