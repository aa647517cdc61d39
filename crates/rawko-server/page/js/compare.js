// Two runs side by side: outcome, cost, duration, checks, plan and changed files. Separate from a task's view, which shows one.
import { get, path } from './api.js';
import { fill, h } from './dom.js';
import { empty, failed } from './empty.js';
import { href } from './route.js';
import { TASK_CHART } from './filters.js';
import { TONES, brief, cost, duration, number, tone } from './words.js';

export function compare(root, route) {
  const ids = [route.name, route.query.with ?? ''];
  const body = h('div', { class: 'scroll', tabindex: 0 });
  root.append(h('div', { class: 'view-head' }, h('p', { class: 'crumbs' }, h('a', { href: href('tasks') }, 'Tasks')), h('h1', null, 'Compare two runs')), body);
  if (!ids[0] || !ids[1]) {
    fill(body, empty({ title: 'Two runs are needed', lead: 'Select two rows of a list, then *Compare 2*.', actions: [h('a', { class: 'button', href: href('tasks') }, 'Tasks')] }));
    return { title: 'Compare two runs', moved: () => false };
  }
  Promise.all(ids.map(read)).then(
    (runs) => fill(body, table(runs)),
    (error) => fill(body, failed(error, () => location.reload())),
  );
  return { title: 'Compare two runs', moved: (other) => other.query.with === ids[1] };
}

async function read(id) {
  const [doc, changes] = await Promise.all([
    get(path('instances', id)),
    get(path('instances', id, 'changes')).catch(() => ({ files: [] })),
  ]);
  return { doc, files: new Map(changes.files.map((file) => [file.path, file])) };
}

function table(runs) {
  const [a, b] = runs;
  const value = (words, it) => h('td', null, words(it) ?? '–');
  const row = (name, words) => {
    const texts = runs.map((it) => words(it));
    const same = JSON.stringify(texts[0]?.textContent ?? texts[0]) === JSON.stringify(texts[1]?.textContent ?? texts[1]);
    if (texts.every((text) => text === null)) return null;
    return h('tr', { class: same ? null : 'differs' }, h('th', { scope: 'row' }, name), runs.map((it) => value(words, it)));
  };
  const status = ({ doc }) => h('span', { class: 'pill', data: { tone: tone(doc) } }, TONES[tone(doc)] ?? doc.status);
  const checks = ({ doc }) => {
    const all = doc.output?.checks ?? doc.context?.evidence?.report?.checks ?? [];
    return all.length ? all.map((check) => `${check.name}: ${check.summary ?? (check.ok ? 'passed' : 'failed')}`).join('; ') : null;
  };
  const plan = ({ doc }) => {
    const steps = doc.context?.plan?.steps ?? [];
    return steps.length ? `${steps.filter((step) => ['done', 'completed'].includes(step.status)).length} of ${steps.length} steps` : null;
  };
  const file = (name) => row(name, ({ files }) => (files.has(name) ? `${files.get(name).status} +${files.get(name).added} −${files.get(name).removed}` : null));
  const output = ({ doc }) => (doc.output && typeof doc.output === 'object' && !Array.isArray(doc.output) ? doc.output : { output: doc.output });
  const isTask = runs.some(({ doc }) => doc.chart === TASK_CHART);
  const keys = isTask ? [] : [...new Set(runs.flatMap((it) => Object.keys(output(it))))];
  const key = (name) => row(name === 'output' ? 'Output' : `Output: ${name}`, (it) => (output(it)[name] === undefined || output(it)[name] === null ? null : brief(output(it)[name], 500)));
  const view = (doc) => (doc.chart === TASK_CHART || doc.agent ? 'tasks' : 'instances');
  const paths = [...new Set([...a.files.keys(), ...b.files.keys()])].sort();
  return h(
    'table',
    { class: 'compare-table' },
    h('thead', null, h('tr', null, h('td'), runs.map(({ doc }) => h('th', { scope: 'col' }, h('a', { href: href(view(doc), doc.id) }, doc.title ?? doc.id), h('small', { class: 'muted' }, doc.title ? doc.id : `${doc.chart} ${doc.version}`))))),
    h(
      'tbody',
      null,
      row('Status', status),
      row('States', ({ doc }) => (doc.configuration ?? []).join(', ') || null),
      row('Duration', ({ doc }) => duration(doc.updated_ms - doc.created_ms)),
      row('Cost', ({ doc }) => (doc.spent.cost_usd ? cost(doc.spent.cost_usd) : null)),
      row('Tokens', ({ doc }) => (doc.spent.tokens ? number(doc.spent.tokens) : null)),
      row('Tool calls', ({ doc }) => (doc.spent.tool_calls ? number(doc.spent.tool_calls) : null)),
      row('Steps', ({ doc }) => number(doc.last_step)),
      row('Agent runs', ({ doc }) => (doc.child_rows ?? []).map((it) => it.agent ?? it.id).join(' → ') || null),
      row('Plan', plan),
      row('Checks', checks),
      row('Summary', ({ doc }) => doc.output?.summary ?? doc.output?.problem?.message ?? null),
      keys.map(key),
      paths.map(file),
    ),
  );
}
