// The end of the audit log: which call was allowed or refused, by which rule. Separate from instances, because it covers all.
import { get, path } from './api.js';
import { fill, h, steady } from './dom.js';
import { empty, failed } from './empty.js';
import { inline } from './prose.js';
import { href } from './route.js';
import { fullMoment, moment } from './words.js';

const BAD = ['refused', 'failed', 'denied', 'interrupted'];

export function audit(root, route) {
  const instance = route.query.instance ?? '';
  const rows = h('tbody');
  const bad = h('input', { type: 'checkbox' });
  const body = h('div', { class: 'scroll', tabindex: 0 });
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
  let lines = [];
  const show = () => {
    const words = only.value.toLowerCase();
    const fits = (it) =>
      (!bad.checked || BAD.includes(it.decision)) &&
      (!words || [it.instance, it.service, it.decision, it.reason].some((text) => text?.toLowerCase().includes(words)));
    const found = lines.filter(fits);
    if (!found.length) return void fill(body, empty({ title: 'No matching lines', lead: 'Every call of a service, a tool or a model leaves a line here.', commands: [['Verify the log', 'rawko audit verify']] }));
    fill(rows, found.toReversed().map(line));
    if (!body.contains(rows))
      fill(body, h('table', { class: 'audit-table' }, h('thead', null, h('tr', null, ['Time', 'Decision', 'Service', 'Instance', 'Rule or error'].map((word) => h('th', { scope: 'col' }, word)))), rows));
    return undefined;
  };
  const read = async () => {
    try {
      ({ lines } = await get(path('audit'), { limit: 500, instance }));
      show();
    } catch (error) {
      if (!lines.length) fill(body, failed(error, read));
    }
  };
  const refresh = steady(read, 1000);
  for (const [control, type] of [[bad, 'change'], [only, 'input']]) control.addEventListener(type, show);
  read();
  return { title: 'Audit', heard: (type) => type === 'step' && refresh(), again: refresh, gone: () => refresh.cancel() };
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
