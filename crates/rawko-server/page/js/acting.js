// What a person does to an instance: send, cancel, retry, pause, resume, fork. Apart from the view, so that each question is read as a whole.
import { path, post } from './api.js';
import { h, say } from './dom.js';
import { ask, field } from './dialog.js';
import { jsonInput } from './forms.js';
import { notice } from './notices.js';
import { go, href } from './route.js';

/** Sends an event. Those it takes now are suggested; any other may be typed. */
export function sendEvent(id, events, chosen = null) {
  const type = h('input', {
    class: 'input code',
    type: 'text',
    list: 'offered-events',
    autocomplete: 'off',
    spellcheck: 'false',
    required: true,
  });
  type.value = chosen ?? '';
  const data = jsonInput({ label: 'Data', placeholder: '{"amount": 3}' });
  const state = h('small', { class: 'hint', role: 'status' });
  const tell = () =>
    say(
      state,
      !type.value || events.includes(type.value)
        ? ''
        : `No transition accepts ${type.value} in the current state; it would be ignored.`,
    );
  type.addEventListener('input', tell);
  ask({
    title: chosen ? `Send ${chosen}` : 'Send an event',
    act: 'Send',
    body: [
      field('Event', type),
      state,
      h(
        'datalist',
        { id: 'offered-events' },
        events.map((name) => h('option', { value: name })),
      ),
      field('Data', data.control, 'JSON (optional)'),
      data.trouble,
    ],
    async work() {
      if (!type.value.trim()) throw new Error('the event type is required');
      const body = { type: type.value.trim() };
      const given = data.read();
      if (given !== undefined) body.data = given;
      await deliver(id, body);
    },
  });
}

export async function deliver(id, event) {
  const receipt = await post(path('instances', id, 'events'), event);
  if (receipt?.queued) notice(`${event.type} is stored; it is applied when the instance is resumed.`, { tone: 'plain' });
  else if (receipt?.handled === false) notice(`${event.type} was ignored: no transition accepts it now.`, { tone: 'plain' });
  else notice(`Sent ${event.type}.`);
}

export function cancel(id) {
  const reason = h('input', { class: 'input', type: 'text' });
  ask({
    title: 'Cancel this instance?',
    lead: 'Exit actions run; timers and running work stop. The journal is kept, and the instance can be forked from any step.',
    act: 'Cancel instance',
    tone: 'danger',
    body: [field('Reason', reason, 'Recorded in the journal (optional)')],
    async work() {
      await post(path('instances', id, 'cancel'), reason.value.trim() ? { reason: reason.value.trim() } : {});
      notice(`Cancelled ${id}.`);
    },
  });
}

/** Stops the instance and its descendants until it is resumed. */
export async function pause(id) {
  const receipt = await post(path('instances', id, 'pause'));
  notice(receipt?.handled === false ? `${id} is already paused.` : `Paused ${id}.`);
}

export async function resume(id) {
  await post(path('instances', id, 'resume'));
  notice(`Resumed ${id}.`);
}

export async function retry(id) {
  await post(path('instances', id, 'retry'));
  notice('Retrying the failed call.');
}

/** Forks from a step; values of the context may be others. */
export function fork(id, step, context, view = 'instances') {
  const name = h('input', {
    class: 'input code',
    type: 'text',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'generated if empty',
  });
  const from = h('input', { class: 'input', type: 'number', min: 0, value: String(step) });
  const rows = h('div', { class: 'edits' });
  const edits = new Map();
  const pick = h(
    'select',
    { class: 'input', 'aria-label': 'Value to change' },
    h('option', { value: '' }, 'Change a value…'),
    Object.keys(context ?? {}).map((key) => h('option', { value: key }, key)),
  );
  pick.addEventListener('change', () => {
    if (pick.value && !edits.has(pick.value)) edit(pick.value);
    pick.value = '';
  });
  function edit(key) {
    const input = h('textarea', {
      class: 'input code',
      rows: 2,
      spellcheck: 'false',
      'aria-label': `${key} (expression)`,
      value: JSON.stringify(context[key] ?? null, null, 2),
    });
    const row = h(
      'div',
      { class: 'edit' },
      h(
        'div',
        { class: 'edit-head' },
        h('code', null, key),
        h(
          'button',
          {
            class: 'button quiet small',
            type: 'button',
            on: {
              click: () => {
                edits.delete(key);
                row.remove();
                pick.focus();
              },
            },
          },
          'Keep the value',
        ),
      ),
      input,
    );
    edits.set(key, input);
    rows.append(row);
    input.focus();
  }
  ask({
    title: 'Fork',
    lead: 'Creates a new instance that continues from a step of this one. This instance is not changed.',
    act: 'Fork',
    wide: true,
    body: [
      field('New instance id', name),
      field('From step', from, 'Its files are those of the step, in a worktree of its own if they changed since'),
      h(
        'div',
        { class: 'field' },
        h('span', { class: 'label' }, 'Context'),
        rows,
        pick,
        h('small', { class: 'hint' }, 'JSON or an expression, for example context.amount - 50'),
      ),
    ],
    async work() {
      const body = { at: Math.trunc(Number(from.value)) };
      if (name.value.trim()) body.id = name.value.trim();
      const set = {};
      for (const [key, input] of edits) set[key] = input.value.trim() || 'null';
      if (edits.size) body.set = set;
      const receipt = await post(path('instances', id, 'fork'), body);
      notice(`Forked into ${receipt.instance}.`, { link: h('a', { href: href(view, id, view === 'instances' ? { step } : {}) }, 'back') });
      go(view, receipt.instance);
    },
  });
}
