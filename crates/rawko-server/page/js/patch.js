// Unified diffs: read into hunks, shown inline or side by side. Separate from the list of changed files, because the
// conversation shows single edits the same way.
import { h } from './dom.js';
import { lineDifferences } from './diff.js';

const SIGNS = { kept: ' ', gone: '−', new: '+' };
const LINES_MAX = 3000;

/**
 * Parses the hunks of a unified diff.
 * @returns {{head: string, lines: {kind: 'kept'|'gone'|'new', text: string, before: number|null, after: number|null}[]}[]}
 */
export function hunksOf(diff) {
  const hunks = [];
  let [hunk, before, after] = [null, 0, 0];
  for (const line of String(diff ?? '').split('\n')) {
    const start = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/.exec(line);
    if (start) {
      [before, after] = [Number(start[1]), Number(start[2])];
      hunk = { head: line, lines: [] };
      hunks.push(hunk);
    } else if (hunk && line.startsWith('+')) hunk.lines.push({ kind: 'new', text: line.slice(1), before: null, after: after++ });
    else if (hunk && line.startsWith('-')) hunk.lines.push({ kind: 'gone', text: line.slice(1), before: before++, after: null });
    else if (hunk && line.startsWith(' '))
      hunk.lines.push({ kind: 'kept', text: line.slice(1), before: before++, after: after++ });
  }
  return hunks;
}

/**
 * One hunk of two parts of a file. Without the line at which they start, its lines have no numbers.
 * @param {number | null} start
 */
export function hunksBetween(before, after, start = null) {
  // An end of line that both have is no line of its own.
  const ends = before.endsWith('\n') && after.endsWith('\n');
  const part = (text) => (ends ? text.slice(0, -1) : text);
  let [old, now] = [start ?? 0, start ?? 0];
  const lines = lineDifferences(part(before), part(after)).map(([kind, text]) => {
    const numbers = { before: kind === 'new' ? null : old++, after: kind === 'gone' ? null : now++ };
    return { kind, text, ...(start === null ? { before: null, after: null } : numbers) };
  });
  return [{ head: '', lines }];
}

/** Pairs removed with added lines, for two columns. */
export function sideBySide(lines) {
  const rows = [];
  let [gone, made] = [[], []];
  const flush = () => {
    for (let at = 0; at < Math.max(gone.length, made.length); at += 1) rows.push([gone[at] ?? null, made[at] ?? null]);
    [gone, made] = [[], []];
  };
  for (const line of lines) {
    if (line.kind === 'gone') gone.push(line);
    else if (line.kind === 'new') made.push(line);
    else {
      flush();
      rows.push([line, line]);
    }
  }
  flush();
  return rows;
}

const cut = (lines) => lines.slice(0, LINES_MAX);
const rest = (lines) =>
  lines.length > LINES_MAX
    ? h('tr', null, h('td', { class: 'patch-cut muted', colspan: 4 }, `${lines.length - LINES_MAX} more lines`))
    : null;

/** @param {ReturnType<typeof hunksOf>} hunks */
export function patch(hunks, { split = false, label = 'Diff' } = {}) {
  return h(
    'div',
    { class: 'patch-scroll', tabindex: 0, role: 'group', 'aria-label': label },
    h('table', { class: split ? 'patch split' : 'patch' }, split ? widths() : null, hunks.map((hunk) => (split ? columns(hunk) : inline(hunk)))),
  );
}

/** The first row spans all columns, so their widths are given apart. */
const widths = () =>
  h('colgroup', null, ['count', 'text', 'count', 'text'].map((kind) => h('col', { class: `patch-col-${kind}` })));

const headRow = (hunk) =>
  hunk.head ? h('tr', { class: 'patch-head' }, h('td', { colspan: 4 }, hunk.head)) : null;

const count = (number) => h('td', { class: 'patch-number number', data: { number: number ?? '' } });

function inline(hunk) {
  const row = (line) =>
    h(
      'tr',
      { class: `line ${line.kind}` },
      count(line.before),
      count(line.after),
      h('td', { class: 'patch-sign' }, SIGNS[line.kind]),
      h('td', { class: 'patch-text' }, line.text),
    );
  return h('tbody', null, headRow(hunk), cut(hunk.lines).map(row), rest(hunk.lines));
}

function columns(hunk) {
  const side = (line, key) => [
    count(line?.[key] ?? null),
    h('td', { class: `patch-text ${line ? line.kind : 'none'}` }, line ? h('span', { class: 'hidden-visually' }, mark(line)) : null, line?.text ?? ''),
  ];
  const row = ([before, after]) => h('tr', { class: 'line' }, side(before, 'before'), side(after, 'after'));
  return h('tbody', null, headRow(hunk), cut(sideBySide(hunk.lines)).map(row), rest(hunk.lines));
}

const mark = (line) => ({ gone: 'removed: ', new: 'added: ', kept: '' })[line.kind];
