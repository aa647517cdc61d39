// Settings of the project and the checks of `rawko doctor`. Separate from the agents, which are only a part of it.
import { get, path } from './api.js';
import { fill, h, say } from './dom.js';
import { failed } from './empty.js';
import { icon } from './icons.js';
import { doing } from './notices.js';
import { inline } from './prose.js';
import { plural } from './words.js';

const ICONS = { ok: 'check', warn: 'warning', problem: 'error' };

export function settings(root) {
  const body = h('div', { class: 'scroll', tabindex: 0 });
  const about = h('span', { class: 'muted', role: 'status' });
  const again = h('button', { class: 'button', type: 'button', on: { click: () => doing(again, read) } }, icon('retry'), 'Check again');
  root.append(h('div', { class: 'view-head' }, h('h1', null, 'Settings'), about, h('span', { class: 'grow' }), again), body);

  async function read() {
    try {
      const report = await get(path('doctor'));
      const count = (state) => report.checks.filter((it) => it.state === state).length;
      const words = [count('problem') ? plural(count('problem'), 'problem') : null, count('warn') ? plural(count('warn'), 'warning') : null].filter(Boolean);
      say(about, words.join(', ') || 'No problems found');
      fill(body, h('div', { class: 'agent-page' }, checks(report.checks), report.settings.map(file)));
    } catch (error) {
      fill(body, failed(error, read));
    }
  }
  say(about, 'Checking…');
  read();
  return { title: 'Settings', again: () => {} };
}

function checks(all) {
  const worst = { problem: 0, warn: 1, ok: 2 };
  const row = (it) =>
    h(
      'li',
      { data: { state: it.state } },
      icon(ICONS[it.state] ?? 'check'),
      h('span', { class: 'doctor-about muted' }, it.about),
      h('span', { class: 'grow' }, inline(it.text), it.help ? h('span', { class: 'doctor-help muted' }, inline(it.help)) : null),
      h('span', { class: 'hidden-visually' }, it.state),
    );
  return h('section', { class: 'card part' }, h('h2', null, 'Checks'), h('ul', { class: 'facts doctor' }, [...all].sort((a, b) => worst[a.state] - worst[b.state]).map(row)));
}

const file = ({ file: name, text }) =>
  h('section', { class: 'card part' }, h('h2', null, h('code', null, name)), h('pre', { class: 'settings-text', tabindex: 0 }, text ?? ''));
