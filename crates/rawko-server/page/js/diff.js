// What changed between two values, down to the part that did, and its look. Apart from the tree, which shows one value.
import { h } from './dom.js';
import { gist, leaf, treeOf } from './tree.js';
import { brief, plural } from './words.js';

const LINES_MAX = 400;
const PARTS_MAX = 60;
const FEW = 8;

const isBranch = (value) => typeof value === 'object' && value !== null;

/**
 * The smallest parts that differ, in the order of the later value.
 * @returns {{path: string, before: any, after: any}[]}
 */
export function differences(before, after, path = '') {
  if (before === after) return [];
  if (!isBranch(before) || !isBranch(after) || Array.isArray(before) !== Array.isArray(after))
    return [{ path, before, after }];
  const keys = [...new Set([...Object.keys(after), ...Object.keys(before)])];
  return keys.flatMap((key) => differences(before[key], after[key], path ? `${path}.${key}` : key));
}

/** Lines of two texts: kept, gone and new ones. */
export function lineDifferences(before, after) {
  const [a, b] = [before.split('\n'), after.split('\n')];
  if (a.length > LINES_MAX || b.length > LINES_MAX)
    return [...a.map((line) => ['gone', line]), ...b.map((line) => ['new', line])];
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1)
      lengths[i][j] = a[i] === b[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
  }
  const lines = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push(['kept', a[i]]);
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && lengths[i + 1][j] >= lengths[i][j + 1])) lines.push(['gone', a[i++]]);
    else lines.push(['new', b[j++]]);
  }
  return lines;
}

/** @param {{key: string, before: any, after: any}[]} changes */
export function diff(changes) {
  const keys = changes
    .map(({ key, before, after }) => ({ key, parts: differences(before, after, key) }))
    .filter(({ parts }) => parts.length);
  const few = keys.reduce((sum, { parts }) => sum + parts.length, 0) <= FEW;
  return h(
    'ul',
    { class: 'diff' },
    keys.map(({ key, parts }) => (parts.length === 1 ? row(parts[0]) : many(key, parts, few))),
  );
}

/** A key with several changes within: opened where there are few in all. */
function many(key, parts, open) {
  const rest = parts.length > PARTS_MAX ? h('li', { class: 'muted' }, `and ${parts.length - PARTS_MAX} more`) : null;
  return h(
    'li',
    null,
    h(
      'details',
      { class: 'diff-fold', open },
      h(
        'summary',
        null,
        h('span', { class: 'diff-path' }, key),
        h('span', { class: 'muted' }, plural(parts.length, 'change')),
      ),
      h('ul', { class: 'diff' }, parts.slice(0, PARTS_MAX).map(row), rest),
    ),
  );
}

function row({ path, before, after }) {
  const texts =
    typeof before === 'string' && typeof after === 'string' && (before.includes('\n') || after.includes('\n'));
  const kind = before === undefined ? 'new' : after === undefined ? 'gone' : 'changed';
  return h(
    'li',
    { class: `diff-row ${kind}` },
    h('span', { class: 'diff-path' }, path),
    texts ? lines(before, after) : values(before, after),
  );
}

function values(before, after) {
  const gone = before === undefined ? null : h('del', { class: 'diff-before' }, short(before));
  const made =
    after === undefined
      ? h('ins', { class: 'diff-after' }, 'removed')
      : h('ins', { class: 'diff-after' }, short(after));
  return h(
    'span',
    { class: 'diff-values' },
    gone,
    gone ? h('span', { class: 'diff-arrow', 'aria-label': 'becomes' }, '→') : null,
    made,
  );
}

function short(value) {
  if (isBranch(value) && Object.keys(value).length)
    return h('details', { class: 'diff-tree' }, h('summary', null, gist(value)), treeOf(value, 'Full value'));
  return typeof value === 'string' ? h('span', { class: 'tree-string' }, brief(value, 400)) : leaf(value);
}

function lines(before, after) {
  const signs = { kept: ' ', gone: '−', new: '+' };
  const all = lineDifferences(before, after);
  const near = all.map(
    (line, at) => line[0] !== 'kept' || all.slice(Math.max(0, at - 2), at + 3).some(([kind]) => kind !== 'kept'),
  );
  return h(
    'pre',
    { class: 'diff-lines', tabindex: 0 },
    all
      .filter((_, at) => near[at])
      .map(([kind, text]) => h('span', { class: `line ${kind}` }, `${signs[kind]} ${text}\n`)),
  );
}
