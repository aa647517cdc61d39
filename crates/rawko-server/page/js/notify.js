// Browser notifications about requests that wait for a person. Separate from the views: a request may come while any of
// them, or another tab, is open.
import { attributes, h, say } from './dom.js';
import { notice } from './notices.js';
import { plural } from './words.js';

const KEY = 'rawko.notify';
let before = null;

const possible = () => 'Notification' in window;
export const wanted = () => possible() && Notification.permission === 'granted' && localStorage.getItem(KEY) === 'true';

/** Notifies about new requests. The first count is the state at the start. */
export function counted(total) {
  const more = before !== null && total > before;
  before = total;
  if (!more || !wanted() || !document.hidden) return;
  const note = new Notification('rawko', { body: `${plural(total, 'request')} waiting for a person`, tag: 'rawko-requests' });
  note.addEventListener('click', () => {
    window.focus();
    location.hash = '#/approvals';
    note.close();
  });
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
