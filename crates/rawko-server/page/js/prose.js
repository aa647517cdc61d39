// Agents' words as people read them: paragraphs, lists, headings, code, emphasis; no links, no markup, no pictures. Apart, because
// the output of a model is foreign text: it only ever becomes text nodes.
import { h } from './dom.js';

const INLINE = /(`[^`\n]+`)|(\*\*[^*\n]+\*\*)|(\*[^*\s][^*\n]*\*)/;

/** Words within a line. */
export function inline(text) {
  const parts = [];
  let rest = text;
  for (let found = INLINE.exec(rest); found; found = INLINE.exec(rest)) {
    if (found.index) parts.push(rest.slice(0, found.index));
    const [whole, code, strong] = found;
    if (code) parts.push(h('code', null, whole.slice(1, -1)));
    else if (strong) parts.push(h('strong', null, whole.slice(2, -2)));
    else parts.push(h('em', null, whole.slice(1, -1)));
    rest = rest.slice(found.index + whole.length);
  }
  if (rest) parts.push(rest);
  return parts;
}

/** @param {string} text @returns {HTMLElement} */
export function prose(text) {
  const root = h('div', { class: 'prose' });
  const lines = String(text ?? '').split('\n');
  for (let at = 0; at < lines.length;) at = block(lines, at, root);
  return root;
}

/** Takes one block from line `at`; answers with where the next begins. */
function block(lines, at, root) {
  const line = lines[at];
  if (line.trim() === '') return at + 1;
  if (line.startsWith('```')) return fence(lines, at, root);
  const heading = /^(#{1,4})\s+(.*)/.exec(line);
  if (heading) {
    root.append(h('p', { class: `prose-heading level-${heading[1].length}` }, inline(heading[2])));
    return at + 1;
  }
  if (/^\s*([-*]|\d+[.)])\s+/.test(line)) return list(lines, at, root);
  let end = at;
  while (
    end < lines.length &&
    lines[end].trim() !== '' &&
    !/^(```|#{1,4}\s|\s*([-*]|\d+[.)])\s)/.test(end === at ? '' : lines[end])
  )
    end += 1;
  const paragraph = h('p');
  lines.slice(at, end).forEach((it, index) => paragraph.append(...(index ? [h('br')] : []), ...inline(it)));
  root.append(paragraph);
  return end;
}

function fence(lines, at, root) {
  let end = at + 1;
  while (end < lines.length && !lines[end].startsWith('```')) end += 1;
  root.append(h('pre', { tabindex: 0 }, h('code', null, lines.slice(at + 1, end).join('\n'))));
  return end + 1;
}

function list(lines, at, root) {
  const item = /^(\s*)([-*]|\d+[.)])\s+(.*)/;
  const ordered = /^\s*\d/.test(lines[at]);
  const made = h(ordered ? 'ol' : 'ul');
  let end = at;
  for (; end < lines.length; end += 1) {
    const found = item.exec(lines[end]);
    if (found) {
      const task = /^\[([ xX])\]\s+(.*)/.exec(found[3]);
      made.append(
        h('li', { class: task ? (task[1] === ' ' ? 'open' : 'ticked') : null }, inline(task ? task[2] : found[3])),
      );
    } else if (/^\s+\S/.test(lines[end]) && made.lastElementChild)
      made.lastElementChild.append(' ', ...inline(lines[end].trim()));
    else break;
  }
  root.append(made);
  return end;
}
