// Turns of a conversation as elements: words, calls with their results and diffs, decisions, plans. Separate from the
// transcript, which reads and streams them.
import { h } from './dom.js';
import { icon } from './icons.js';
import { hunksBetween, patch } from './patch.js';
import { withoutStyles } from './printable.js';
import { prose } from './prose.js';
import { treeOf } from './tree.js';
import { href } from './route.js';
import { brief, compact, cost, moment } from './words.js';

/** Diffs of at most this many lines are open. */
const OPEN_LINES_MAX = 30;
const HIDDEN_NOTES = ['log', 'ends', 'MESSAGE'];
const OVER_NOTES = ['ends', 'stopped'];
const PLAN_TOOLS = ['PlanWrite', 'PlanUpdate', 'PlanRead'];

/** A letter in a colour of its own: the speaker is recognised before the name is read. */
export function face(name) {
  let sum = 0;
  for (const letter of name ?? '?') sum = (sum * 31 + letter.charCodeAt(0)) % 360;
  return h(
    'span',
    { class: 'face', 'aria-hidden': 'true', data: { hue: String(Math.floor(sum / 45)) } },
    (name ?? '?').slice(0, 1).toUpperCase(),
  );
}

/** A plan is shown by itself; the calls that wrote it add nothing. */
const isPlanCall = (turn) => turn.kind === 'calls' && PLAN_TOOLS.includes(turn.data?.name);
/** The state of a call without a result, by the status of the task. */
const OPEN_CALLS = { waiting: 'waiting', paused: 'paused', stalled: 'no result', ended: 'no result' };
const isResult = (turn) => ['gets', 'fails'].includes(turn.kind) && typeof turn.data?.id === 'string';

/**
 * Prepares turns for people: results join their calls, repeated plans and machine notes are left out, and a plan that
 * changed knows which steps did. `status` is that of the instance.
 */
export function arranged(turns, status = 'running') {
  const calls = new Map();
  const shown = [];
  let plan = null;
  for (const turn of turns) {
    if (turn.kind === 'calls') {
      const call = { ...turn, result: null, open: OPEN_CALLS[status] ?? 'running' };
      calls.set(`${turn.instance}/${turn.data?.id}`, call);
      shown.push(call);
    } else if (isResult(turn) && calls.has(`${turn.instance}/${turn.data.id}`)) {
      const key = `${turn.instance}/${turn.data.id}`;
      calls.get(key).result = turn;
      // Some providers use an id again.
      calls.delete(key);
    } else if (turn.kind === 'plan') {
      if (plan !== null && JSON.stringify(plan) === JSON.stringify(turn.data)) continue;
      const last = shown.findLast((it) => !isPlanCall(it));
      // Several steps ticked in a row are one update.
      if (last?.kind === 'plan' && last.before && last.instance === turn.instance) Object.assign(last, { ...turn, before: last.before });
      else shown.push({ ...turn, before: plan });
      plan = turn.data;
    } else {
      if (turn.kind === 'note' && OVER_NOTES.includes(turn.title)) close(calls, turn.instance);
      if (turn.kind !== 'note' || !HIDDEN_NOTES.includes(turn.title)) shown.push(turn);
    }
  }
  return shown.filter((turn) => !isPlanCall(turn) || turn.result?.kind !== 'gets');
}

/** Calls of an agent that ended get no result any more, whatever the task does. */
function close(calls, instance) {
  for (const call of calls.values()) if (call.instance === instance) call.open = OPEN_CALLS.ended;
}

/** Changes when the element of a turn has to be built again. */
export const stateOf = (turn) =>
  turn.kind === 'calls' ? (turn.result?.kind ?? turn.open) : turn.kind === 'plan' ? String(turn.seq) : '';

const who = (turn) =>
  turn.kind === 'decision' ? 'arbiter' : turn.kind === 'message' ? 'you' : (turn.agent ?? 'task');

export function turnOf(turn) {
  const make = { calls: call, decision, plan: planTurn, note, gets: loose, fails: loose }[turn.kind] ?? words;
  return make(turn);
}

const item = (turn, small, mark, ...body) =>
  h('li', { class: `turn kind-${turn.kind}${small ? ' small' : ''}` }, mark, h('div', { class: 'turn-body' }, body));

const smallMark = (name) => h('span', { class: 'face small', 'aria-hidden': 'true' }, icon(name, 14));
const time = (turn) => h('time', { class: 'turn-time number' }, moment(turn.at_ms));

function head(turn, verb, title = null, more = null) {
  return h(
    'div',
    { class: 'turn-head' },
    h('strong', null, who(turn)),
    verb ? h('span', { class: 'turn-kind' }, verb) : null,
    title ? h('span', { class: 'turn-title' }, title) : null,
    more,
    time(turn),
  );
}

/** Tokens of the completion, with a link to the step that has the whole answer. */
function usage(turn) {
  const { input_tokens: input, output_tokens: output, cached_tokens: cached, cost_usd: usd } = turn.data?.usage ?? {};
  if (!input && !output) return null;
  const parts = [`${compact(input ?? 0)} in`, cached ? `${compact(cached)} cached` : null, `${compact(output ?? 0)} out`, usd ? cost(usd) : null];
  const words = [turn.data.model, ...parts].filter(Boolean).join(' · ');
  return h('a', { class: 'turn-usage number', href: href('calls', turn.instance, { step: turn.step }), title: 'Tokens of this completion: show the call' }, words);
}

function words(turn) {
  return item(turn, false, face(who(turn)), head(turn, '', null, usage(turn)), h('div', { class: 'turn-words' }, turn.text ? prose(turn.text) : null));
}

function fold(summary, body, open = false) {
  return h('details', { class: 'turn-fold', open }, h('summary', null, summary), h('div', { class: 'turn-detail' }, body));
}

/** One line for a call and what came of it; an edit shows its lines. */
function call(turn) {
  const { name, input } = turn.data ?? {};
  const { result } = turn;
  const failed = result?.kind === 'fails';
  const state = failed ? 'failed' : result ? 'done' : turn.open === 'running' ? 'running' : 'open';
  const outcome = result ? brief(lastLine(name, result), 70) : turn.open;
  const line = h(
    'div',
    { class: 'turn-head', data: { state } },
    h('strong', null, who(turn)),
    h('span', { class: 'turn-title' }, turn.title),
    h('span', { class: `call-result ${state}` }, failed ? h('span', { class: 'hidden-visually' }, 'failed: ') : null, quiet(name) && !failed && result ? '' : outcome),
    time(turn),
  );
  const diff = edited(name, input, failed ? null : result?.text);
  const body = [
    diff ? patch(diff.hunks, { label: `Change of ${input?.path ?? 'a file'}` }) : input && Object.keys(input).length ? treeOf(input, 'Input') : null,
    result && !(diff && !failed) && (result.text || '').trim() ? h('pre', { tabindex: 0, class: failed ? 'bad' : null }, withoutStyles(result.text)) : null,
  ];
  const picture = failed ? 'error' : 'tool';
  return item(turn, true, smallMark(picture), fold(line, body, Boolean(diff && diff.lines <= OPEN_LINES_MAX)));
}

/** The end of a command's output has its result; other results begin with it. */
function lastLine(name, result) {
  const lines = withoutStyles(result.text || result.title || '').split('\n').map((line) => line.trim()).filter((line) => /\w/.test(line));
  return (name === 'Bash' ? lines.at(-1) : lines[0]) ?? '';
}

/** What was read is of no interest before it is opened. */
const quiet = (name) => ['Read', 'Edit', 'Write', 'MultiEdit'].includes(name);

/** The change that a call asks for. Its result has the line of an edit, and its input has not. */
function edited(name, input, outcome) {
  if (!input) return null;
  const text = (value) => (typeof value === 'string' ? value : null);
  let hunks = null;
  if (text(input.old_string) !== null && text(input.new_string) !== null)
    hunks = hunksBetween(input.old_string, input.new_string, Number(/ at line (\d+)\.$/m.exec(outcome ?? '')?.[1]) || null);
  else if (name === 'Write' && text(input.content) !== null)
    hunks = [{ head: '', lines: input.content.replace(/\n$/, '').split('\n').map((line, at) => ({ kind: 'new', text: line, before: null, after: at + 1 })) }];
  else if (Array.isArray(input.edits))
    hunks = input.edits.flatMap((it) => hunksBetween(String(it.old_string ?? ''), String(it.new_string ?? '')));
  return hunks ? { hunks, lines: hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0) } : null;
}

/** A result whose call is on an earlier page, or a failure of something that is no call. */
function loose(turn) {
  const title = turn.title || brief(turn.text || '', 90);
  const line = head(turn, turn.kind === 'fails' ? 'error' : 'result', title);
  const text = (turn.text || '').trim();
  const body = text && text !== title ? fold(line, h('pre', { tabindex: 0 }, turn.text)) : line;
  return item(turn, true, smallMark(turn.kind === 'fails' ? 'error' : 'back'), body);
}

function note(turn) {
  if (turn.title === 'starts' && turn.agent === null) return words({ ...turn, kind: 'message' });
  const text = (turn.text || '').trim();
  const verb = turn.title === 'starts' ? 'begins' : turn.title;
  const line = head(turn, verb, turn.title === 'starts' ? null : brief(text, 90));
  const body = text && (turn.title === 'starts' || text.length > 90) ? fold(line, h('pre', { tabindex: 0 }, text)) : line;
  return item(turn, true, smallMark(turn.title === 'starts' ? 'agents' : 'more'), body);
}

/** Who works next, as a line between two agents. */
function decision(turn) {
  const line = h('div', { class: 'turn-head' }, h('span', { class: 'turn-kind' }, `arbiter ${turn.title}`), h('span', { class: 'turn-decided' }, brief(turn.text, 160)), usage(turn), time(turn));
  const long = turn.text.length > 160;
  return item(turn, true, smallMark('forward'), long ? fold(line, prose(turn.text)) : line);
}

/** The first plan as a whole, a later one as the steps that changed. */
function planTurn(turn) {
  const steps = Array.isArray(turn.data?.steps) ? turn.data.steps : null;
  if (!steps) return words(turn);
  const before = new Map((turn.before?.steps ?? []).map((step) => [step.id ?? step.title, step.status]));
  const changed = steps.filter((step) => before.get(step.id ?? step.title) !== step.status);
  const plan = turn.before && changed.length < steps.length ? { steps: changed } : turn.data;
  if (!plan.steps.length) return item(turn, true, smallMark('tasks'), head(turn, 'plan', 'changed'));
  return item(turn, false, smallMark('tasks'), head(turn, turn.before ? 'updates the plan' : 'plans'), h('div', { class: 'turn-words' }, planOf(plan)));
}

/** A plan's steps with their status. */
export function planOf(plan) {
  const state = (step) =>
    ({ done: 'ticked', completed: 'ticked', in_progress: 'current', skipped: 'skipped', failed: 'failed' })[step.status] ?? 'open';
  const step = (it) =>
    h(
      'li',
      { class: state(it) },
      h('span', { class: 'plan-title' }, it.title ?? it.description ?? it.id),
      h('span', { class: 'hidden-visually' }, ` (${it.status ?? 'open'})`),
      it.notes ? h('small', { class: 'muted' }, it.notes) : null,
    );
  return h(
    'div',
    { class: 'plan' },
    plan.goal ? h('p', { class: 'plan-goal' }, plan.goal) : null,
    h('ol', { class: 'plan-steps' }, plan.steps.map(step)),
  );
}
