// Browser notifications about requests that wait for a person. Separate from the views: a request may come while any of
// them, or another tab, is open.
import { askKey } from './ask.js';
import { attributes, h, say } from './dom.js';
import { notice } from './notices.js';
import { plural } from './words.js';

const KEY = 'rawko.notify';
/** Requests read for notifications. */
export const READ = 100;
let before = null;

const possible = () => 'Notification' in window;
export const wanted = () => possible() && Notification.permission === 'granted' && localStorage.getItem(KEY) === 'true';

/** Notifies about requests that were not there before. The first ones are the state at the start. */
export function noticed(asks, total) {
  if (!wanted()) return void (before = null);
  const [known, latest] = [before, Math.max(0, ...(before?.values() ?? []))];
  before = new Map(asks.map((ask) => [askKey(ask), ask.since_ms]));
  // With more requests than were read, an older one may take the place of one that was answered.
  const isNew = (ask) => !known.has(askKey(ask)) && (total <= READ || ask.since_ms >= latest);
  if (!known || !document.hidden || !asks.some(isNew)) return undefined;
  const note = new Notification('rawko', { body: `${plural(total, 'request')} waiting for a person`, tag: 'rawko-requests', renotify: true });
  note.addEventListener('click', () => {
    window.focus();
    location.hash = '#/approvals';
    note.close();
  });
  return undefined;
}

/** A button that turns notifications on and off, if the browser has them. */
export function notifyButton() {
  const word = h('span');
  const button = h('button', { class: 'button', type: 'button', hidden: !possible() }, word);
  const show = () => {
    say(word, wanted() ? 'Notifications on' : 'Notify me');
    attributes(button, { 'aria-pressed': String(wanted()), title: 'Browser notifications while this page is in the background' });
  };
  button.addEventListener('click', async () => {
    if (wanted()) localStorage.setItem(KEY, 'false');
    else {
      const answer = await Notification.requestPermission();
      localStorage.setItem(KEY, String(answer === 'granted'));
      if (answer !== 'granted') notice('The browser does not allow notifications for this page.', { tone: 'plain' });
    }
    show();
  });
  show();
  return button;
}
