// Several rows of a list at once: selecting them, and pausing, resuming, retrying, migrating, cancelling or removing them. Separate from
// the list, which works without it.
import { path, post } from './api.js';
import { ask } from './dialog.js';
import { attributes, h, say } from './dom.js';
import { icon } from './icons.js';
import { migrate } from './migrate.js';
import { announce, doing, notice } from './notices.js';
import { go } from './route.js';
import { plural } from './words.js';

const AT_ONCE = 6;
const over = (row) => row.status === 'ended';

/** Actions, and the rows that they apply to. */
const ACTS = [
  { key: 'pause', words: 'Pause', done: 'paused', icon: 'pause', fits: (row) => !over(row) && row.status !== 'paused' },
  { key: 'resume', words: 'Resume', done: 'resumed', icon: 'play', fits: (row) => row.status === 'paused' },
  { key: 'retry', words: 'Retry', done: 'retried', icon: 'retry', fits: (row) => row.status === 'stalled' },
  { key: 'migrate', words: 'Migrate', icon: 'forward', fits: (row) => !over(row) },
  { key: 'cancel', words: 'Cancel', done: 'cancelled', icon: 'stop', fits: (row) => !over(row), asks: 'Exit actions run; timers and running work stop. Journals are kept.' },
  {
    key: 'prune',
    words: 'Remove',
    done: 'removed',
    icon: 'trash',
    fits: (row) => over(row) && !row.parent,
    asks: 'Journals, agents’ conversations and audit lines are deleted permanently. Files that were changed stay as they are.',
    needs: 'prune',
  },
];
/** Instances of one request. */
const TOGETHER = 500;

export class Selection {
  /** @param {{list: any, rowAt: (index: number) => any, changed: () => void, may: any}} world */
  constructor({ list, rowAt, changed, may = {} }) {
    Object.assign(this, { list, rowAt, changed, rows: new Map(), on: false, last: -1 });
    this.acts = ACTS.filter((act) => !act.needs || may[act.needs]);
    this.toggle = h('button', { class: 'button', type: 'button', 'aria-pressed': 'false', on: { click: () => this.switch(!this.on) } }, icon('tasks'), h('span', null, 'Select'));
    this.count = h('strong', { class: 'number', role: 'status' });
    this.buttons = this.acts.map((act) => {
      const button = h('button', { class: 'button small', type: 'button', on: { click: () => this.act(act, button) } }, icon(act.icon, 14), h('span', null, act.words));
      return button;
    });
    this.compare = h('button', { class: 'button small', type: 'button', disabled: true, on: { click: () => this.comparing() } }, 'Compare 2');
    const all = h('button', { class: 'button quiet small', type: 'button', on: { click: () => this.all() } }, 'Select all loaded');
    const none = h('button', { class: 'button quiet small', type: 'button', on: { click: () => this.switch(false) } }, 'Done');
    this.bar = h('div', { class: 'bulk', role: 'group', 'aria-label': 'Selected rows', hidden: true }, this.count, this.buttons, this.compare, h('span', { class: 'bulk-end' }, all, none));
  }

  has(id) {
    return this.rows.has(id);
  }

  switch(on) {
    this.on = on;
    if (!on) this.rows.clear();
    attributes(this.toggle, { 'aria-pressed': String(on) });
    attributes(this.list.element, { 'aria-multiselectable': on ? 'true' : null });
    this.list.element.classList.toggle('selecting', on);
    this.show();
  }

  clear() {
    if (this.rows.size) this.switch(false);
  }

  /** A click on a row selects it while rows are selected; with Shift, all between. */
  takes(row, index, event) {
    if (!this.on) return false;
    if (event.shiftKey && this.last >= 0) {
      for (let at = Math.min(index, this.last); at <= Math.max(index, this.last); at += 1) this.add(this.rowAt(at));
    } else if (this.has(row.id)) this.rows.delete(row.id);
    else this.add(row);
    this.last = index;
    this.show();
    return true;
  }

  flip(index) {
    const row = this.rowAt(index);
    if (!row) return;
    if (!this.on) this.switch(true);
    this.takes(row, index, {});
    announce(this.has(row.id) ? `Selected ${row.title ?? row.id}` : `Deselected ${row.title ?? row.id}`);
  }

  add(row) {
    if (row) this.rows.set(row.id, row);
  }

  all() {
    for (let at = 0; at < this.list.total; at += 1) this.add(this.rowAt(at));
    this.show();
  }

  /** The list was read again: what is selected has its new status. */
  shown() {
    if (!this.rows.size) return;
    for (let at = 0; at < this.list.total; at += 1) {
      const row = this.rowAt(at);
      if (row && this.rows.has(row.id)) this.rows.set(row.id, row);
    }
    this.show();
  }

  show() {
    this.bar.hidden = !this.on;
    const rows = [...this.rows.values()];
    say(this.count, `${rows.length} selected`);
    this.compare.disabled = rows.length !== 2;
    this.acts.forEach((act, at) => {
      const fitting = rows.filter(act.fits).length;
      this.buttons[at].disabled = !fitting;
      say(this.buttons[at].lastElementChild, fitting ? `${act.words} ${fitting}` : act.words);
    });
    this.list.soon();
  }

  comparing() {
    const [one, other] = this.rows.keys();
    go('compare', one, { with: other });
  }

  act(act, button) {
    const rows = [...this.rows.values()].filter(act.fits);
    if (act.key === 'migrate') return void doing(button, () => migrate(rows, { done: () => (this.switch(false), this.changed()) }));
    const run = () => this.run(act, rows);
    if (!act.asks) return void doing(button, run);
    ask({
      title: `${act.words} ${plural(rows.length, 'instance')}?`,
      lead: act.asks,
      act: `${act.words} ${rows.length}`,
      tone: 'danger',
      work: run,
    });
    return undefined;
  }

  async run(act, rows) {
    if (act.key === 'prune') return this.prune(rows);
    const waiting = [...rows];
    const failures = [];
    const worker = async () => {
      for (let row = waiting.shift(); row; row = waiting.shift())
        await post(path('instances', row.id, act.key)).catch((error) => failures.push(`${row.id}: ${error.message}`));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    const good = rows.length - failures.length;
    notice(`${plural(good, 'instance')} ${act.done}${failures.length ? `; ${failures.length} failed: ${failures[0]}` : '.'}`, { tone: failures.length ? 'bad' : 'good' });
    this.switch(false);
    this.changed();
  }

  /** All of them, or none: the server refuses a selection with an instance that runs again. */
  async prune(rows) {
    for (let at = 0; at < rows.length; at += TOGETHER)
      await post(path('prune'), { ids: rows.slice(at, at + TOGETHER).map((row) => row.id) });
    notice(`${plural(rows.length, 'instance')} removed.`);
    this.switch(false);
    this.changed();
  }
}
