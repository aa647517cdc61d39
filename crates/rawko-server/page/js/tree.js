// A JSON value as a tree that opens and closes. Apart, because contexts, inputs, outputs and events are all shown so.
import { h } from './dom.js';
import { brief, plural } from './words.js';

const LONG = 160;
const MANY = 200;

export class Tree {
  /** @param {{label: string, open?: string[]}} options */
  constructor({ label, open = [] }) {
    this.element = h('div', { class: 'tree', role: 'group', 'aria-label': label });
    this.open = new Set(open);
    this.text = null;
  }

  /** Shows a value; what was open stays open. `changed` are top-level keys to point out. */
  show(value, { changed = [] } = {}) {
    const text = JSON.stringify([value, changed]);
    if (text === this.text) return;
    this.text = text;
    this.changed = new Set(changed);
    const inside = isBranch(value) ? this.entries(value, '') : [leaf(value)];
    this.element.replaceChildren(...(inside.length ? inside : [h('p', { class: 'muted' }, 'empty')]));
  }

  entries(value, path) {
    const all = Object.entries(value);
    const rows = all
      .slice(0, MANY)
      .map(([key, inner]) => this.entry(key, inner, path ? `${path}.${key}` : key, Array.isArray(value)));
    if (all.length > MANY)
      rows.push(h('p', { class: 'muted tree-more' }, `and ${plural(all.length - MANY, 'more', 'more')}`));
    return rows;
  }

  entry(key, value, path, numbered) {
    const name = h('span', { class: numbered ? 'tree-index' : 'tree-key' }, key);
    const marked = this.changed.has(path) ? ' changed' : '';
    if (!isBranch(value) || Object.keys(value).length === 0) {
      if (typeof value === 'string' && (value.length > LONG || value.includes('\n')))
        return this.long(name, value, path, marked);
      return h('div', { class: `tree-row${marked}` }, name, leaf(value));
    }
    const body = h('div', { class: 'tree-body' });
    return this.folding(path, marked, [name, h('span', { class: 'tree-gist' }, gist(value))], body, () =>
      body.append(...this.entries(value, path)),
    );
  }

  long(name, value, path, marked) {
    const body = h('pre', { class: 'tree-text', tabindex: 0 });
    return this.folding(path, marked, [name, h('span', { class: 'tree-string' }, brief(value, 70))], body, () =>
      body.append(value),
    );
  }

  /** What is closed is not built: a context may be large. */
  folding(path, marked, summary, body, fill) {
    const fold = h('details', { class: `tree-fold${marked}` }, h('summary', null, summary), body);
    let filled = false;
    const show = () => {
      if (!filled) fill();
      filled = true;
    };
    if (this.open.has(path)) {
      show();
      fold.open = true;
    }
    fold.addEventListener('toggle', () => {
      if (fold.open) {
        this.open.add(path);
        show();
      } else this.open.delete(path);
    });
    return fold;
  }
}

const isBranch = (value) => typeof value === 'object' && value !== null;

/** What a value holds, in a few words. */
export function gist(value) {
  if (Array.isArray(value)) return plural(value.length, 'item');
  const inner = Object.entries(value).find(([, it]) => typeof it === 'string' && it.length < 40);
  const keys = plural(Object.keys(value).length, 'key');
  return inner ? `${keys} · ${inner[0]}: ${inner[1]}` : keys;
}

/** A value that holds no others, in its colour. */
export function leaf(value) {
  if (value === null || value === undefined) return h('span', { class: 'tree-null' }, 'null');
  if (typeof value === 'string') return h('span', { class: 'tree-string' }, value === '' ? '""' : value);
  if (typeof value === 'object') return h('span', { class: 'tree-null' }, Array.isArray(value) ? '[]' : '{}');
  return h('span', { class: typeof value === 'number' ? 'tree-number number' : 'tree-bool' }, String(value));
}

/** A value once, without memory of what was open. */
export function treeOf(value, label) {
  const tree = new Tree({ label });
  tree.show(value);
  return tree.element;
}
