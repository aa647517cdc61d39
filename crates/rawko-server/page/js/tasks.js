// Tasks: what was asked for in plain words, how far it is, and who works on it. Apart from instances, because a person thinks of
// the task and not of the chart that carries it out.
import { get, path } from './api.js';
import { ago } from './clock.js';
import { fill, h, keyed, say, steady } from './dom.js';
import { empty, failed } from './empty.js';
import { icon } from './icons.js';
import { href } from './route.js';
import { spentBrief } from './spent.js';
import { begin } from './start.js';
import { face } from './turns.js';
import { TONES, plural, tone } from './words.js';

export function tasks(root, _route, { may }) {
  const list = h('ul', { class: 'cards', role: 'list' });
  const body = h('div', { class: 'scroll', tabindex: 0 });
  const more = h('button', { class: 'button', type: 'button', hidden: true, on: { click: () => read(next) } }, 'More');
  let rows = [];
  let next = null;
  root.append(
    h(
      'div',
      { class: 'view-head' },
      h('h1', null, 'Tasks'),
      h('span', { class: 'grow' }),
      may.operate
        ? h(
            'button',
            { class: 'button primary', type: 'button', on: { click: () => begin() } },
            icon('plus'),
            'New task',
          )
        : null,
    ),
    body,
  );

  async function read(cursor = null) {
    try {
      const answer = await get(path('tasks'), { limit: 50, cursor });
      const found = answer.tasks ?? answer.instances ?? [];
      rows = cursor ? rows.concat(found) : found;
      next = answer.next ?? null;
      show();
    } catch (error) {
      if (!rows.length)
        fill(
          body,
          failed(error, () => read()),
        );
    }
  }

  function show() {
    if (!rows.length) return void fill(body, nothing(may));
    if (list.parentElement !== body) fill(body, list, h('div', { class: 'row center pad' }, more));
    more.hidden = !next;
    keyed(list, rows, (row) => row.id, card, update);
  }

  const refresh = steady(() => read(), 500);
  read();
  return {
    title: 'Tasks',
    heard: (type) => type === 'step' && refresh(),
    again: refresh,
    gone: () => refresh.cancel(),
  };
}

function nothing(may) {
  return empty({
    title: 'No tasks yet',
    lead: 'Describe a task in plain words. The arbiter selects an agent, the agent runs, the arbiter evaluates the result, until the task is complete or a limit is reached.',
    commands: [
      ['Watch a task offline', 'rawko demo'],
      ['Run a task', 'rawko task "Fix the failing test"'],
      ['Set up a project', 'rawko init'],
    ],
    actions: may.operate
      ? [h('button', { class: 'button primary', on: { click: () => begin() } }, icon('plus'), 'New task')]
      : [],
  });
}

function card(row) {
  const link = h('a', { class: 'card card-link task', href: href('tasks', row.id) });
  const parts = {
    who: h('span', { class: 'task-who' }),
    text: h('span', { class: 'task-text' }),
    meta: h('span', { class: 'task-meta muted' }),
    pill: h('span', { class: 'pill' }, h('span', { class: 'dot' }), h('span')),
    bar: h('span', { class: 'progress', 'aria-hidden': 'true' }, h('span')),
  };
  link.append(parts.who, h('span', { class: 'task-main' }, parts.text, parts.meta, parts.bar), parts.pill);
  const item = h('li', null, link);
  item.parts = parts;
  return item;
}

function update(item, row) {
  const { who, text, meta, pill, bar } = item.parts;
  const kind = tone(row);
  const agent = row.current_agent ?? row.agent ?? null;
  const steps = row.plan?.steps ?? [];
  const ticked = steps.filter((step) => step.status === 'done' || step.status === 'completed').length;
  fill(who, face(agent ?? row.task ?? row.id));
  say(text, row.task ?? row.id);
  fill(
    meta,
    words(row, agent, steps, ticked).flatMap((it, at) => [at ? ' · ' : null, it]),
  );
  pill.dataset.tone = kind;
  pill.firstElementChild.dataset.tone = kind;
  say(pill.lastElementChild, TONES[kind] ?? row.status);
  bar.hidden = !steps.length;
  bar.style.setProperty('--part', String(steps.length ? ticked / steps.length : 0));
}

function words(row, agent, steps, ticked) {
  return [
    row.status === 'running' && agent ? `${agent} running` : null,
    row.iteration ? `iteration ${row.iteration}` : null,
    steps.length ? `${ticked} of ${plural(steps.length, 'plan step')}` : null,
    spentBrief(row.spent) || null,
    h('span', null, ago(row.created_ms)),
    row.id,
  ].filter(Boolean);
}
