// Migrating instances to another version of their chart: the dry run as a table, then the migration. Apart from the other acts,
// because nothing is done before its consequences were read.
import { get, path, post } from './api.js';
import { ask, field } from './dialog.js';
import { fill, h, say } from './dom.js';
import { doing, notice } from './notices.js';
import { jsonInput } from './forms.js';
import { href } from './route.js';
import { plural } from './words.js';

const AT_ONCE = 6;
/** Rows of the table. */
const SHOWN = 100;
const WORDS = { possible: 'can migrate', refused: 'refused', migrated: 'migrated' };

/** Returns the versions of these charts that an instance can be migrated to, the current ones of single instances last. */
async function targets(rows) {
  const { charts } = await get(path('charts'));
  const ids = new Set(rows.map((row) => row.chart));
  const current = new Set(rows.map((row) => `${row.chart}@${row.version}`));
  const all = charts.filter((it) => ids.has(it.id)).flatMap((it) => [it.version, ...(it.versions ?? []).map((one) => one.version ?? one)].map((version) => `${it.id}@${version}`));
  const other = (it) => current.size !== 1 || !current.has(it);
  return [...new Set(all)].filter(other).toSorted((a, b) => (a < b ? 1 : -1));
}

/** One request for each, some at a time, in the order of the rows. A request that fails is a refusal with its reason. */
async function each(rows, body, progress) {
  const reports = [];
  let next = 0;
  let done = 0;
  const worker = async () => {
    while (next < rows.length) {
      const at = next++;
      reports[at] = await post(path('instances', rows[at].id, 'migrate'), body).catch((error) => ({ id: rows[at].id, verdict: 'refused', configuration: [], reasons: [error.message], notes: [] }));
      progress(++done);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, rows.length) }, worker));
  return reports;
}

function table(reports) {
  const line = ({ id, verdict, configuration, reasons, notes }) =>
    h(
      'tr',
      { 'data-verdict': verdict },
      h('td', null, h('a', { href: href('instances', id) }, id)),
      h('td', null, WORDS[verdict] ?? verdict),
      h('td', null, (configuration ?? []).join(', ')),
      h('td', null, [...(reasons ?? []), ...(notes ?? [])].join('; ')),
    );
  // Refusals are what a person has to read.
  const sorted = reports.toSorted((a, b) => (b.verdict === 'refused') - (a.verdict === 'refused'));
  const rest = reports.length - SHOWN;
  return [
    h(
      'table',
      { class: 'audit-table' },
      h('thead', null, h('tr', null, ['Instance', 'Verdict', 'States', 'Reasons and notes'].map((word) => h('th', { scope: 'col' }, word)))),
      h('tbody', null, sorted.slice(0, SHOWN).map(line)),
    ),
    rest > 0 ? h('p', { class: 'muted small-text' }, `${plural(rest, 'more instance')}.`) : null,
  ];
}

/** Asks for the version, shows the dry run, and migrates the instances that can be. `done` is called afterwards. */
export async function migrate(rows, { to = null, done = () => {} } = {}) {
  const versions = await targets(rows);
  const target = h('select', { class: 'input code' }, versions.map((one) => h('option', { value: one }, one)));
  if (to && versions.includes(to)) target.value = to;
  const map = jsonInput({ label: 'Map', placeholder: '{"states": {"review": "reviewing"}}' });
  const state = h('p', { class: 'hint', role: 'status' });
  const result = h('div', { class: 'migration' });
  let possible = null;
  const body = () => {
    if (!target.value) throw new Error('this chart has no other version');
    const given = map.read();
    return given === undefined ? { to: target.value } : { to: target.value, map: given };
  };
  const forget = () => {
    possible = null;
    fill(result, []);
    say(state, '');
  };
  target.addEventListener('change', forget);
  map.control.addEventListener('input', forget);
  const dryRun = async () => {
    const reports = await each(rows, body(), (count) => say(state, `${count} of ${rows.length} checked`));
    possible = reports.filter((report) => report.verdict === 'possible').map((report) => ({ id: report.id }));
    say(state, `${possible.length} of ${plural(reports.length, 'instance')} can migrate. Nothing was changed.`);
    fill(result, table(reports));
  };
  const check = h('button', { class: 'button', type: 'button', on: { click: () => doing(check, dryRun) } }, 'Dry run');
  return ask({
    title: rows.length === 1 ? `Migrate ${rows[0].id}` : `Migrate ${plural(rows.length, 'instance')}`,
    lead: 'Continues on another version of the chart, in the states that stand for the present ones. Each instance is one transaction; open timers, calls and approvals are kept.',
    act: 'Migrate',
    wide: true,
    body: [
      field('To', target, versions.length ? null : 'This chart has no other version'),
      field('Map', map.control, 'For states, invokes and context that the new chart’s migrations leave open (optional JSON)'),
      map.trouble,
      check,
      state,
      result,
    ],
    async work() {
      const wanted = body();
      if (!possible) {
        await dryRun();
        throw new Error('nothing was changed yet: read the dry run, then press Migrate again');
      }
      if (!possible.length) throw new Error('no instance can migrate');
      const reports = await each(possible, { ...wanted, apply: true }, (count) => say(state, `${count} of ${possible.length} migrated`));
      const failed = reports.filter((report) => report.verdict !== 'migrated');
      fill(result, table(reports));
      done();
      if (failed.length) throw new Error(`${plural(failed.length, 'instance')} not migrated: ${failed[0].reasons[0]}`);
      notice(`${plural(reports.length, 'instance')} migrated to ${wanted.to}.`);
    },
  });
}

/** Migrates the instances of a chart that have not ended, whatever version they run on. */
export async function migrateChart(chart, version) {
  const rows = [];
  let cursor;
  do {
    const page = await get(path('instances'), { chart, limit: 500, cursor });
    rows.push(...page.instances.filter((row) => row.status !== 'ended' && row.version !== version));
    cursor = page.next ?? null;
  } while (cursor);
  if (!rows.length) return void notice(`All instances of ${chart} run on ${version}.`, { tone: 'plain' });
  return migrate(rows, { to: `${chart}@${version}` });
}
