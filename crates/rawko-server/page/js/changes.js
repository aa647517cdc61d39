// Files that an instance changed: a tree, the diff of one file, one call or all of it, and undo. Separate from the task's
// view, because any instance can change files.
import { get, path, post } from './api.js';
import { ask } from './dialog.js';
import { attributes, fill, h, keyed, say } from './dom.js';
import { icon } from './icons.js';
import { notice } from './notices.js';
import { hunksOf, patch } from './patch.js';
import { moment, plural } from './words.js';

const SPLIT_KEY = 'rawko.diff.split';
const MARKS = { added: 'A', modified: 'M', deleted: 'D' };

export class Changes {
  /** @param {string} id @param {{may: any, counted?: (files: number) => void}} world */
  constructor(id, { may, counted }) {
    Object.assign(this, { id, may, counted, answer: null, file: null, checkpoint: '', key: '' });
    this.split = localStorage.getItem(SPLIT_KEY) === 'true';
    this.steps = h('select', { class: 'input', 'aria-label': 'Changes of', on: { change: () => this.chooseStep() } });
    this.sum = h('span', { class: 'muted number changes-sum' });
    this.looks = h('div', { class: 'segments', role: 'group', 'aria-label': 'Diff layout' });
    this.undo = h('button', { class: 'button small', type: 'button', hidden: true, on: { click: () => this.takeBack(false) } }, icon('retry', 14), 'Undo');
    this.redo = h('button', { class: 'button small', type: 'button', hidden: true, on: { click: () => this.takeBack(true) } }, 'Redo');
    this.tree = h('ul', { class: 'file-tree', role: 'list' });
    this.diff = h('div', { class: 'file-diff' });
    this.nothing = h('p', { class: 'muted pad' }, 'No files changed.');
    this.both = h('div', { class: 'changes-both' }, h('nav', { class: 'file-list', 'aria-label': 'Changed files' }, this.tree), this.diff);
    this.element = h(
      'div',
      { class: 'changes' },
      h('div', { class: 'changes-bar' }, this.steps, this.sum, h('span', { class: 'grow' }), this.looks, this.undo, this.redo),
      this.nothing,
      this.both,
    );
    for (const [split, words] of [[false, 'Inline'], [true, 'Side by side']])
      this.looks.append(h('button', { class: 'segment', type: 'button', data: { split }, on: { click: () => this.look(split) } }, words));
    this.look(this.split);
  }

  look(split) {
    this.split = split;
    localStorage.setItem(SPLIT_KEY, String(split));
    for (const button of this.looks.children)
      attributes(button, { 'aria-pressed': String(button.dataset.split === String(split)) });
    this.showFile();
  }

  /** Reads the changes; the answer of an older question is dropped. */
  async read() {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const answer = await get(path('instances', this.id, 'changes'), { checkpoint: this.checkpoint }).catch((error) => ({ error }));
    if (turn !== this.turn) return;
    if (answer.error) return void this.failed(answer.error);
    const key = JSON.stringify(answer);
    if (key === this.key) return;
    this.key = key;
    this.answer = answer;
    if (!this.checkpoint) this.counted?.(answer.files.length);
    this.show();
  }

  failed(error) {
    this.both.hidden = true;
    this.nothing.hidden = false;
    say(this.nothing, error.message);
  }

  show() {
    const { files, checkpoints, mixed } = this.answer;
    const some = files.length > 0;
    this.nothing.hidden = some;
    this.both.hidden = !some;
    say(this.nothing, checkpoints.length ? 'No differences: every change was taken back.' : 'No files changed.');
    this.offerSteps(checkpoints);
    this.looks.hidden = !some;
    this.undo.hidden = !(this.may.operate && some && !this.checkpoint);
    this.redo.hidden = !(this.may.operate && this.answer.can_redo);
    const [added, removed] = ['added', 'removed'].map((word) => files.reduce((sum, file) => sum + file[word], 0));
    fill(this.sum, some ? [plural(files.length, 'file'), ' ', h('span', { class: 'plus' }, `+${added}`), ' ', h('span', { class: 'minus' }, `−${removed}`)] : null);
    this.mixed = new Set(mixed);
    if (!files.some((file) => file.path === this.file)) this.file = files[0]?.path ?? null;
    keyed(this.tree, rows(files), (row) => row.key, (row) => this.row(row), (element, row) => this.update(element, row));
    this.showFile();
  }

  offerSteps(checkpoints) {
    this.steps.hidden = checkpoints.length < 1;
    const key = checkpoints.map((it) => it.number).join();
    if (this.steps.dataset.key === key) return;
    this.steps.dataset.key = key;
    const name = (it) => {
      const who = it.instance === this.id ? '' : `${it.instance.slice(this.id.length + 1).split('.')[0]} · `;
      return `${it.step === null ? '' : `step ${it.step} · `}${who}${it.tool || it.kind} · ${it.paths.map((one) => one.split('/').pop()).join(', ').slice(0, 40)} · ${moment(it.at_ms)}`;
    };
    fill(this.steps, h('option', { value: '' }, 'All changes'), checkpoints.map((it) => h('option', { value: String(it.number) }, name(it))));
    this.steps.value = this.checkpoint;
  }

  chooseStep() {
    this.checkpoint = this.steps.value;
    this.key = '';
    this.read();
  }

  row(row) {
    if (row.folder !== undefined) return h('li', { class: 'file-folder' }, row.folder);
    const button = h(
      'button',
      { class: 'file-row', type: 'button', on: { click: () => this.choose(row.file.path) } },
      h('span', { class: 'file-mark', 'aria-hidden': 'true' }),
      h('span', { class: 'file-name grow' }, row.name),
      h('span', { class: 'file-count number' }),
    );
    return h('li', { class: row.deep ? 'deep' : null }, button);
  }

  update(element, { file }) {
    if (!file) return;
    const [mark, name, count] = element.firstElementChild.children;
    say(mark, MARKS[file.status]);
    mark.dataset.status = file.status;
    name.title = file.path;
    fill(count, h('span', { class: 'hidden-visually' }, ` ${file.status} `), file.is_binary ? 'binary' : [h('span', { class: 'plus' }, `+${file.added}`), ' ', h('span', { class: 'minus' }, `−${file.removed}`)]);
    attributes(element.firstElementChild, { 'aria-current': file.path === this.file ? 'true' : null });
  }

  choose(name) {
    this.file = name;
    for (const button of this.tree.querySelectorAll('.file-row'))
      attributes(button, { 'aria-current': button.querySelector('.file-name').title === name ? 'true' : null });
    this.showFile();
  }

  showFile() {
    const file = this.answer?.files.find((it) => it.path === this.file);
    if (!file) return void this.diff?.replaceChildren();
    const hunks = hunksOf(file.diff);
    fill(
      this.diff,
      h('h2', { class: 'file-title' }, file.path),
      this.mixed.has(file.path) ? h('p', { class: 'hint' }, 'Others changed this file in between; the diff includes their changes.') : null,
      file.is_binary
        ? h('p', { class: 'muted pad' }, 'Binary file.')
        : hunks.length
          ? patch(hunks, { split: this.split, label: `Diff of ${file.path}` })
          : h('p', { class: 'muted pad' }, file.status === 'added' ? 'An empty file was added.' : 'Only its permissions changed.'),
    );
  }

  takeBack(redo) {
    const files = this.answer?.files.length ?? 0;
    const force = h('input', { type: 'checkbox' });
    ask({
      title: redo ? 'Take back the last undo?' : `Undo the changes of ${plural(files, 'file')}?`,
      lead: redo
        ? 'The files get the contents that they had before the undo.'
        : 'Every file that this task and its agents changed gets its earlier contents. The conversation stays; the undo can be taken back.',
      act: redo ? 'Redo' : 'Undo changes',
      tone: redo ? 'primary' : 'danger',
      body: [h('label', { class: 'switch' }, force, h('span', null, 'Overwrite files that others changed since'))],
      work: async () => {
        const { restored, removed } = await post(path('instances', this.id, 'undo'), { redo, force: force.checked });
        const count = restored.length + removed.length;
        notice(count ? `${redo ? 'Redone' : 'Undone'}: ${plural(count, 'file')}.` : 'Nothing to undo.');
        this.key = '';
        await this.read();
      },
    });
  }
}

/** Files by folder, folders in order. */
function rows(files) {
  const folders = new Map();
  for (const file of files) {
    const at = file.path.lastIndexOf('/');
    const folder = at < 0 ? '' : file.path.slice(0, at);
    if (!folders.has(folder)) folders.set(folder, []);
    folders.get(folder).push({ key: `file ${file.path}`, file, name: file.path.slice(at + 1), deep: at >= 0 });
  }
  const sorted = [...folders].sort(([a], [b]) => a.localeCompare(b));
  return sorted.flatMap(([folder, found]) => [...(folder ? [{ key: `folder ${folder}`, folder }] : []), ...found]);
}
