// An instance's journal as far as it was looked at: entries by step, in blocks, and what the instance was at a step. Apart from
// what shows them, so that a journal of a hundred thousand steps costs what is seen of it.
import { get, path } from './api.js';

const BLOCK = 100;
const BLOCKS_MAX = 60;
const STATES_MAX = 80;
const AT_ONCE = 2;

/** A step that could not be taken has the number of the next one that could, which must not hide it. */
function put(block, entry) {
  const { refusals: before = [], ...known } = block.get(entry.step) ?? {};
  const all = known.kind === 'refused' ? [...before, known] : before;
  const refusals = all.filter((refusal) => refusal.seq !== entry.seq);
  block.set(entry.step, refusals.length ? { ...entry, refusals } : entry);
}

export class Journal {
  /** @param {string} id @param {() => void} changed */
  constructor(id, changed) {
    Object.assign(this, {
      id,
      changed,
      first: 0,
      last: 0,
      wanted: [0, -1],
      later: [0, -1],
      problem: null,
      blocks: new Map(),
      asked: new Map(),
      states: new Map(),
      stories: new Map(),
    });
    this.abort = new AbortController();
  }

  destroy() {
    this.abort.abort();
  }

  /** A fork's journal begins with the step that it was forked from. */
  begin(first) {
    this.first = first;
  }

  /** How far the journal goes now. */
  grow(last) {
    if (last > this.last) this.last = last;
  }

  /** An entry that came by the stream. Its block is read again only if something before it is missing. */
  add(entry) {
    this.grow(entry.step);
    const at = Math.floor(entry.step / BLOCK);
    const block = this.blocks.get(at) ?? (entry.step % BLOCK === 0 ? new Map() : null);
    if (!block) return;
    put(block, entry);
    this.blocks.set(at, block);
  }

  /** @returns {any | null} the entry of a step if it is here */
  entry(step) {
    return this.blocks.get(Math.floor(step / BLOCK))?.get(step) ?? null;
  }

  /** Returns all entries that are here. */
  all() {
    return [...this.blocks.values()].flatMap((block) => [...block.values()]);
  }

  /** Loads the entries from `from` to `to`. Only the last requested range counts while the reader scrolls. */
  need(from, to) {
    this.wanted = [from, to];
    this.pump();
  }

  /** Loads all entries, after the requested ranges. */
  needAll() {
    this.later = [this.first, this.last];
    this.pump();
  }

  /**
   * Reads blocks, a few at a time, always those that are wanted now. Ends when one brings nothing: the view was closed, it failed,
   * or it is not there yet. Else it would ask for ever.
   */
  async pump() {
    while (this.asked.size < AT_ONCE) {
      const at = this.missing(this.wanted) ?? this.missing(this.later);
      if (at === null) return;
      const before = this.blocks.get(at)?.size ?? 0;
      await this.read(at);
      if (this.problem || this.abort.signal.aborted || (this.blocks.get(at)?.size ?? 0) <= before) return;
    }
  }

  /** The first block of a range that is not here and not on its way. */
  missing([from, to]) {
    const end = Math.floor(Math.min(to, this.last) / BLOCK);
    for (let at = Math.floor(Math.max(this.first, from) / BLOCK); at <= end; at += 1) {
      if (!this.whole(at) && !this.asked.has(at)) return at;
    }
    return null;
  }

  whole(at) {
    const wanted = Math.min(at * BLOCK + BLOCK - 1, this.last) - Math.max(at * BLOCK, this.first) + 1;
    return (this.blocks.get(at)?.size ?? 0) >= wanted;
  }

  async read(at) {
    if (this.asked.has(at)) return this.asked.get(at);
    const work = this.fetch(at).finally(() => this.asked.delete(at));
    this.asked.set(at, work);
    return work;
  }

  async fetch(at) {
    try {
      const answer = await get(
        path('instances', this.id, 'journal'),
        { from: at * BLOCK, limit: BLOCK, order: 'asc' },
        { signal: this.abort.signal },
      );
      this.problem = null;
      const block = this.blocks.get(at) ?? new Map();
      for (const entry of answer.entries) put(block, { ...entry, story: entry.story });
      this.blocks.set(at, block);
      this.grow(answer.last_step);
      this.forget();
      this.changed();
    } catch (error) {
      if (error.name !== 'AbortError') this.problem = error;
    }
  }

  /** Keeps the blocks that were read last. */
  forget() {
    for (const at of this.blocks.keys()) {
      if (this.blocks.size <= BLOCKS_MAX) return;
      this.blocks.delete(at);
    }
  }

  /** The entry of a step, read if need be. */
  async entryAt(step) {
    if (!this.entry(step)) await this.read(Math.floor(step / BLOCK));
    return this.entry(step);
  }

  /** What the instance was after a step. A past step never changes. */
  async stateAt(step, { signal } = {}) {
    if (!this.states.has(step)) {
      const state = await get(path('instances', this.id), { at: step }, { signal });
      this.states.set(step, state);
      if (this.states.size > STATES_MAX) this.states.delete(this.states.keys().next().value);
    }
    return this.states.get(step);
  }

  /** Why a step went as it did: which transitions were taken and why others were not. */
  async storyAt(step, { signal } = {}) {
    if (!this.stories.has(step)) {
      const answer = await get(
        path('instances', this.id, 'journal'),
        { from: step, limit: 1, order: 'asc', explain: 'true' },
        { signal },
      );
      const found = answer.entries.find((entry) => entry.step === step);
      this.stories.set(step, found?.story ?? []);
    }
    return this.stories.get(step);
  }
}
