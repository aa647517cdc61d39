// The items of a fan-out: a grid with one cell for each, its details, and the retry of one. Apart from the present of an instance,
// because the simulator shows items, too.
import { path, post } from './api.js';
import { tell } from './dialog.js';
import { h, keyed, say } from './dom.js';
import { icon } from './icons.js';
import { doing, notice } from './notices.js';
import { href } from './route.js';
import { brief } from './words.js';

const ITEM_WORDS = { done: 'done', running: 'running', error: 'failed', stopped: 'stopped', waiting: 'waiting' };

/** Starts one failed item again. The others are not repeated. */
async function retryItem(id, item) {
  await post(path('instances', id, 'items', item, 'retry'));
  notice(`Retrying ${item}.`);
}

export function eachGrid(it) {
  return h('div', null, h('p', { class: 'muted' }), h('ul', { class: 'items', 'aria-label': `Items of ${it.invoke}` }));
}

/** `live`: the instance whose items can be retried by this person; null where they are only shown. */
export function updateEach(element, it, live = null) {
  const [words, grid] = element.children;
  const counts = ['done', 'running', 'error', 'stopped', 'waiting'].filter((word) => it[word]);
  say(words, `${it.invoke}: ${counts.map((word) => `${it[word]} ${ITEM_WORDS[word]}`).join(', ')} of ${it.total}`);
  const made = (item) => itemCell(item, live);
  keyed(grid, it.items, (item) => `${item.id}/${item.child ?? ''}/${item.status === 'error'}`, made, updateItem);
}

/** A running item with an instance of its own leads to it; every other one shows what it has. */
function itemCell(item, live) {
  if (item.child && item.status !== 'error') {
    return h('li', null, h('a', { href: href('instances', item.child) }));
  }
  const cell = h('button', { type: 'button', on: { click: () => itemDetails(cell.item, live) } });
  return h('li', null, cell);
}

function updateItem(element, item) {
  const cell = element.firstElementChild;
  cell.item = item;
  cell.dataset.status = item.status;
  const more = item.error?.message ?? (item.data === undefined ? '' : brief(item.data, 200));
  cell.title = `${item.id} ${ITEM_WORDS[item.status]}: ${brief(item.item, 200)}${more ? ` → ${more}` : ''}`;
  cell.setAttribute('aria-label', `${item.id} ${ITEM_WORDS[item.status]}`);
  say(cell, String(item.index));
}

function itemDetails(item, live) {
  const value = (title, data) =>
    data === undefined ? null : [h('h3', null, title), h('pre', { class: 'code' }, JSON.stringify(data, null, 2))];
  const again = h(
    'button',
    {
      class: 'button',
      type: 'button',
      on: {
        click: () =>
          doing(again, async () => {
            await retryItem(live, item.id);
            dialog.close();
          }),
      },
    },
    icon('retry'),
    'Retry this item',
  );
  const dialog = tell({
    title: `${item.id}: ${ITEM_WORDS[item.status]}`,
    body: [
      value('Item', item.item),
      value('Result', item.data),
      value('Error', item.error),
      h(
        'p',
        { class: 'event-buttons' },
        item.child
          ? h('a', { class: 'button', href: href('instances', item.child), on: { click: () => dialog.close() } }, 'Open')
          : null,
        live && item.status === 'error' ? again : null,
      ),
    ],
  });
}
