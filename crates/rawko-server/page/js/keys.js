// Everything that keys do, and the overlay that lists it. Apart, so that what is documented is what is bound.
import { h } from './dom.js';
import { tell } from './dialog.js';

/** @typedef {{keys: string, does: string, run: (event: KeyboardEvent) => void}} Binding */

/** @type {Map<string, Binding[]>} */
const groups = new Map();
let pending = null;

/** Binds keys for as long as a view is shown; the returned function lets go of them. */
export function bind(group, bindings) {
  groups.set(group, bindings);
  return () => groups.get(group) === bindings && groups.delete(group);
}

function name(event) {
  const key = event.key === ' ' ? 'Space' : event.key.length === 1 ? event.key : event.key;
  return event.shiftKey && key.length > 1 ? `Shift+${key}` : key;
}

const writes = (target) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Keys that scroll; an element that scrolls keeps them. */
const SCROLLS = ['Home', 'End', 'PageUp', 'PageDown', 'Space', 'ArrowUp', 'ArrowDown'];

export function listen() {
  document.addEventListener('keydown', (event) => {
    if (
      event.defaultPrevented ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      document.querySelector('dialog[open]')
    )
      return;
    if (writes(event.target)) return void (event.key === 'Escape' && event.target.blur());
    const pressed = name(event);
    const wanted = pending ? `${pending} ${pressed}` : pressed;
    pending = null;
    // What a focused control does with Space, Enter and the arrows is its own.
    if (
      ['Space', 'Enter'].includes(pressed) &&
      event.target.closest?.('button, a, summary, [role=tab], [role=slider], [role=treeitem]')
    )
      return;
    if (SCROLLS.includes(pressed) && event.target.matches?.('.panel-body, .panel-body *, pre, .messages, .scroll *'))
      return;
    for (const bindings of [...groups.values()].reverse()) {
      const found = bindings.find((binding) => binding.keys.split(' / ').includes(wanted));
      if (found) {
        event.preventDefault();
        return found.run(event);
      }
    }
    if (wanted === 'g') pending = 'g';
  });
}

export function overlay() {
  const section = ([group, bindings]) => [
    h('h3', null, group),
    h(
      'dl',
      { class: 'keys' },
      bindings.map(({ keys, does }) => [h('dt', null, caps(keys)), h('dd', null, does)]),
    ),
  ];
  const own = [
    h('h3', null, 'Controls'),
    h(
      'dl',
      { class: 'keys' },
      h('dt', null, caps('Tab')),
      h('dd', null, 'next control; Shift+Tab for the previous one'),
      h('dt', null, caps('Enter / Space')),
      h('dd', null, 'press a button, open a row'),
      h('dt', null, caps('Escape')),
      h('dd', null, 'leave a field, close a dialog'),
    ),
  ];
  tell({
    title: 'Keyboard shortcuts',
    wide: true,
    body: h(
      'div',
      { class: 'keys-grid' },
      [...groups].map((group) => h('section', null, section(group))),
      h('section', null, own),
    ),
  });
}

const WORDS = { ArrowLeft: '←', ArrowRight: '→', ArrowUp: '↑', ArrowDown: '↓' };

function caps(keys) {
  const one = (key) => key.split(/[ +]/).flatMap((part, at) => [at ? ' ' : null, h('kbd', null, WORDS[part] ?? part)]);
  return keys.split(' / ').flatMap((key, at) => [at ? h('span', { class: 'muted' }, ' or ') : null, one(key)]);
}
