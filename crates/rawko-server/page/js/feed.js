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

const SORTED_MAX = 2000;

/** Rows in another order than the store's: read as a whole, up to a limit, and sorted here. */
class SortedFeed extends Feed {
  constructor(query, by, changed) {
    super(query, changed);
    this.by = by;
  }

  async first() {
    await this.refresh();
  }

  async refresh() {
    let [rows, cursor, answer] = [[], null, null];
    do {
      answer = await get(path('instances'), { ...this.query, limit: 500, cursor }, { signal: this.abort.signal });
      rows = rows.concat(answer.instances);
      cursor = answer.next;
    } while (cursor && rows.length < SORTED_MAX);
    rows.sort(this.by);
    this.take({ ...answer, instances: rows, total: rows.length, next: null }, []);
    this.all = Math.max(answer.total, rows.length);
    this.hint = cursor ? `Sorted: the latest ${number(rows.length)} of ${number(this.all)}. Narrow the list by a filter or a search.` : '';
    this.ready = true;
    this.changed();
  }
}

const FOUND_MAX = 500;

/** Rows whose text has the words. */
class FoundFeed extends Feed {
  constructor(query, { q, by }, changed) {
    super(query, changed);
    Object.assign(this, { q, by });
  }

  async first() {
    await this.refresh();
  }

  async refresh() {
    const answer = await get(path('search'), { ...this.query, q: this.q, limit: FOUND_MAX }, { signal: this.abort.signal });
    const rows = answer.results;
    if (this.by) rows.sort(this.by);
    this.take({ instances: rows, total: rows.length, next: null }, []);
    const reason = rows.length >= FOUND_MAX ? `the latest ${number(FOUND_MAX)} results are shown` : 'the text of older instances was not searched';
    this.hint = answer.complete ? '' : `Not all results: ${reason}.`;
    this.ready = true;
    this.changed();
  }
}

/** The feed for what a person asks for. */
export function feedOf(query, { q, sort }, changed) {
  const by = ORDERS.find((order) => order.key === sort)?.by ?? null;
  if (q) return new FoundFeed(query, { q, by }, changed);
  return by ? new SortedFeed(query, by, changed) : new Feed(query, changed);
}
