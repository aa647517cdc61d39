// One request behind a signed link: seen and answered without a login, and nothing else. Separate from the approvals, which
// need a session.
import { get, path } from './api.js';
import { askCard } from './ask.js';
import { fill, h } from './dom.js';
import { empty } from './empty.js';
import { complaint, fullMoment } from './words.js';

export async function answerLink(root, code) {
  const address = path('requests', code);
  const done = () => empty({ title: 'Answered', lead: 'The request is answered; this page can be closed.', isPage: true });
  document.title = 'Request · rawko';
  try {
    const ask = await get(address);
    fill(
      root,
      h(
        'div',
        { class: 'scroll linked' },
        h('h1', null, 'A request waits for you'),
        h('p', { class: 'muted' }, `${ask.id} · ${ask.chart}`),
        askCard(ask, { may: { operate: true }, to: address, answered: () => fill(root, done()) }),
        h('p', { class: 'muted small-text' }, `This link answers this request only. It expires on ${fullMoment(ask.link_until_ms)}.`),
      ),
    );
  } catch (error) {
    const over = error.status === 409;
    fill(root, empty({ title: over ? 'Already answered' : 'This link does not work', lead: over ? 'The request was answered, or no longer waits.' : complaint(error), isPage: true }));
  }
}
