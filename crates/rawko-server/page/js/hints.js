// Suggestions and explanations over an editor: a list at the cursor, a note at the mouse or the cursor. Separate from the
// editor, which is complete without them; the server knows what fits, for this editor and for all others.
import { ask, path } from './api.js';
import { attributes, calm, fill, h, say } from './dom.js';
import { LINE } from './editor.js';
import { inline } from './prose.js';

let serial = 0;

export class Hints {
  /** @param {import('./editor.js').Editor} editor */
  constructor(editor) {
    Object.assign(this, { editor, items: [], at: -1, from: 0, asked: 0, explained: 0 });
    const id = `hints-${++serial}`;
    this.list = h('ul', { class: 'hints', id, role: 'listbox', 'aria-label': 'Suggestions', hidden: true });
    this.note = h('div', { class: 'hover-note', role: 'status', hidden: true });
    editor.field.append(this.list, this.note);
    attributes(editor.area, { 'aria-autocomplete': 'list', 'aria-controls': id, 'aria-keyshortcuts': 'Control+Space F1' });
    editor.area.addEventListener('keydown', (event) => this.key(event), { capture: true });
    editor.area.addEventListener('input', (event) => this.typed(event));
    editor.area.addEventListener('blur', () => this.close());
    editor.area.addEventListener('scroll', () => this.close(), { passive: true });
    editor.area.addEventListener('click', () => this.close());
    editor.area.addEventListener('mousemove', (event) => this.hover(event.clientX, event.clientY));
    editor.area.addEventListener('mouseleave', () => this.hover.cancel() ?? this.explain(null));
    this.hover = calm((x, y) => this.explain(editor.offsetAt(x, y)), 250);
    // The list is chosen from by mouse without taking the focus from the text.
    this.list.addEventListener('mousedown', (event) => {
      event.preventDefault();
      const row = event.target.closest('[role=option]');
      if (row) this.take(Number(row.dataset.at));
    });
  }

  get open() {
    return !this.list.hidden;
  }

  /** After a letter of a word, or a space after a colon, completions are shown. */
  typed(event) {
    this.explain(null);
    const letter = event.inputType === 'insertText' && /^[\w$.@-]$/.test(event.data ?? '');
    if (letter || (this.open && event.inputType?.startsWith('delete'))) this.offer(false);
    else if (event.inputType === 'insertText' && event.data === ' ' && /:\s$/.test(this.before())) this.offer(false);
    else this.close();
  }

  before() {
    return this.editor.text.slice(0, this.editor.area.selectionStart);
  }

  /** What a place of the text is asked for; null where the server cannot be asked. */
  question(about, offset) {
    return ask(path('charts', about), { text: this.editor.text, offset }).catch(() => null);
  }

  async offer(chosen) {
    const { area } = this.editor;
    if (area.readOnly || area.selectionStart !== area.selectionEnd) return this.close();
    const asked = ++this.asked;
    const [text, offset] = [this.editor.text, area.selectionStart];
    const found = await this.question('suggest', offset);
    // An answer to an older question is late.
    if (asked !== this.asked || text !== this.editor.text || offset !== area.selectionStart) return undefined;
    const { from, items } = found ?? { items: [] };
    if (!items.length) return this.close();
    // What was chosen from the list before stays chosen: an answer may come between the arrow and Enter.
    const before = this.open ? this.items[this.at]?.text : undefined;
    const kept = before === undefined ? -1 : items.findIndex((it) => it.text === before);
    Object.assign(this, { items, from, at: kept >= 0 ? kept : chosen ? 0 : -1 });
    fill(
      this.list,
      items.map((it, at) =>
        h('li', { role: 'option', id: `${this.list.id}-${at}`, data: { at } }, h('code', null, it.text), h('span', { class: 'muted' }, it.note)),
      ),
    );
    const { x, y } = this.editor.placeOf(from);
    this.list.hidden = false;
    this.place(this.list, x, y);
    return this.point();
  }

  /** Below the line, or above it where there is no room. */
  place(box, x, y) {
    const { clientWidth: width, clientHeight: height } = this.editor.field;
    const below = y + LINE + 2;
    const top = below + box.offsetHeight > height && y - box.offsetHeight - 2 > 0 ? y - box.offsetHeight - 2 : below;
    box.style.setProperty('left', `${Math.max(4, Math.min(x, width - box.offsetWidth - 4))}px`);
    box.style.setProperty('top', `${top}px`);
  }

  point() {
    [...this.list.children].forEach((row, at) => attributes(row, { 'aria-selected': String(at === this.at) }));
    const row = this.list.children[this.at];
    attributes(this.editor.area, { 'aria-activedescendant': row?.id ?? null });
    row?.scrollIntoView({ block: 'nearest' });
  }

  close() {
    this.asked += 1;
    if (!this.open) return;
    this.list.hidden = true;
    this.at = -1;
    attributes(this.editor.area, { 'aria-activedescendant': null });
  }

  take(at) {
    const item = this.items[at];
    if (!item) return;
    const end = this.editor.area.selectionStart;
    // A key that is there keeps its colon.
    const insert = /^\s*:/.test(this.editor.text.slice(end)) ? item.insert.replace(/: $/, '') : item.insert;
    this.editor.replace(this.from, end, insert);
    this.close();
  }

  key(event) {
    if (event.ctrlKey && event.code === 'Space') {
      event.preventDefault();
      return this.offer(true);
    }
    if (event.key === 'F1') {
      event.preventDefault();
      return this.explain(this.editor.area.selectionStart, true);
    }
    if (event.key === 'Escape' && (this.open || !this.note.hidden)) {
      event.preventDefault();
      event.stopPropagation();
      this.explain(null);
      return this.close();
    }
    if (!this.open) return undefined;
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) {
      event.preventDefault();
      this.at = (this.at + move + this.items.length) % this.items.length;
      return this.point();
    }
    if (event.key === 'Tab' || (event.key === 'Enter' && this.at >= 0)) {
      event.preventDefault();
      return this.take(Math.max(0, this.at));
    }
    if (['ArrowLeft', 'ArrowRight', 'Home', 'End'].includes(event.key)) this.close();
    return undefined;
  }

  /** Shows what stands at a place: the finding there, else what the word means. */
  async explain(offset, asked = false) {
    const explained = ++this.explained;
    if (offset === null) {
      this.note.hidden = true;
      return;
    }
    const found = await this.about(offset);
    if (explained !== this.explained) return;
    if (!found && asked) say(this.note, 'Nothing is known about this word.');
    this.note.hidden = !found && !asked;
    if (this.note.hidden) return;
    if (found) fill(this.note, h('strong', null, found.title), ' ', inline(found.text), found.help ? h('em', null, ' ', inline(found.help)) : null);
    const { x, y } = this.editor.placeOf(offset);
    this.place(this.note, x, y);
  }

  async about(offset) {
    const finding = this.editor.findingAt(offset);
    if (finding) return { title: finding.severity, text: finding.message, help: finding.help };
    const found = await this.question('explain', offset);
    return found?.title ? found : null;
  }
}
