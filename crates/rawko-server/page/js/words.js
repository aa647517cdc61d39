// The words for times, amounts and states. Apart, so that the same thing reads the same everywhere, in the words of the glossary.

const count = new Intl.NumberFormat('en-GB');
const clockTime = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const dayTime = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});
const whole = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

export const number = (value) => (value === null || value === undefined ? '–' : count.format(value));

export function plural(amount, one, many = `${one}s`) {
  return `${count.format(amount)} ${amount === 1 ? one : many}`;
}

/** `3m`, `2h 5m`, `4d`: a length of time in at most two units. */
export function duration(ms) {
  const value = Math.max(0, ms);
  if (value < 1000) return `${Math.round(value)}ms`;
  const seconds = Math.floor(value / 1000);
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${String(seconds % 60).padStart(2, '0')}s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours}h ${String(minutes % 60).padStart(2, '0')}m`;
  return `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

/** `now`, `12s`, `5m`, `3h`, `2d`: how old something is, in one unit, for lists. */
export function age(ms) {
  const seconds = Math.floor(Math.max(0, ms) / 1000);
  if (seconds < 5) return 'now';
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86400)}d`;
}

/** A time of day; with its day where that is not today. */
export function moment(ms) {
  if (!ms) return '–';
  const at = new Date(ms);
  return at.toDateString() === new Date().toDateString() ? clockTime.format(at) : dayTime.format(at);
}

export const fullMoment = (ms) => (ms ? whole.format(new Date(ms)) : '');

export function cost(usd) {
  if (usd === null || usd === undefined) return '–';
  if (usd === 0) return '$0';
  if (usd < 0.01) return '<$0.01';
  return `$${usd.toFixed(2)}`;
}

/** `850`, `12.4k`, `1.2M`: tokens, where the last digits tell nothing. */
export function compact(value) {
  if (value === null || value === undefined) return '–';
  if (value < 1000) return String(value);
  if (value < 1e6) return `${(value / 1e3).toFixed(value < 1e4 ? 1 : 0)}k`;
  return `${(value / 1e6).toFixed(1)}M`;
}

/** The status of an instance after an entry of its journal, which has that of the chart: `active`, `done`, `error`, `cancelled`. */
export function statusAfter(entry) {
  if (entry.status === 'error') return 'stalled';
  if (entry.status !== 'active') return 'ended';
  return { work: 'running', paused: 'paused' }[entry.waits_for] ?? 'waiting';
}

/** What an instance waits for, for a list. */
export function waiting(row) {
  if (row.status === 'stalled') return row.fault ? 'stopped' : 'a retry';
  if (row.status === 'paused') return 'a resume';
  if (row.status === 'ended') return '';
  const words = { person: 'a person', timer: 'a timer', event: 'an event', work: 'work', nothing: '' };
  return words[row.waits_for] ?? row.waits_for ?? '';
}

/** The kind of dot beside an instance: colour and shape go together, so that colour is never the only sign. */
export function tone(row) {
  if (row.status === 'ended')
    return { succeeded: 'done', failed: 'error' }[row.outcome] ?? row.outcome ?? 'ended';
  if (row.status === 'stalled') return 'stalled';
  if (row.status === 'paused') return 'paused';
  return row.waits_for === 'person' || row.waiting_for === 'person' ? 'person' : row.waits_for === 'work' ? 'work' : 'active';
}

export const TONES = {
  person: 'waiting for a person',
  work: 'running',
  active: 'waiting',
  paused: 'paused',
  stalled: 'stalled',
  ended: 'ended',
  done: 'succeeded',
  error: 'failed',
  cancelled: 'cancelled',
  limit: 'limit reached',
  loop: 'loop detected',
  stuck: 'stuck',
};

/** Active leaf states as a person reads them. */
export const states = (configuration) => (configuration ?? []).join(', ');

/** A value on one line, cut on a character boundary. */
export function brief(value, length = 80) {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null');
  const flat = text.replace(/\s+/g, ' ');
  const characters = Array.from(flat.slice(0, length * 2 + 2));
  return characters.length > length ? `${characters.slice(0, length).join('')}…` : flat;
}

/** What a person reads in place of an error. */
export function complaint(error) {
  const text = error?.message ?? String(error);
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');
}
