// The stub of one service in a simulation: a result or an error, after a while. Separate from the simulator, because it is a
// question of its own.
import { ask, field } from './dialog.js';
import { h } from './dom.js';
import { jsonInput } from './forms.js';
import { brief } from './words.js';

/** A stub in words. */
export function stubWords(stub) {
  if (!stub) return 'waits for an answer';
  if (Array.isArray(stub)) return `${stub.length} answers in turn`;
  const result = stub.error === undefined ? `returns ${brief(stub.done ?? null, 60)}` : `fails with ${brief(stub.error, 60)}`;
  return `${result}${stub.after ? ` after ${typeof stub.after === 'number' ? `${stub.after}ms` : stub.after}` : ''}`;
}

/** Asks for the stub of an invoke. @param {(stub: any | null) => Promise<void>} apply null takes it away */
export function editStub({ id, src, stub }, apply) {
  const one = Array.isArray(stub) ? stub[0] : stub;
  const kinds = [
    ['done', 'Returns a result'],
    ['error', 'Fails'],
    ['none', 'Waits: I answer it'],
  ];
  const kind = h('select', { class: 'input' }, kinds.map(([value, words]) => h('option', { value }, words)));
  kind.value = one ? (one.error === undefined ? 'done' : 'error') : 'done';
  const after = h('input', { class: 'input code', type: 'text', placeholder: '2s', value: one?.after === undefined ? '' : String(one.after) });
  const given = one ? (one.error ?? one.done) : undefined;
  const data = jsonInput({ label: 'Value', value: given === undefined ? '' : JSON.stringify(given, null, 2), placeholder: '{"receipt": "r-1"}' });
  ask({
    title: `Stub of ${id}`,
    lead: `How the simulation answers the service ${src}.`,
    act: 'Apply',
    body: [field('Answer', kind), field('Value', data.control, 'JSON; what the service returns, or its error'), data.trouble, field('After', after, 'A time such as 50ms or 2s (optional)')],
    async work() {
      if (kind.value === 'none') return apply(null);
      const value = data.read();
      const made = kind.value === 'done' ? { done: value ?? null } : { error: value ?? { message: 'failed' } };
      const delay = after.value.trim();
      if (delay) made.after = /^\d+$/.test(delay) ? Number(delay) : delay;
      return apply(made);
    },
  });
}
