// The page's beginning: session, frame, routes, stream. Apart from the views, which know nothing of each other.
import { get, onTrouble, path, remove } from './api.js';
import { heardNow } from './clock.js';
import { bind, listen, overlay } from './keys.js';
import { Live } from './live.js';
import { arrive, go, href } from './route.js';
import { shell } from './shell.js';
import { wear } from './theme.js';
import { h, steady } from './dom.js';
import { announce } from './notices.js';
import { empty, failed } from './empty.js';
import { login } from './login.js';
import { READ, noticed, wanted } from './notify.js';
import { instances, tasks } from './instances.js';
import { instance } from './instance.js';
import { task } from './task.js';
import { approvals } from './approvals.js';
import { channels } from './channels.js';
import { channel } from './channel.js';
import { charts } from './charts.js';
import { chart } from './chart.js';
import { agent } from './agent.js';
import { agents } from './agents.js';
import { answerLink } from './answer.js';
import { audit } from './audit.js';
import { call } from './call.js';
import { compare } from './compare.js';
import { settings } from './settings.js';
import { triggers } from './triggers.js';
import { usage } from './usage.js';
import { begin } from './start.js';

/**
 * A view: `mount` fills its root and answers with what it hears.
 * @typedef {{title: string, moved?: (route: import('./route.js').Route) => boolean, heard?: (type: string, data: any) => void, again?: () => void, gone?: () => void}} View
 */

const VIEWS = {
  instances: (name) => (name === null ? instances : instance),
  tasks: (name) => (name === null ? tasks : task),
  approvals: () => approvals,
  channels: (name) => (name === null ? channels : channel),
  charts: (name) => (name === null ? charts : chart),
  agents: (name) => (name === null ? agents : agent),
  settings: () => settings,
  triggers: () => triggers,
  usage: () => usage,
  audit: () => audit,
  calls: () => call,
  compare: () => compare,
};

wear();
const frame = shell(document.getElementById('app'), { leave });
/** @type {{session: any, view: View | null, key: string, entered: boolean}} */
const page = { session: null, view: null, key: '', entered: false };
const live = new Live({ state: connected, event: heard, again });
const countApprovals = steady(readApprovals, 800);

function connected(state) {
  frame.connection(state);
  if (state === 'lost') stillKnown();
  frame.lost(state === 'lost', () => live.retryNow() ?? live.connect());
}

/** A stream that ends may mean that the token does not count any more; the stream itself cannot report it. */
async function stillKnown() {
  const session = await get(path('session')).catch(() => null);
  if (session && !session.role && page.session) askForToken();
}

function heard(type, data) {
  if (data.at_ms ?? data.updated_ms) heardNow(data.updated_ms ?? data.at_ms);
  if (type === 'step') countApprovals();
  page.view?.heard?.(type, data);
}

function again() {
  countApprovals();
  page.view?.again?.();
}

async function readApprovals() {
  if (!page.session?.role) return;
  const { approvals: asks, total } = await get(path('approvals'), { limit: wanted() ? READ : 1 }).catch(() => ({
    approvals: [],
    total: null,
  }));
  if (total === null) return;
  frame.approvals(total ?? asks.length);
  noticed(asks, total ?? asks.length);
}

function show() {
  if (!page.session) return;
  const route = arrive();
  frame.at(route.view);
  const key = `${route.view}/${route.name ?? ''}`;
  if (page.key === key && page.view?.moved?.(route) !== false) return;
  page.view?.gone?.();
  page.key = key;
  frame.main.replaceChildren();
  frame.main.className = `main view-${route.view}${route.name === null ? '' : '-one'}`;
  const mount = VIEWS[route.view]?.(route.name);
  if (mount) enter(mount, route);
  else frame.main.replaceChildren(nowhere());
}

function enter(mount, route) {
  live.follow(['instances', 'tasks'].includes(route.view) && route.name !== null ? { instance: route.name } : {});
  const { role, required, can_prune: prunes } = page.session;
  // Where there are tokens, they identify the person.
  const may = { operate: role !== 'read', admin: role === 'admin', prune: role === 'admin' && prunes, claimName: !required };
  try {
    page.view = mount(frame.main, route, { may, follow: (interest) => live.follow(interest) });
  } catch (error) {
    page.view = null;
    frame.main.replaceChildren(failed(error, undefined, true));
    throw error;
  }
  document.title = `${page.view.title} · rawko`;
  announce(page.view.title);
  // The first view keeps the focus at the top; a later one moves it to its content.
  if (page.entered && document.activeElement === document.body) frame.main.focus({ preventScroll: true });
  page.entered = true;
}

const nowhere = () =>
  empty({
    title: 'Page not found',
    lead: 'The address may belong to another version of rawko.',
    actions: [h('a', { class: 'button', href: href('tasks') }, 'Tasks')],
    isPage: true,
  });

async function enterSession() {
  const session = await get(path('session'));
  page.session = session;
  frame.session(session);
  if (session.role) {
    page.key = '';
    show();
    countApprovals();
  } else askForToken();
}

function askForToken() {
  page.view?.gone?.();
  page.view = null;
  page.key = '';
  page.session = null;
  live.stop();
  login(frame.main, enterSession);
}

async function leave() {
  await remove(path('session')).catch(() => {});
  askForToken();
}

/** A signed link shows its request without a session; any other address begins as usual. */
function linked() {
  const route = arrive();
  const is = route.view === 'answer' && route.name !== null;
  document.getElementById('app').classList.toggle('alone', is);
  if (is) {
    page.view?.gone?.();
    Object.assign(page, { view: null, key: '' });
    answerLink(frame.main, route.name);
  }
  return is;
}

async function boot() {
  if (linked()) return undefined;
  try {
    await enterSession();
  } catch (error) {
    if (error.status === 401) return askForToken();
    frame.lost(true, boot);
    frame.main.replaceChildren(failed(error, boot, true));
    setTimeout(() => page.session ?? boot(), 3000);
    return undefined;
  }
  frame.lost(false);
  return undefined;
}

onTrouble({
  refused: () => page.session && askForToken(),
  unreachable: () => {},
});

bind('Global', [
  { keys: '?', does: 'show this list', run: overlay },
  { keys: 'g t', does: 'tasks', run: () => go('tasks') },
  { keys: 'g i', does: 'instances', run: () => go('instances') },
  { keys: 'g a', does: 'approvals', run: () => go('approvals') },
  { keys: 'g c', does: 'channels', run: () => go('channels') },
  { keys: 'g h', does: 'charts', run: () => go('charts') },
  { keys: 'g p', does: 'agents', run: () => go('agents') },
  { keys: 'g r', does: 'triggers', run: () => go('triggers') },
  { keys: 'g u', does: 'usage', run: () => go('usage') },
  { keys: 'g d', does: 'audit', run: () => go('audit') },
  { keys: 'g s', does: 'settings', run: () => go('settings') },
  {
    keys: 'n',
    does: 'start a task or an instance',
    run: () => page.session && page.session.role !== 'read' && begin(),
  },
]);
listen();
// The address defines which view is shown, so the way to the content may not be one.
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  frame.main.focus();
});
addEventListener('hashchange', () => {
  if (linked()) return;
  if (page.session) show();
  else boot();
});
boot();
