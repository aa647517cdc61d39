// A list of any length of which only what is seen is there. Apart from what is listed: instances and steps both need it.
import { h } from './dom.js';

/**
 * @typedef {{height: number, label: string, render: (index: number, row: HTMLElement) => void, need?: (from: number, to: number) => void, pick?: (index: number, event: Event) => void, over?: number}} Options
 */

export class VirtualList {
  /** @param {Options} options */
  constructor(options) {
    this.options = { over: 8, ...options };
    this.total = 0;
    this.chosen = -1;
    this.rows = new Map();
    this.spare = [];
    this.space = h('div', { class: 'virtual-space', role: 'presentation' });
    this.element = h(
      'div',
      { class: 'virtual', role: 'listbox', tabindex: 0, 'aria-label': options.label },
      this.space,
    );
    this.frame = 0;
    this.element.addEventListener('scroll', () => this.soon(), { passive: true });
    this.element.addEventListener('keydown', (event) => this.key(event));
    this.element.addEventListener('click', (event) => this.click(event));
    this.watch = new ResizeObserver(() => this.soon());
    this.watch.observe(this.element);
  }

  destroy() {
    this.watch.disconnect();
    cancelAnimationFrame(this.frame);
  }

  setTotal(total) {
    this.total = total;
    this.space.style.setProperty('height', `${total * this.options.height}px`);
    if (this.chosen >= total) this.choose(total - 1);
    this.soon();
  }

  /** Draws before the next frame, however often it is asked. */
  soon() {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
  }

  range() {
    const { height, over } = this.options;
    const first = Math.floor(this.element.scrollTop / height);
    const seen = Math.ceil(this.element.clientHeight / height);
    return [Math.max(0, first - over), Math.min(this.total, first + seen + over)];
  }

  draw() {
    this.frame = 0;
    const [from, to] = this.range();
    for (const [index, row] of this.rows) {
      if (index >= from && index < to) continue;
      this.rows.delete(index);
      row.hidden = true;
      // Another row may have this place, and so this name, before this one is used again.
      row.removeAttribute('id');
      this.spare.push(row);
    }
    for (let index = from; index < to; index += 1) this.put(index);
    this.options.need?.(from, to);
  }

  put(index) {
    let row = this.rows.get(index);
    if (!row) {
      row = this.spare.pop() ?? this.space.appendChild(h('div', { class: 'virtual-row', role: 'option' }));
      row.hidden = false;
      this.rows.set(index, row);
      row.style.setProperty('transform', `translateY(${index * this.options.height}px)`);
      row.id = `${this.id()}-${index}`;
      row.setAttribute('aria-posinset', String(index + 1));
      row.dataset.index = String(index);
    }
    row.setAttribute('aria-setsize', String(this.total));
    row.setAttribute('aria-selected', String(index === this.chosen));
    this.options.render(index, row);
  }

  id() {
    return (this.name ??= `list-${Math.random().toString(36).slice(2, 8)}`);
  }

  choose(index, { reveal = true } = {}) {
    const before = this.chosen;
    this.chosen = this.total ? Math.max(-1, Math.min(index, this.total - 1)) : -1;
    if (reveal && this.chosen >= 0) this.reveal(this.chosen);
    for (const at of [before, this.chosen])
      this.rows.get(at)?.setAttribute('aria-selected', String(at === this.chosen));
    if (this.chosen >= 0) this.element.setAttribute('aria-activedescendant', `${this.id()}-${this.chosen}`);
    else this.element.removeAttribute('aria-activedescendant');
    this.soon();
  }

  reveal(index) {
    const { height } = this.options;
    const [top, seen] = [this.element.scrollTop, this.element.clientHeight];
    if (index * height < top) this.element.scrollTop = index * height;
    else if ((index + 1) * height > top + seen) this.element.scrollTop = (index + 1) * height - seen;
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.options.height) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in moves) {
      event.preventDefault();
      const wanted = Math.max(
        0,
        Math.min(this.total - 1, Math.max(this.chosen, moves[event.key] > 0 ? this.chosen : 0) + moves[event.key]),
      );
      this.choose(wanted);
      this.options.moved?.(wanted);
    } else if ((event.key === 'Enter' || event.key === ' ') && this.chosen >= 0) {
      event.preventDefault();
      this.options.pick?.(this.chosen, event);
    }
  }

  click(event) {
    const row = event.target.closest?.('.virtual-row');
    if (!row) return;
    const index = Number(row.dataset.index);
    this.choose(index, { reveal: false });
    this.options.pick?.(index, event);
  }
}
