// Messages and actions of agents, as they stream: text, tool calls with their results, decisions. Apart from the journal, which knows
// steps but no conversation.
import { get, path } from './api.js';
import { calmly, h } from './dom.js';
import { icon } from './icons.js';
import { doing } from './notices.js';
import { prose } from './prose.js';
import { arranged, face, stateOf, turnOf } from './turns.js';

export class Transcript {
  constructor(id) {
    this.id = id;
    this.turns = h('ol', { class: 'turns', role: 'list' });
    this.streaming = h('div', { class: 'streaming', 'aria-live': 'off' });
    this.earlier = h(
      'button',
      {
        class: 'button quiet small',
        type: 'button',
        hidden: true,
        on: { click: () => doing(this.earlier, () => this.older()) },
      },
      'Earlier',
    );
    this.nothing = h('p', { class: 'muted pad', hidden: true }, 'No transcript: no agent has run in this instance.');
    this.element = h('div', { class: 'transcript' }, this.earlier, this.turns, this.streaming, this.nothing);
    Object.assign(this, { next: null, all: [], isBack: false, status: 'running', pieces: new Map(), ended: [], last: '', reading: null, fresh: false });
  }

  /** The status of the instance: it decides how a call without a result is shown. */
  of(status) {
    if (this.status === status) return;
    this.status = status;
    if (this.all.length) this.put();
  }

  /** Reads the last messages. If called while it reads, it reads once more. */
  async read() {
    if (this.reading) {
      this.fresh = true;
      return this.reading;
    }
    this.reading = this.fetch().finally(() => {
      this.reading = null;
      if (this.fresh) {
        this.fresh = false;
        this.read();
      }
    });
    return this.reading;
  }

  async fetch() {
    // What ends while this is read may not be in it yet.
    const ended = this.ended.splice(0);
    const { turns, next } = await get(path('instances', this.id, 'transcript'), { limit: 200 }).catch(() => ({
      turns: null,
      next: null,
    }));
    if (!turns) return void this.ended.push(...ended);
    const stays = this.pinned();
    const text = JSON.stringify(turns);
    if (text !== this.last) {
      this.last = text;
      this.take(turns);
    }
    // What has arrived as a whole is not streaming any more.
    ended.forEach((element) => element.remove());
    // A reader who went further back continues there.
    if (!this.isBack) this.next = next;
    this.earlier.hidden = !this.next;
    this.nothing.hidden = turns.length > 0 || this.pieces.size > 0;
    if (stays) this.scroll();
  }

  /** The read window is the end, which moves: a reader who went further back keeps what leaves it, or there would be a gap. */
  take(turns) {
    const first = turns[0]?.seq ?? Infinity;
    const last = this.all.at(-1)?.seq ?? -Infinity;
    // More arrived meanwhile than the window holds: start anew.
    if (last < first) this.isBack = false;
    const arrives = this.all.length > 0;
    // Turns of one record are on the same page.
    const kept = this.isBack ? this.all.filter((turn) => turn.seq < first) : [];
    this.all = kept.concat(turns);
    this.put(arrives);
  }

  /** Arranges everything that was read, so that a result finds its call on an earlier page. Builds new turns only; opened ones
   *  stay open. */
  put(arrives = false) {
    const keys = new Map([...this.turns.children].map((child) => [child.dataset.key, child]));
    const counts = new Map();
    const items = arranged(this.all, this.status).map((turn) => {
      const place = (counts.get(turn.seq) ?? 0) + 1;
      counts.set(turn.seq, place);
      const key = `${turn.seq}/${place}`;
      const before = keys.get(key);
      const same = before?.dataset.state === stateOf(turn);
      const there = same ? before : turnOf(turn);
      there.dataset.key = key;
      there.dataset.state = stateOf(turn);
      if (before && !same) keepOpen(before, there);
      if (arrives && !before && !calmly()) there.classList.add('arrived');
      return there;
    });
    this.turns.replaceChildren(...items);
  }

  async older() {
    const { turns, next } = await get(path('instances', this.id, 'transcript'), { limit: 200, before: this.next });
    const first = this.all[0]?.seq ?? Infinity;
    this.all = turns.filter((turn) => turn.seq < first).concat(this.all);
    Object.assign(this, { isBack: true, next });
    const box = this.scroller();
    const [top, height] = [box?.scrollTop, box?.scrollHeight];
    this.put();
    this.earlier.hidden = !next;
    // What was read stays in sight.
    if (box) box.scrollTop = top + box.scrollHeight - height;
  }

  /** Shows one progress event of a running call. */
  progress({ instance, agent, invoke, name, class: kind, data }) {
    const key = `${instance}/${invoke}`;
    const stays = this.pinned();
    const piece = this.pieces.get(key) ?? this.begin(key, agent ?? (kind === 'arbiter' ? 'arbiter' : name));
    if (data.type === 'text_delta') {
      piece.text += data.text ?? data.delta ?? '';
      // A structured answer is for programs; the finished turn shows it as text.
      if (!piece.text.trimStart().startsWith('{')) piece.words.replaceChildren(prose(piece.text));
    } else if (data.type === 'tool_use_start')
      piece.tools.append(
        h('div', { class: 'tool-line' }, icon('tool', 14), h('span', null, `calls ${data.name ?? 'a tool'}`)),
      );
    else if (data.type === 'so_far') this.soFar(piece, data);
    else if (data.type === 'tool_result') piece.tools.lastElementChild?.classList.add('done');
    this.nothing.hidden = true;
    if (stays) this.scroll();
  }

  /** Everything that a call streamed before this page was opened. */
  soFar(piece, { text }) {
    piece.text = String(text ?? '');
    if (!piece.text.trimStart().startsWith('{')) piece.words.replaceChildren(prose(piece.text));
  }

  begin(key, agent) {
    const words = h('div', { class: 'turn-words' });
    const tools = h('div');
    const element = h(
      'div',
      { class: 'turn live' },
      face(agent),
      h(
        'div',
        { class: 'turn-body' },
        h(
          'div',
          { class: 'turn-head' },
          h('strong', null, agent),
          h('span', { class: 'typing', 'aria-label': 'running' }, h('i'), h('i'), h('i')),
        ),
        words,
        tools,
      ),
    );
    const piece = { element, words, tools, text: '' };
    this.pieces.set(key, piece);
    this.streaming.append(element);
    return piece;
  }

  /** A step was taken: what streamed for its answer is in the transcript now; what it stopped, and an instance that is over,
   *  streams no more. */
  stepped({ instance, event, effects, status }) {
    const isOver = status !== 'active';
    const stopped = (effects ?? []).filter((it) => it.type === 'stopped').map((it) => it.invoke);
    const ended = new Set([event?.invoke, ...stopped].map((invoke) => `${instance}/${invoke}`));
    for (const [key, piece] of this.pieces) {
      if (!ended.has(key) && !(isOver && key.startsWith(`${instance}/`))) continue;
      this.pieces.delete(key);
      this.ended.push(piece.element);
    }
    this.read();
  }

  scroller() {
    return this.element.closest('.panel-body, .talk-scroll') ?? this.element.parentElement;
  }

  pinned() {
    const box = this.scroller();
    return !box || box.scrollHeight - box.scrollTop - box.clientHeight < 60;
  }

  scroll() {
    const box = this.scroller();
    if (box) box.scrollTop = box.scrollHeight;
  }
}

/** An element that is built again stays open if a person opened it. */
function keepOpen(before, after) {
  const [was, is] = [before.querySelector('details'), after.querySelector('details')];
  if (was && is) is.open = is.open || was.open;
}
