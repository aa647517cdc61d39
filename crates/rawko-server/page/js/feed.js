// Rows of instances as far as the reader scrolled, updated by events. Apart from the list that shows them.
import { get, path } from './api.js';
import { ORDERS } from './filters.js';
import { number, statusAfter } from './words.js';

const PAGE = 200;

/** Rows by cursor, in one order, as far as the reader scrolled. */
export class Feed {
  constructor(query, changed) {
    Object.assign(this, {
      query,
      changed,
      rows: [],
      places: new Map(),
      next: null,
      total: 0,
      /** Number of instances that match, of which `total` can be shown. */
      all: 0,
      /** Why the list does not have all of them. */
      hint: '',
      counts: null,
      ready: false,
      loading: false,
      wanted: 0,
    });
    this.abort = new AbortController();
  }

  async first() {
    const answer = await get(path('instances'), { ...this.query, limit: PAGE }, { signal: this.abort.signal });
    this.take(answer, []);
    this.ready = true;
    this.changed();
  }

  take(answer, before) {
    this.rows = before.concat(answer.instances);
    this.places = new Map(this.rows.map((row, index) => [row.id, index]));
    this.total = Math.max(answer.total ?? 0, this.rows.length);
    this.all = this.total;
    this.next = answer.next;
    this.counts = answer.counts ?? this.counts;
  }

  /** Reads on until row `to` is there. One request at a time: each cursor comes with the answer before. */
  async need(to) {
    this.wanted = Math.max(this.wanted, Math.min(to, this.total));
    if (this.loading) return;
    this.loading = true;
    try {
      while (this.next && this.rows.length < this.wanted) {
        const limit = this.wanted - this.rows.length > PAGE ? 500 : PAGE;
        const answer = await get(
          path('instances'),
          { ...this.query, limit, cursor: this.next },
          { signal: this.abort.signal },
        );
        this.take({ ...answer, instances: answer.instances.filter((row) => !this.places.has(row.id)) }, this.rows);
        this.changed();
      }
    } catch {
      // The rows stay empty; the connection's banner shows the reason, and `again` reads anew.
    } finally {
      this.loading = false;
    }
  }

  /** What is newest, read again; what was read below stays. */
  async refresh() {
    const limit = Math.min(500, Math.max(PAGE, this.rows.length));
    const answer = await get(path('instances'), { ...this.query, limit }, { signal: this.abort.signal });
    const fresh = new Set(answer.instances.map((row) => row.id));
    const keep = this.rows.length > limit ? this.rows.slice(limit).filter((row) => !fresh.has(row.id)) : [];
    const next = keep.length ? this.next : answer.next;
    this.take({ ...answer, instances: answer.instances.concat(keep), next }, []);
    this.ready = true;
    this.changed();
  }

  /** Something happened to an instance. Answers whether lists and counts may be others now; null: it is not in this one. */
  patch(event) {
    const row = this.rows[this.places.get(event.instance)];
    if (!row) return null;
    const { step, configuration, waits_for, updated_ms } = event;
    const status = statusAfter(event);
    const before = `${row.status} ${row.waits_for}`;
    Object.assign(row, { step, status, configuration, updated_ms }, waits_for ? { waits_for } : {});
    row.changed = performance.now();
    return before !== `${row.status} ${row.waits_for}`;
  }
}

/** Rows in another order than by age: one that changes may come to any place. */
class SortedFeed extends Feed {
  /** Everything that was read, read again. */
  async refresh() {
    const wanted = Math.max(PAGE, this.rows.length);
    let [rows, cursor, answer] = [[], null, null];
    do {
      const query = { ...this.query, limit: Math.min(500, wanted), cursor };
      answer = await get(path('instances'), query, { signal: this.abort.signal });
      const known = new Set(rows.map((row) => row.id));
      rows = rows.concat(answer.instances.filter((row) => !known.has(row.id)));
      cursor = answer.next;
    } while (cursor && rows.length < wanted);
    this.take({ ...answer, instances: rows }, []);
    this.ready = true;
    this.changed();
  }

  patch(event) {
    return super.patch(event) === null ? null : true;
  }
}

const FOUND_MAX = 500;

/** Rows whose text has the words. */
class FoundFeed extends Feed {
  constructor(query, q, changed) {
    super(query, changed);
    this.q = q;
  }

  async first() {
    await this.refresh();
  }

  async refresh() {
    const answer = await get(path('search'), { ...this.query, q: this.q, limit: FOUND_MAX }, { signal: this.abort.signal });
    const rows = answer.results;
    this.take({ instances: rows, total: rows.length, next: null }, []);
    const reason = rows.length >= FOUND_MAX ? `the first ${number(FOUND_MAX)} results are shown` : 'the text of older instances was not searched';
    this.hint = answer.complete ? '' : `Not all results: ${reason}.`;
    this.ready = true;
    this.changed();
  }
}

/** The feed for what a person asks for. */
export function feedOf(query, { q, sort }, changed) {
  const order = ORDERS.find((order) => order.key === sort)?.query;
  const asked = { ...query, ...order };
  if (q) return new FoundFeed(asked, q, changed);
  return order ? new SortedFeed(asked, changed) : new Feed(asked, changed);
}
