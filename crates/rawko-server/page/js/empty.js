// What stands where there is nothing yet: it teaches the first command. Also what stands where something failed to load.
// Apart, so that every view begins and fails in the same way.
import { h } from './dom.js';
import { icon } from './icons.js';
import { inline } from './prose.js';
import { complaint } from './words.js';
import { announce } from './notices.js';

/** A command to copy. */
export function command(text) {
  const button = h(
    'button',
    { class: 'button quiet icon-only', type: 'button', 'aria-label': `Copy: ${text}` },
    icon('copy', 14),
  );
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text);
      announce('Copied.');
      button.replaceChildren(icon('check', 14));
    } catch {
      getSelection().selectAllChildren(button.previousElementSibling);
    }
  });
  return h('div', { class: 'command' }, h('code', null, text), button);
}

/** `isPage`: nothing else is shown, so the title is the heading of the page.
 *  @param {{title: string, lead: string, commands?: [string, string][], actions?: Node[], isPage?: boolean}} words */
export function empty({ title, lead, commands = [], actions = [], isPage = false }) {
  return h(
    'div',
    { class: 'empty' },
    h('div', { class: 'empty-picture', 'aria-hidden': 'true' }, h('span'), h('span'), h('span')),
    h(isPage ? 'h1' : 'h2', null, title),
    h('p', { class: 'lead' }, inline(lead)),
    commands.length
      ? h(
          'dl',
          { class: 'commands' },
          commands.map(([what, text]) => [h('dt', null, what), h('dd', null, command(text))]),
        )
      : null,
    actions.length ? h('div', { class: 'row center' }, actions) : null,
  );
}

export function failed(error, again, isPage = false) {
  const missing = error.status === 404;
  return h(
    'div',
    { class: 'empty', role: 'alert' },
    h('div', { class: 'empty-error' }, icon(missing ? 'search' : 'error', 28)),
    h(isPage ? 'h1' : 'h2', null, missing ? 'Not found' : 'Could not load this view'),
    h('p', { class: 'lead' }, complaint(error)),
    error.code ? h('p', { class: 'muted' }, h('code', null, error.code)) : null,
    again ? h('button', { class: 'button', on: { click: again } }, icon('retry'), 'Try again') : null,
  );
}
