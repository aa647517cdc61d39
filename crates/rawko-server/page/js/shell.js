// The frame around every view: navigation, the state of the connection, notices. Apart from `main`, which decides what is
// shown in it.
import { attributes, h, say } from './dom.js';
import { icon, mark } from './icons.js';
import { href } from './route.js';
import { next, theme } from './theme.js';
import { overlay } from './keys.js';
import { announce, noticesIn } from './notices.js';

const PLACES = [
  ['tasks', 'Tasks'],
  ['instances', 'Instances'],
  ['approvals', 'Approvals'],
  ['channels', 'Channels'],
  ['charts', 'Charts'],
  ['agents', 'Agents'],
  ['triggers', 'Triggers'],
  ['usage', 'Usage'],
  ['audit', 'Audit'],
  ['settings', 'Settings'],
];

/** Views in the bar of a phone; the others are below *More*. */
const IN_BAR = 5;

const STATES = { live: 'Live', connecting: 'Connecting', lost: 'Reconnecting', idle: 'Disconnected' };
const THEMES = {
  auto: ['auto', 'System theme'],
  light: ['sun', 'Light theme'],
  dark: ['moon', 'Dark theme'],
};

/** Builds the frame and returns its parts. */
export function shell(root, { leave }) {
  const count = h('span');
  const badge = h('span', { class: 'badge', hidden: true }, count, h('span', { class: 'hidden-visually' }, ' waiting'));
  const links = PLACES.map(([view, name]) => [view, place(view, name, view === 'approvals' ? badge : null)]);
  const folded = PLACES.slice(IN_BAR).map(([view, name]) => [view, place(view, name, null)]);
  const more = moreOf(folded);
  const state = h(
    'span',
    { class: 'connection', data: { state: 'idle' } },
    h('span', { class: 'connection-dot', 'aria-hidden': 'true' }),
    h('span', { class: 'connection-word' }, STATES.idle),
  );
  const exit = h(
    'button',
    { class: 'button quiet', type: 'button', hidden: true, on: { click: leave } },
    icon('leave'),
    h('span', null, 'Log out'),
  );
  const banner = h('div', { class: 'banner', role: 'status', hidden: true });
  const main = h('main', { id: 'main', class: 'main', tabindex: -1 });
  const spoken = h('div', { class: 'hidden-visually', role: 'status', 'aria-live': 'polite' });
  const shelf = h('div', { class: 'notices' });
  noticesIn({ spoken, shelf });
  root.replaceChildren(
    h(
      'header',
      { class: 'side' },
      h('a', { class: 'brand', href: href('tasks') }, mark(), h('span', null, 'rawko')),
      h(
        'nav',
        { class: 'nav', 'aria-label': 'Main' },
        h(
          'ul',
          null,
          links.map(([, link], at) => h('li', { class: at < IN_BAR ? null : 'wide-only' }, link)),
          h('li', { class: 'narrow-only' }, more),
        ),
      ),
      h('div', { class: 'side-foot' }, state, h('div', { class: 'side-tools' }, themeButton(), keysButton(), exit)),
    ),
    h('div', { class: 'stage' }, banner, main),
    shelf,
    spoken,
  );
  return {
    main,
    at(view) {
      for (const [name, link] of [...links, ...folded]) attributes(link, { 'aria-current': name === view ? 'page' : null });
      more.firstElementChild.classList.toggle('current', folded.some(([name]) => name === view));
      more.open = false;
    },
    connection(name) {
      state.dataset.state = name;
      say(state.lastElementChild, STATES[name]);
    },
    lost: lostBanner(banner),
    approvals(total) {
      badge.hidden = !total;
      say(count, total > 99 ? '99+' : total);
    },
    session({ required, role }) {
      exit.hidden = !(required && role);
      for (const [name, link] of [...links, ...folded]) if (name === 'settings') link.parentElement.hidden = role !== 'admin';
    },
  };
}

function place(view, name, badge) {
  return h('a', { class: 'nav-link', href: href(view) }, icon(view, 18), h('span', null, name), badge);
}

/** The views that a phone has no room for. A tap elsewhere, Escape and every choice close it. */
function moreOf(folded) {
  const more = h(
    'details',
    { class: 'more' },
    h('summary', { class: 'nav-link' }, icon('more', 18), h('span', null, 'More')),
    h('ul', { class: 'more-list' }, folded.map(([, link]) => h('li', null, link))),
  );
  more.addEventListener('click', (event) => event.target.closest('a') && (more.open = false));
  more.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !more.open) return;
    more.open = false;
    more.firstElementChild.focus();
  });
  document.addEventListener('pointerdown', (event) => more.contains(event.target) || (more.open = false));
  return more;
}

function themeButton() {
  const button = h('button', { class: 'button quiet icon-only', type: 'button' });
  const show = () => {
    const [picture, words] = THEMES[theme()];
    button.replaceChildren(icon(picture));
    attributes(button, { 'aria-label': words, title: words });
  };
  button.addEventListener('click', () => {
    next();
    show();
    announce(THEMES[theme()][1]);
  });
  show();
  return button;
}

function keysButton() {
  return h(
    'button',
    {
      class: 'button quiet icon-only',
      type: 'button',
      'aria-label': 'Keyboard shortcuts',
      title: 'Keyboard shortcuts (?)',
      on: { click: overlay },
    },
    icon('keyboard'),
  );
}

/** Shows that the connection is lost, after a delay: most gaps are shorter. */
function lostBanner(banner) {
  let timer = 0;
  return (lost, retry) => {
    if (!lost) {
      clearTimeout(timer);
      timer = 0;
      if (!banner.hidden) announce('Reconnected.');
      banner.hidden = true;
      return banner.replaceChildren();
    }
    if (!banner.hidden || timer) return undefined;
    timer = setTimeout(() => {
      banner.replaceChildren(
        icon('warning'),
        h('span', { class: 'grow' }, 'Disconnected. Showing the last known state; reconnecting…'),
        h('button', { class: 'button small', type: 'button', on: { click: retry } }, 'Reconnect now'),
      );
      banner.hidden = false;
    }, 700);
    return undefined;
  };
}
