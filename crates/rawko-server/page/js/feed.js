// Rows of instances as far as the reader scrolled, updated by events. Apart from the list that shows them.
import { get, path } from './api.js';
import { ORDERS } from './filters.js';
import { statusAfter } from './words.js';

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
    this.ready = true;
    this.changed();
  }
}

/** Rows whose text has the words. */
class FoundFeed extends Feed {
  constructor(query, { q, by, keeps }, changed) {
    super(query, changed);
    Object.assign(this, { q, by, keeps });
  }

  async first() {
    await this.refresh();
  }

  async refresh() {
    const { chart, except, children } = this.query;
    const answer = await get(path('search'), { q: this.q, chart, except, children, limit: 500 }, { signal: this.abort.signal });
    const rows = answer.results.filter(this.keeps);
    if (this.by) rows.sort(this.by);
    this.take({ instances: rows, total: rows.length, next: null }, []);
    this.ready = true;
    this.changed();
  }
}

/** The feed for what a person asks for. */
export function feedOf(query, { q, sort }, changed) {
  const by = ORDERS.find((order) => order.key === sort)?.by ?? null;
  const has = (wanted, value) => !wanted || [wanted].flat().includes(value);
  const keeps = (row) => has(query.status, row.status) && has(query.outcome, row.outcome) && has(query.waits, row.waits_for);
  if (q) return new FoundFeed(query, { q, by, keeps }, changed);
  return by ? new SortedFeed(query, by, changed) : new Feed(query, changed);
}
