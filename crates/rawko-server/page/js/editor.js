// An editor for a chart's text: a textarea with colours beneath it, line numbers, findings underlined. Separate from what checks
// the text, and from suggestions.
import { fill, h } from './dom.js';
import { linesOf, tokens } from './yaml.js';

export const LINE = 20;
/** The space around the text, as in the style sheet. */
export const PAD = { x: 12, y: 10 };
/** Lines that are painted beyond what is seen. */
const AROUND = 20;

export class Editor {
  /** @param {{label: string, changed: () => void, writable: boolean}} options */
  constructor({ label, changed, writable }) {
    this.area = h('textarea', {
      class: 'editor-text',
      'aria-label': label,
      spellcheck: 'false',
      autocapitalize: 'off',
      autocomplete: 'off',
      wrap: 'off',
      readonly: !writable,
    });
    this.gutter = h('div', { class: 'editor-gutter number', 'aria-hidden': 'true' });
    this.marks = h('div', { class: 'editor-marks', 'aria-hidden': 'true' });
    this.paint = h('div', { class: 'editor-paint', 'aria-hidden': 'true' });
    this.field = h('div', { class: 'editor-field' }, this.marks, this.paint, this.area);
    this.element = h('div', { class: 'editor' }, this.gutter, this.field);
    this.findings = [];
    this.lines = [];
    this.painted = [-1, -1];
    this.area.addEventListener('input', () => {
      this.read();
      changed();
    });
    this.area.addEventListener('scroll', () => this.scrolled(), { passive: true });
    this.area.addEventListener('keydown', (event) => this.key(event));
    this.watch = new ResizeObserver(() => this.colour());
    this.watch.observe(this.field);
  }

  destroy() {
    this.watch.disconnect();
  }

  get text() {
    return this.area.value;
  }

  set text(value) {
    this.area.value = value;
    this.read();
  }

  /** Replaces a part of the text as typing would: it can be undone. */
  replace(from, to, text) {
    this.area.focus();
    this.area.setSelectionRange(from, to);
    // The browser's own command keeps its list of changes; where it is missing, the text is set.
    if (!document.execCommand('insertText', false, text)) {
      this.area.setRangeText(text, from, to, 'end');
      this.area.dispatchEvent(new Event('input'));
    }
  }

  /** Reads the text anew: numbers, colours, marks. */
  read() {
    const before = this.lines.length;
    this.lines = linesOf(this.area.value);
    if (this.lines.length !== before) {
      this.gutter.textContent = Array.from({ length: this.lines.length }, (_, at) => at + 1).join('\n');
      this.mark(this.findings);
    }
    this.painted = [-1, -1];
    this.colour();
  }

  /** Colours the lines in sight. */
  colour() {
    const first = Math.max(0, Math.floor(this.area.scrollTop / LINE) - AROUND);
    const last = Math.min(this.lines.length, first + Math.ceil(this.field.clientHeight / LINE) + 2 * AROUND);
    if (first >= this.painted[0] && last <= this.painted[1] && this.painted[0] >= 0) return;
    this.painted = [first, last];
    this.paint.style.setProperty('top', `${PAD.y + first * LINE}px`);
    fill(this.paint, this.lines.slice(first, last).map(painted));
  }

  scrolled() {
    this.gutter.style.setProperty('transform', `translateY(${-this.area.scrollTop}px)`);
    for (const layer of [this.marks, this.paint])
      layer.style.setProperty('transform', `translate(${-this.area.scrollLeft}px, ${-this.area.scrollTop}px)`);
    const [first, last] = this.painted;
    const seen = Math.floor(this.area.scrollTop / LINE);
    if (seen < first + 4 || seen + this.field.clientHeight / LINE > last - 4) {
      this.painted = [-1, -1];
      this.colour();
    }
  }

  /** Underlines where findings are. */
  mark(findings) {
    this.findings = findings;
    const lines = this.area.value.split('\n');
    const bars = findings
      .filter((it) => it.line)
      .map((it) => {
        const end =
          it.end_line && it.end_line > it.line
            ? (lines[it.line - 1] ?? '').length + 1
            : (it.end_column ?? it.column + 1);
        const bar = h('span', { class: `editor-mark ${it.severity}` });
        bar.style.setProperty('top', `${(it.line - 1) * LINE}px`);
        bar.style.setProperty('left', `calc(${Math.max(0, (it.column ?? 1) - 1)} * 1ch)`);
        bar.style.setProperty('width', `calc(${Math.max(1, end - (it.column ?? 1))} * 1ch)`);
        return bar;
      });
    const rows = [...new Set(findings.map((it) => it.line).filter(Boolean))].map((line) => {
      const row = h('span', { class: 'editor-line' });
      row.style.setProperty('top', `${(line - 1) * LINE}px`);
      return row;
    });
    fill(this.marks, rows, bars);
  }

  /** The finding at a place of the text. */
  findingAt(offset) {
    const before = this.area.value.slice(0, offset).split('\n');
    const [line, column] = [before.length, before.at(-1).length + 1];
    return this.findings.find(
      (it) => it.line === line && column >= it.column && (it.end_line > it.line || column <= (it.end_column ?? it.column + 1)),
    );
  }

  /** Brings a place into sight and the cursor to it. */
  show({ line, column }) {
    if (!line) return;
    const before = this.area.value.split('\n').slice(0, line - 1);
    const at = before.reduce((sum, text) => sum + text.length + 1, 0) + Math.max(0, (column ?? 1) - 1);
    this.area.focus();
    this.area.setSelectionRange(at, at);
    this.area.scrollTop = Math.max(0, (line - 6) * LINE);
  }

  /** The width of a character, measured once the font is there. */
  get wide() {
    if (!this.measured) {
      const probe = h('span', { class: 'editor-probe' }, '0'.repeat(100));
      this.field.append(probe);
      this.measured = probe.getBoundingClientRect().width / 100;
      probe.remove();
    }
    return this.measured;
  }

  /** Where a place of the text is in the field. */
  placeOf(offset) {
    const before = this.area.value.slice(0, offset).split('\n');
    return {
      x: PAD.x + before.at(-1).length * this.wide - this.area.scrollLeft,
      y: PAD.y + (before.length - 1) * LINE - this.area.scrollTop,
    };
  }

  /** The place of the text under a point of the window; null beside the text. */
  offsetAt(x, y) {
    const box = this.field.getBoundingClientRect();
    const row = Math.floor((y - box.top - PAD.y + this.area.scrollTop) / LINE);
    const column = Math.floor((x - box.left - PAD.x + this.area.scrollLeft) / this.wide);
    const lines = this.area.value.split('\n');
    if (row < 0 || row >= lines.length || column < 0 || column >= lines[row].length) return null;
    return lines.slice(0, row).reduce((sum, text) => sum + text.length + 1, 0) + column;
  }

  /** A new line begins as far in as the one before, also where the rest of a line moves down. Tab leaves the field, as
   *  everywhere. */
  key(event) {
    if (event.defaultPrevented || event.key !== 'Enter' || this.area.readOnly || event.isComposing) return;
    const start = this.area.selectionStart;
    const line = this.area.value.slice(this.area.value.lastIndexOf('\n', start - 1) + 1, start);
    const indent = /^ */.exec(line)[0] + (/:\s*$/.test(line) ? '  ' : '');
    if (!indent) return;
    event.preventDefault();
    const end = this.area.selectionEnd;
    this.replace(start, end + /^ */.exec(this.area.value.slice(end))[0].length, `\n${indent}`);
  }
}

/** One line in colours. */
function painted({ line, block }) {
  const parts = [];
  let at = 0;
  for (const { kind, start, end } of tokens(line, { block })) {
    if (start > at) parts.push(line.slice(at, start));
    parts.push(h('span', { class: `t-${kind}` }, line.slice(start, end)));
    at = end;
  }
  parts.push(line.slice(at));
  return h('div', { class: 'paint-line' }, parts);
}
