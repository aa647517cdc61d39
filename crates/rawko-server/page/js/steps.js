// The journal as a list: every step with what happened and where it led, as far as one scrolls. Apart from the timeline, which is
// the same thing as a line.
import { fill, h, say } from './dom.js';
import { markOf } from './timeline.js';
import { VirtualList } from './virtual.js';
import { fullMoment, moment, number, plural, states } from './words.js';

export class Steps {
  /** @param {{journal: import('./journal.js').Journal, chosen: (step: number) => void}} world */
  constructor({ journal, chosen }) {
    this.journal = journal;
    this.list = new VirtualList({
      height: 34,
      label: 'Steps',
      render: (index, row) => this.render(index + journal.first, row),
      need: (from, to) => journal.need(from + journal.first, to + journal.first),
      pick: (index) => chosen(index + journal.first),
    });
    this.list.options.moved = (index) => chosen(index + journal.first);
    this.element = h('div', { class: 'steps' }, this.list.element);
  }

  destroy() {
    this.list.destroy();
  }

  changed() {
    const total = this.journal.last - this.journal.first + 1;
    if (this.list.total !== total) this.list.setTotal(total);
    else this.list.soon();
  }

  choose(step) {
    this.changed();
    const index = step - this.journal.first;
    if (this.list.chosen !== index) this.list.choose(index);
  }

  render(step, row) {
    row.parts ??= parts(row);
    row.parts(step, this.journal.entry(step));
  }
}

function parts(row) {
  const mark = h('span', { class: 'step-mark', 'aria-hidden': 'true' });
  const index = h('span', { class: 'step-number number' });
  const title = h('span', { class: 'step-title' });
  const where = h('span', { class: 'step-where' });
  const time = h('span', { class: 'step-time number' });
  row.append(mark, index, title, where, time);
  return (step, entry) => {
    say(index, number(step));
    row.classList.toggle('loading', !entry);
    if (!entry) return void fill(title, '');
    mark.dataset.mark = markOf(entry);
    say(title, entry.title ?? entry.kind);
    title.title = title.textContent;
    const led =
      entry.kind === 'ignored' ? 'ignored' : entry.kind === 'refused' ? 'refused' : states(entry.configuration);
    const troubles = (entry.faults?.length ?? 0) + (entry.refusals?.length ?? 0);
    say(where, troubles ? `${led} · ${plural(troubles, 'fault')}` : led);
    where.title = where.textContent;
    say(time, moment(entry.at_ms));
    time.title = fullMoment(entry.at_ms);
  };
}
