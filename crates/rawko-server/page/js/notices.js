// Short notices about what was done or refused: shown for a while, and announced to screen readers. Apart from the shell, because
// every view uses them.
import { h, say } from './dom.js';
import { icon } from './icons.js';
import { complaint } from './words.js';

const SHOWN_MS = 6000;

let spoken = null;
let shelf = null;

/** @param {{spoken: HTMLElement, shelf: HTMLElement}} places */
export function noticesIn(places) {
  ({ spoken, shelf } = places);
}

/** Announces a text to screen readers. */
export function announce(text) {
  if (spoken) say(spoken, text);
}

export function notice(text, { tone = 'good', link = null } = {}) {
  announce(text);
  const close = h(
    'button',
    { class: 'button quiet icon-only', 'aria-label': 'Dismiss', on: { click: () => box.remove() } },
    icon('close', 14),
  );
  const box = h(
    'div',
    { class: `notice ${tone}` },
    icon(tone === 'bad' ? 'error' : 'check'),
    h('span', { class: 'grow' }, text),
    link,
    close,
  );
  shelf?.appendChild(box);
  while (shelf && shelf.children.length > 3) shelf.firstElementChild.remove();
  setTimeout(() => box.remove(), tone === 'bad' ? SHOWN_MS * 2 : SHOWN_MS);
}

export const regret = (error) => notice(complaint(error), { tone: 'bad' });

/** Runs the action of a button: it is disabled meanwhile, and a refusal is shown. */
export async function doing(button, work) {
  if (button.getAttribute('aria-disabled') === 'true') return;
  button.setAttribute('aria-disabled', 'true');
  try {
    await work();
  } catch (error) {
    regret(error);
  } finally {
    button.removeAttribute('aria-disabled');
  }
}
