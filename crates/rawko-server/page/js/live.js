// The stream of what happens: one connection a page, re-made by itself and resumed where it broke. Apart, because a browser
// allows six connections to a server, and because only one place may know what was heard last.
import { withQuery } from './api.js';

const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 5000;
/** A hidden page lets go of its connection after a while: many tabs would use up the browser's six. */
const HIDDEN_MS = 20_000;
/** The server sends something every 15 s; a connection that is silent for longer is dead. */
const SILENT_MS = 45_000;

/** @typedef {{instance?: string}} Interest */

export class Live {
  /** @param {{state: (state: 'live'|'connecting'|'lost'|'idle') => void, event: (type: string, data: any) => void, again: () => void}} hears */
  constructor(hears) {
    this.hears = hears;
    /** @type {Interest | null} */
    this.interest = null;
    this.source = null;
    this.seq = null;
    this.wait = FIRST_WAIT_MS;
    this.broken = false;
    this.timers = { retry: 0, hidden: 0, silence: 0 };
    document.addEventListener('visibilitychange', () => this.seen());
    addEventListener('online', () => this.retryNow());
  }

  /** What the page is about now. Another interest is another connection. */
  follow(interest) {
    const same = this.interest && JSON.stringify(this.interest) === JSON.stringify(interest);
    this.interest = interest;
    if (same && this.source) return;
    // What another interest missed is of no interest: a view reads what it needs when it hears `again`.
    if (!same) this.seq = null;
    this.connect();
  }

  stop() {
    this.interest = null;
    this.close();
    this.hears.state('idle');
  }

  retryNow() {
    if (this.interest && !this.source) this.connect();
  }

  close() {
    for (const name of Object.keys(this.timers)) clearTimeout(this.timers[name]);
    this.source?.close();
    this.source = null;
  }

  connect() {
    this.close();
    if (!this.interest) return;
    if (!this.broken) this.hears.state('connecting');
    const { instance } = this.interest;
    const query = { instance, children: instance ? 'true' : null, after: this.seq };
    const source = new EventSource(withQuery('/v1/stream', query));
    this.source = source;
    source.addEventListener('error', () => this.lost(source));
    for (const type of ['hello', 'step', 'progress', 'channel']) {
      source.addEventListener(type, (event) => this.source === source && this.heard(type, event));
    }
    this.alive();
  }

  heard(type, event) {
    this.alive();
    let data;
    try {
      data = JSON.parse(event.data);
    } catch {
      return;
    }
    if (type === 'hello') this.welcome(data);
    else {
      const seq = Number(event.lastEventId);
      if (event.lastEventId && Number.isFinite(seq)) this.seq = Math.max(this.seq ?? 0, seq);
      this.hears.event(type, data);
    }
  }

  /** A server whose journal ends before what we heard is another one: nothing that is shown is sure any more. */
  welcome({ seq }) {
    const other = this.seq !== null && typeof seq === 'number' && seq < this.seq;
    if (this.seq === null || other) this.seq = seq ?? null;
    this.broken = false;
    this.wait = FIRST_WAIT_MS;
    this.hears.state('live');
    // Data read before the stream began may be old by now.
    this.hears.again();
  }

  lost(source) {
    if (this.source !== source) return;
    this.close();
    this.broken = true;
    this.hears.state('lost');
    this.timers.retry = setTimeout(() => this.connect(), this.wait);
    this.wait = Math.min(LONGEST_WAIT_MS, this.wait * 1.6);
  }

  alive() {
    clearTimeout(this.timers.silence);
    const source = this.source;
    // Comment lines keep the connection open but are not events: ask before giving up.
    this.timers.silence = setTimeout(() => this.stillThere(source), SILENT_MS);
  }

  async stillThere(source) {
    const answer = await fetch('/v1/health', { cache: 'no-store' }).catch(() => null);
    if (this.source !== source) return;
    if (answer && source.readyState === EventSource.OPEN) this.alive();
    else this.lost(source);
  }

  seen() {
    clearTimeout(this.timers.hidden);
    if (document.hidden) {
      this.timers.hidden = setTimeout(() => {
        this.close();
        this.broken = true;
      }, HIDDEN_MS);
    } else this.retryNow();
  }
}
