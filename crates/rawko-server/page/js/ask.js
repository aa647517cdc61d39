// What an instance asks a person: a card with the question, its form, and yes or no. Apart, because it stands both with its
// instance and among all approvals.
import { path, post } from './api.js';
import { countdown } from './clock.js';
import { h, fill } from './dom.js';
import { schemaForm, schemaOf } from './forms.js';
import { icon } from './icons.js';
import { notice } from './notices.js';
import { hunksOf, patch } from './patch.js';
import { inline, prose } from './prose.js';
import { href } from './route.js';
import { treeOf } from './tree.js';
import { complaint } from './words.js';

const KNOWN = ['title', 'prompt', 'message', 'form', 'schema', 'expires', 'approve', 'deny', 'fields', 'kind', 'options', 'command', 'runs', 'diff', 'tool', 'by', 'rule', 'always'];
let serial = 0;

/** A later request of the same name is another card: an answer counts for the request that was seen. */
export const askKey = (ask) => `${ask.id}/${ask.invoke}/${ask.since_ms}`;

/** @param {{id: string, invoke: string, input: any, expires_ms?: number}} ask */
export function askCard(ask, { may, origin = false, answered, to = null }) {
  const input = ask.input ?? {};
  const form = input.form ?? input.schema ?? input.fields ?? null;
  const fields = form ? schemaForm(schemaOf(form)) : null;
  const comment = h('input', {
    class: 'input',
    type: 'text',
    placeholder: 'Comment (optional)',
    'aria-label': 'Comment',
  });
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
  const id = `ask-${++serial}`;
  const words = form
    ? { yes: input.approve ?? 'Submit', no: input.deny ?? 'Decline' }
    : { yes: input.approve ?? 'Approve', no: input.deny ?? 'Deny' };

  async function answer(approved, button, always = false) {
    problem.hidden = true;
    try {
      const body = to ? { approved } : { invoke: ask.invoke, since_ms: ask.since_ms, approved };
      if (comment.value.trim()) body.comment = comment.value.trim();
      if (approved && fields) body.data = fields.read();
      if (always) body.always = true;
      for (const one of buttons) one.disabled = true;
      await post(to ?? path('instances', ask.id, 'answer'), body);
      if (always) notice(`Added to your settings: ${rules.join(', ')}.`);
      notice(approved ? `Answered: ${words.yes.toLowerCase()}.` : `Answered: ${words.no.toLowerCase()}.`);
      answered?.(ask);
    } catch (error) {
      fill(problem, icon('error'), h('span', null, complaint(error)));
      problem.hidden = false;
      for (const one of buttons) one.disabled = false;
      button.focus();
    }
  }
  const yes = h(
    'button',
    { class: 'button primary', type: 'button', on: { click: () => answer(true, yes) } },
    icon('check'),
    words.yes,
  );
  const no = h(
    'button',
    { class: 'button', type: 'button', on: { click: () => answer(false, no) } },
    icon('close'),
    words.no,
  );
  const rules = Array.isArray(input.always) ? input.always.filter((it) => typeof it === 'string') : [];
  // A rule is added to the settings of the user that runs the server; a link to one request cannot.
  const remember =
    rules.length && may.admin && !to
      ? h('button', { class: 'button', type: 'button', title: `Adds ${rules.join(', ')} to permissions.allow of your settings`, on: { click: () => answer(true, remember, true) } }, icon('check'), 'Always allow')
      : null;
  const buttons = [yes, remember, no].filter(Boolean);
  const options = optionsOf(input, (text) => {
    if (fields) fields.element.querySelector('input, textarea').value = text;
    else comment.value = text;
    answer(true, yes);
  });

  return h(
    'article',
    { class: 'card ask', 'aria-labelledby': id },
    h(
      'header',
      { class: 'ask-head' },
      h('span', { class: 'ask-icon', 'aria-hidden': 'true' }, icon('approvals', 18)),
      h(origin ? 'h3' : 'h2', { id, class: 'ask-title' }, inline(String(input.title ?? input.prompt ?? input.message ?? `${ask.invoke}: answer required`))),
      expiry(ask),
    ),
    origin
      ? h(
          'p',
          { class: 'ask-origin' },
          h('a', { href: href('instances', ask.id) }, ask.id),
          ask.chart ? h('span', { class: 'muted' }, ` · ${ask.chart}`) : null,
          h('span', { class: 'muted' }, ` · ${ask.invoke}`),
        )
      : null,
    text(input),
    subject(input),
    rest(input),
    may.operate ? options : null,
    may.operate
      ? [fields?.element, comment, problem, h('div', { class: 'row ask-actions' }, buttons)]
      : h('p', { class: 'muted' }, 'Your token is read-only; answering requires the role operate.'),
  );
}

const expiry = (ask) =>
  ask.expires_ms
    ? h(
        'span',
        { class: 'ask-expiry' },
        icon('clock', 14),
        h('span', { class: 'hidden-visually' }, 'expires in '),
        countdown(ask.expires_ms),
      )
    : null;

function text(input) {
  const parts = [input.prompt, input.message].filter(
    (it) => typeof it === 'string' && it !== (input.title ?? input.prompt ?? input.message),
  );
  return parts.length ? parts.map(prose) : null;
}

/** What a call would do: the line that runs, or the lines that change. */
function subject(input) {
  const line = typeof input.runs === 'string' ? input.runs : input.command;
  const diff = typeof input.diff === 'string' && input.diff ? lines(input.diff) : null;
  return [
    typeof line === 'string' && line ? h('pre', { class: 'ask-command', tabindex: 0 }, line) : null,
    diff ? patch(diff, { label: 'Change' }) : null,
  ];
}

/** A diff with or without hunk headers. */
function lines(diff) {
  const hunks = hunksOf(diff);
  if (hunks.length) return hunks;
  const kinds = { '+': 'new', '-': 'gone' };
  const line = (text) => ({ kind: kinds[text[0]] ?? 'kept', text: text.slice(1), before: null, after: null });
  return [{ head: '', lines: diff.split('\n').filter(Boolean).map(line) }];
}

/** Suggested answers of a question. */
function optionsOf(input, chosen) {
  if (!Array.isArray(input.options) || !input.options.length) return null;
  const words = (it) => (typeof it === 'string' ? it : (it?.label ?? it?.title ?? JSON.stringify(it)));
  const button = (it) => h('button', { class: 'button', type: 'button', on: { click: () => chosen(words(it)) } }, words(it));
  return h('div', { class: 'row ask-options', role: 'group', 'aria-label': 'Suggested answers' }, input.options.map(button));
}

/** The other keys of the request: what the decision is about. */
function rest(input) {
  const others = Object.fromEntries(
    Object.entries(input).filter(([key, value]) => !KNOWN.includes(key) && value !== null),
  );
  return Object.keys(others).length ? h('div', { class: 'ask-facts' }, treeOf(others, 'Details')) : null;
}
