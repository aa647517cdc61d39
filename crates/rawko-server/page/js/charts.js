// All charts of the project, and a way to bring one. Apart from one chart's view.
import { get, path } from './api.js';
import { fill, h } from './dom.js';
import { empty, failed } from './empty.js';
import { icon } from './icons.js';
import { inline } from './prose.js';
import { href } from './route.js';
import { number, plural } from './words.js';

const SOURCES = {
  project: 'project',
  uploaded: 'uploaded',
  built_in: 'built in',
  stored: 'used by instances',
};

export function charts(root, _route, { may }) {
  const body = h('div', { class: 'scroll', tabindex: 0 });
  const add = () => h('a', { class: 'button primary', href: href('charts', 'new') }, icon('plus'), 'New chart');
  root.append(
    h(
      'div',
      { class: 'view-head' },
      h('h1', null, 'Charts'),
      h('span', { class: 'grow' }),
      may.admin ? add() : h('a', { class: 'button', href: href('charts', 'new') }, 'Check a chart'),
    ),
    body,
  );

  async function read() {
    try {
      const { charts: all } = await get(path('charts'));
      if (!all.length) return void fill(body, nothing());
      fill(
        body,
        h(
          'ul',
          { class: 'cards two', role: 'list' },
          shownOf(all).map((it) => card(it, all)),
        ),
      );
    } catch (error) {
      fill(body, failed(error, read));
    }
    return undefined;
  }
  read();
  return { title: 'Charts', again: read };
}

/** One row for each id: the version that is started, or one that only instances have. */
function shownOf(all) {
  const rows = new Map();
  for (const it of all) if (it.latest !== false || !rows.has(it.id)) rows.set(it.id, it);
  return [...rows.values()];
}

const nothing = () =>
  empty({
    title: 'No charts yet',
    lead: 'A chart describes a workflow: its states and the events that move it from one to the next. It is a YAML file in .rawko/charts.',
    commands: [
      ['Set up a project', 'rawko init'],
      ['Check a chart', 'rawko check CHART'],
      ['Run a chart', 'rawko run CHART'],
    ],
  });

function card(it, all) {
  const versions = all.filter((other) => other.id === it.id).length;
  const running = all.filter((other) => other.id === it.id).reduce((sum, other) => sum + (other.instances ?? 0), 0);
  return h(
    'li',
    null,
    h(
      'a',
      { class: 'card card-link chart-card', href: href('charts', it.id) },
      h(
        'span',
        { class: 'chart-head' },
        h('strong', null, it.id),
        h('span', { class: 'muted number' }, it.version ?? ''),
        h('span', { class: 'grow' }),
        it.findings
          ? h('span', { class: 'pill', data: { tone: 'person' } }, icon('warning', 14), plural(it.findings, 'finding'))
          : it.findings === 0
            ? h('span', { class: 'pill', data: { tone: 'done' } }, icon('check', 14), 'no problems')
            : null,
      ),
      it.description ? h('span', { class: 'chart-words' }, inline(it.description)) : null,
      h(
        'span',
        { class: 'muted small-text' },
        [
          it.states ? plural(it.states, 'state') : null,
          plural(running, 'instance'),
          versions > 1 ? `${number(versions)} versions` : null,
          SOURCES[it.source] ?? it.source,
        ]
          .filter(Boolean)
          .join(' · '),
      ),
    ),
  );
}
