// A plain editor for a chart's text: line numbers, findings underlined, nothing that gets in the way. Apart from what checks it.
import { fill, h } from './dom.js';

const LINE = 20;

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
    this.element = h(
      'div',
      { class: 'editor' },
      this.gutter,
      h('div', { class: 'editor-field' }, this.marks, this.area),
    );
    this.findings = [];
    this.lines = 0;
    this.area.addEventListener('input', () => {
      this.number();
      changed();
    });
    this.area.addEventListener('scroll', () => this.scrolled(), { passive: true });
    this.area.addEventListener('keydown', (event) => this.key(event));
  }

  get text() {
    return this.area.value;
  }

  set text(value) {
    this.area.value = value;
    this.number();
  }

  number() {
    const lines = this.area.value.split('\n').length;
    if (lines === this.lines) return;
    this.lines = lines;
    this.gutter.textContent = Array.from({ length: lines }, (_, at) => at + 1).join('\n');
    this.mark(this.findings);
  }

  scrolled() {
    this.gutter.style.setProperty('transform', `translateY(${-this.area.scrollTop}px)`);
    this.marks.style.setProperty('transform', `translate(${-this.area.scrollLeft}px, ${-this.area.scrollTop}px)`);
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

  /** Brings a place into sight and the cursor to it. */
  show({ line, column }) {
    if (!line) return;
    const before = this.area.value.split('\n').slice(0, line - 1);
    const at = before.reduce((sum, text) => sum + text.length + 1, 0) + Math.max(0, (column ?? 1) - 1);
    this.area.focus();
    this.area.setSelectionRange(at, at);
    this.area.scrollTop = Math.max(0, (line - 6) * LINE);
  }

  /** A new line begins as far in as the one before. Tab leaves the field, as everywhere. */
  key(event) {
    if (event.key !== 'Enter' || this.area.readOnly || event.isComposing) return;
    const start = this.area.selectionStart;
    const line = this.area.value.slice(this.area.value.lastIndexOf('\n', start - 1) + 1, start);
    const indent = /^ */.exec(line)[0] + (/:\s*$/.test(line) ? '  ' : '');
    if (!indent) return;
    event.preventDefault();
    this.area.setRangeText(`\n${indent}`, start, this.area.selectionEnd, 'end');
    this.area.dispatchEvent(new Event('input'));
  }
}
