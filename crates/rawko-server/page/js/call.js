// One completion: the prompt as sent, the answer, tokens, cache, latency and cost. Separate from the conversation, which
// leaves out what only this call saw.
import { get, path } from './api.js';
import { fill, h } from './dom.js';
import { empty, failed } from './empty.js';
import { prose } from './prose.js';
import { href } from './route.js';
import { treeOf } from './tree.js';
import { cost, duration, moment, number } from './words.js';

const LOOK_BACK = 60;

export function call(root, route) {
  const [id, step] = [route.name, Number(route.query.step)];
  const body = h('div', { class: 'scroll', tabindex: 0 });
  root.append(
    h(
      'div',
      { class: 'view-head' },
      h('p', { class: 'crumbs' }, h('a', { href: href('tasks', id) }, id), ` / step ${step}`),
      h('h1', null, 'Completion'),
    ),
    body,
  );
  read(id, step).then(
    (found) => fill(body, found ? shown(found) : missing(id, step)),
    (error) => fill(body, failed(error, () => location.reload())),
  );
  return { title: `Completion of ${id}`, moved: (other) => Number(other.query.step) === step };
}

async function read(id, step) {
  const { entries } = await get(path('instances', id, 'journal'), {
    from: Math.max(0, step - LOOK_BACK),
    limit: LOOK_BACK + 1,
    order: 'asc',
  });
  const answer = entries.find((entry) => entry.step === step && entry.event?.kind === 'answered');
  if (!answer) return null;
  const asks = (entry) => entry.effects?.find((it) => it.type === 'invoked' && it.invoke === answer.event.invoke);
  const begun = entries.findLast((entry) => entry.step < step && asks(entry));
  return { answer, begun, request: begun ? asks(begun) : null };
}

const missing = (id, step) =>
  empty({ title: 'No completion at this step', lead: `Step ${step} of ${id} is not the answer of a model.`, commands: [] });

/** The arbiter keeps its question and the answers to it in the record of its decision. */
function conversation(data, request) {
  const { record } = data;
  if (typeof record?.prompt !== 'string') return { model: data.model, messages: request?.input?.messages ?? request?.input?.session?.messages ?? [], answer: data.message ?? { parts: [{ type: 'text', text: data.text ?? '' }] } };
  const attempts = record.attempts ?? [];
  const earlier = attempts.slice(0, -1).flatMap((it) => [
    { role: 'assistant', content: it.answer },
    { role: 'user', content: `This answer is invalid: ${it.problem ?? ''}.` },
  ]);
  return { model: attempts.length ? record.model || 'default' : 'none: a rule decided', messages: [{ role: 'user', content: record.prompt }, ...earlier], answer: { content: attempts.at(-1)?.answer ?? '' } };
}

function shown({ answer, begun, request }) {
  const data = answer.event.data ?? {};
  const usage = data.usage ?? {};
  const session = request?.input?.session ?? {};
  const { model, messages, answer: content } = conversation(data, request);
  const fact = (name, value) => (value === null || value === undefined || value === '' ? null : h('div', null, h('dt', null, name), h('dd', { class: 'number' }, value)));
  return [
    h(
      'dl',
      { class: 'head-facts call-facts' },
      fact('Model', model ?? (session.model || 'default')),
      fact('Tokens in', number(usage.input_tokens)),
      fact('Cached', usage.cached_tokens === undefined ? null : number(usage.cached_tokens)),
      fact('Tokens out', number(usage.output_tokens)),
      usage.is_estimate ? fact('Counts', 'estimated') : null,
      usage.cost_usd ? fact('Cost', cost(usage.cost_usd)) : null,
      begun ? fact('Latency', duration(answer.at_ms - begun.at_ms)) : null,
      fact('At', moment(answer.at_ms)),
      data.stop_reason ? fact('Stopped', data.stop_reason) : null,
    ),
    section('Answer', parts(content)),
    session.system ? fold('System prompt', h('pre', { class: 'call-text', tabindex: 0 }, session.system)) : null,
    messages.length ? section(`Messages sent · ${messages.length}`, h('ol', { class: 'call-messages' }, messages.map(message))) : null,
    Array.isArray(session.tools) && session.tools.length ? fold(`Tools · ${session.tools.length}`, treeOf(session.tools, 'Tools')) : null,
    request ? fold('Request as data', treeOf(request.input, 'Request')) : null,
  ];
}

const section = (title, ...body) => h('section', { class: 'part' }, h('h2', null, title), body);
const fold = (title, ...body) => h('details', { class: 'call-fold' }, h('summary', null, title), body);

function message(it) {
  return h('li', null, h('strong', null, it.role), parts(it));
}

function parts(it) {
  if (typeof it.content === 'string') return prose(it.content);
  const part = (one) => {
    if (one.type === 'text') return prose(one.text);
    if (one.type === 'tool_use') return h('div', null, h('code', null, one.name), treeOf(one.input ?? {}, `Input of ${one.name}`));
    if (one.type === 'tool_result') return h('pre', { class: 'call-text', tabindex: 0 }, String(one.content ?? ''));
    return treeOf(one, one.type ?? 'Part');
  };
  return h('div', { class: 'call-parts' }, (it.parts ?? []).map(part));
}
