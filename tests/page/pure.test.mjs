// What needs no browser: addresses, words, differences, forms, marks. Tables, the cheapest tests of the page.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';

const page = new URL('../../crates/rawko-server/page/', import.meta.url);
const load = (name) => import(new URL(`js/${name}.js`, page));

const { post } = await load('api');
const { differences, lineDifferences } = await load('diff');
const { href, parse } = await load('route');
const { schemaOf } = await load('forms');
const { Journal } = await load('journal');
const { hunksBetween, hunksOf, sideBySide } = await load('patch');
const { printable, withoutStyles } = await load('printable');
const { markOf } = await load('timeline');
const { arranged } = await load('turns');
const { age, brief, compact, cost, duration, tone, waiting } = await load('words');

test('an address says what is shown, and is read again', () => {
  const cases = [
    ['#/instances', { view: 'instances', name: null, query: {} }],
    ['', { view: 'tasks', name: null, query: {} }],
    ['#/instances/order-1?step=12', { view: 'instances', name: 'order-1', query: { step: '12' } }],
    [
      href('instances', 'a/b ü', { tab: 'step', step: 0 }),
      { view: 'instances', name: 'a/b ü', query: { tab: 'step', step: '0' } },
    ],
    ['#/charts/%E0%A4%A', { view: 'charts', name: '%E0%A4%A', query: {} }],
  ];
  for (const [hash, route] of cases) assert.deepEqual(parse(hash), route, hash);
});

test('times and amounts', () => {
  const cases = [
    [duration(0), '0ms'],
    [duration(42_900), '42s'],
    [duration(3_725_000), '1h 02m'],
    [duration(90_000_000), '1d 1h'],
    [age(2_000), 'now'],
    [age(59_999), '59s'],
    [age(86_400_000 * 3), '3d'],
    [cost(0.004), '<$0.01'],
    [cost(1.239), '$1.24'],
    [cost(null), '–'],
    [compact(950), '950'],
    [compact(12_400), '12k'],
    [compact(1_250_000), '1.3M'],
    [brief('a\n  b'), 'a b'],
    [brief('🙂🙂🙂', 2), '🙂🙂…'],
    [brief({ a: [1] }), '{"a":[1]}'],
  ];
  for (const [said, wanted] of cases) assert.equal(said, wanted);
});

test('a request hides nothing', () => {
  const cases = [
    ['touch ok \u202emr\u200b', 'touch ok \\u202emr\\u200b'],
    ['a\r\nb\u001b[2J\tc', 'a\nb\\u001b[2J\tc'],
    ['\u{e0041}', '\\udb40\\udc41'],
    ['✔\ufe0f 1\ufe0f r\ufe0fm\ufe00', '✔\ufe0f 1\ufe0f r\\ufe0fm\\ufe00'],
    ['👩\u200d👧 می\u200cخو a\u200db', '👩\u200d👧 می\u200cخو a\\u200db'],
  ];
  for (const [text, wanted] of cases) assert.equal(printable(text), wanted);
});

test('a request whose answer got lost keeps its key when it is made again', async () => {
  const [keys, answers] = [[], []];
  const reply = (status) => new Response('{}', { status });
  globalThis.fetch = async (_, { headers }) => {
    keys.push(headers['Idempotency-Key']);
    const answer = answers.shift();
    if (!answer) throw new TypeError('no network');
    return reply(answer);
  };
  const ask = (body) => post('/v1/instances/a/events', body).catch(() => null);
  for (const [answer, body] of [
    [null, { type: 'PAY' }],
    [503, { type: 'PAY' }],
    [200, { type: 'PAY' }],
    [422, { type: 'PAY' }],
    [200, { type: 'PAY' }],
    [null, { type: 'PAY' }],
    [200, { type: 'SHIP' }],
  ]) {
    answers.splice(0, 1, answer);
    await ask(body);
  }
  const [lost, failed, done, refused, better, again, other] = keys;
  assert.deepEqual([failed, done], [lost, lost], 'until it is known what became of it');
  assert.equal(new Set([done, refused, better, again, other]).size, 5, 'another request is another key');
});

test('what an instance waits for, and how it looks', () => {
  const cases = [
    [{ status: 'waiting', waits_for: 'person' }, 'a person', 'person'],
    [{ status: 'running', waits_for: 'work' }, 'work', 'work'],
    [{ status: 'waiting', waits_for: 'timer' }, 'a timer', 'active'],
    [{ status: 'paused', waits_for: 'paused' }, 'a resume', 'paused'],
    [{ status: 'stalled', waits_for: 'nothing' }, 'a retry', 'stalled'],
    [{ status: 'ended', outcome: 'succeeded', waits_for: 'nothing' }, '', 'done'],
    [{ status: 'ended', outcome: 'stuck', waits_for: 'nothing' }, '', 'stuck'],
  ];
  for (const [row, words, look] of cases) assert.deepEqual([waiting(row), tone(row)], [words, look]);
});

test('differences go down to the part that changed', () => {
  const cases = [
    [{ a: 1 }, { a: 1 }, []],
    [null, 3, [{ path: 'k', before: null, after: 3 }]],
    [{ a: { b: 1, c: 2 } }, { a: { b: 1, c: 3 } }, [{ path: 'k.a.c', before: 2, after: 3 }]],
    [[1], [1, 2], [{ path: 'k.1', before: undefined, after: 2 }]],
    [{ a: 1 }, {}, [{ path: 'k.a', before: 1, after: undefined }]],
    [[1], { 0: 1 }, [{ path: 'k', before: [1], after: { 0: 1 } }]],
  ];
  for (const [before, after, wanted] of cases) assert.deepEqual(differences(before, after, 'k'), wanted);
});

test('texts are compared line by line', () => {
  const lines = lineDifferences('one\ntwo\nthree', 'one\n2\nthree\nfour').map(([kind, text]) => `${kind} ${text}`);
  assert.deepEqual(lines, ['kept one', 'gone two', 'new 2', 'kept three', 'new four']);
});

test('forms are read however a chart writes them', () => {
  const wanted = ['street', 'floor'];
  const cases = {
    'a schema': {
      type: 'object',
      properties: { street: { type: 'string' }, floor: { type: 'integer' } },
      required: ['street'],
    },
    'a list of fields': [
      { name: 'street', required: true },
      { name: 'floor', type: 'integer' },
    ],
    'names with types': { street: { type: 'string', required: true }, floor: 'integer' },
    'fields of a form': { fields: { street: { required: true }, floor: 'integer' } },
  };
  for (const [name, form] of Object.entries(cases)) {
    const schema = schemaOf(form);
    assert.deepEqual(Object.keys(schema.properties), wanted, name);
    assert.deepEqual(schema.required, ['street'], name);
  }
});

test('marks on the timeline', () => {
  const cases = [
    [{ kind: 'started' }, 'first'],
    [{ kind: 'step', event: { kind: 'event' } }, 'outside'],
    [{ kind: 'step', event: { kind: 'timer' } }, 'plain'],
    [{ kind: 'step', event: { kind: 'failed' } }, 'bad'],
    [{ kind: 'ignored', event: { kind: 'event' } }, 'faint'],
    [{ kind: 'refused' }, 'bad'],
    [{ kind: 'started', faults: [{ what: 'action' }] }, 'bad'],
    [{ kind: 'ignored', faults: [] }, 'faint'],
  ];
  for (const [entry, mark] of cases) assert.equal(markOf(entry), mark);
});

test('a step that was refused stays beside the one that took its number', () => {
  const journal = new Journal('order-1', () => {});
  const refused = (seq) => ({ seq, step: 1, kind: 'refused', error: 'no' });
  journal.add({ seq: 1, step: 0, kind: 'started' });
  for (const entry of [refused(2), refused(3), refused(3)]) journal.add(entry);
  assert.deepEqual(journal.entry(1).refusals, [refused(2)]);
  journal.add({ seq: 4, step: 1, kind: 'step' });
  assert.deepEqual(
    journal.entry(1).refusals.map(({ seq }) => seq),
    [2, 3],
  );
  assert.equal(markOf(journal.entry(1)), 'bad');
});

test('nothing is ever made of markup, nothing comes from elsewhere, and files stay small', () => {
  const forbidden = [
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/,
    /https?:\/\/(?!www\.w3\.org)/,
  ];
  const files = ['js', 'css'].flatMap((folder) =>
    readdirSync(new URL(folder, page)).map((name) => `${folder}/${name}`),
  );
  for (const name of [...files, 'index.html']) {
    const text = readFileSync(new URL(name, page), 'utf8');
    for (const pattern of forbidden) assert.ok(!pattern.test(text), `${name} has ${pattern}`);
    assert.ok(text.split('\n').length < 400, `${name} is too long`);
    if (name !== 'index.html') assert.match(text, /^(\/\/|\/\*) \S/, `${name} says what lives there`);
  }
  const linked = [...readFileSync(new URL('index.html', page), 'utf8').matchAll(/href="\/(css\/[^"]+)"/g)].map(
    (found) => found[1],
  );
  assert.deepEqual(linked.sort(), files.filter((name) => name.startsWith('css/')).sort(), 'every sheet is linked');
});

test('a unified diff is read into numbered lines, and paired for two columns', () => {
  const diff = 'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+zwei\n three\n@@ -10 +11 @@\n--- not a header\n++++ nor this\n';
  const hunks = hunksOf(diff);
  assert.deepEqual(hunks.map((hunk) => hunk.lines.length), [5, 2]);
  assert.deepEqual(hunks[0].lines[1], { kind: 'gone', text: 'two', before: 2, after: null });
  assert.deepEqual(hunks[0].lines[4], { kind: 'kept', text: 'three', before: 3, after: 4 });
  assert.deepEqual(hunks[1].lines.map((line) => [line.kind, line.text]), [['gone', '-- not a header'], ['new', '+++ nor this']]);
  const rows = sideBySide(hunks[0].lines).map((row) => row.map((line) => line?.text ?? null));
  assert.deepEqual(rows, [['one', 'one'], ['two', '2'], [null, 'zwei'], ['three', 'three']]);
  assert.deepEqual(hunksOf('Binary files a/x and b/x differ\n'), []);
});

test('only colours are left out of the output of a program', () => {
  assert.equal(withoutStyles('\u001b[1;31mFAILED\u001b[0m a\u001b[K \u001b[2J'), 'FAILED a \u001b[2J');
});

test('an edit has the line numbers of its file, or none', () => {
  const numbers = (start) => hunksBetween('one\ntwo\n', 'one\n2\nzwei\n', start)[0].lines.map((line) => [line.kind, line.before, line.after]);
  assert.deepEqual(numbers(11), [['kept', 11, 11], ['gone', 12, null], ['new', null, 12], ['new', null, 13]]);
  assert.deepEqual(numbers(null), [['kept', null, null], ['gone', null, null], ['new', null, null], ['new', null, null]]);
});

test('results join their calls, in any order, and noise is left out', () => {
  const turn = (kind, more) => ({ instance: 't.a.1', agent: 'a', seq: 1, step: 1, at_ms: 0, kind, title: '', text: '', data: null, ...more });
  const plan = (status) => ({ steps: [{ id: 'one', status }, { id: 'two', status: 'pending' }] });
  const turns = arranged([
    turn('calls', { data: { id: 'c1', name: 'Read' } }),
    turn('calls', { data: { id: 'c2', name: 'Bash' } }),
    turn('note', { title: 'log', text: 'noise' }),
    turn('gets', { data: { id: 'c2' }, text: 'second' }),
    turn('fails', { data: { id: 'c1' }, text: 'first' }),
    turn('gets', { data: { id: 'c9' }, text: 'its call is on an earlier page' }),
    turn('gets', { instance: 't.b.1', data: { id: 'c1' }, text: 'of another agent' }),
    turn('plan', { data: plan('pending') }),
    turn('plan', { data: plan('pending') }),
    turn('calls', { data: { id: 'c3', name: 'PlanUpdate' } }),
    turn('gets', { data: { id: 'c3' } }),
    turn('plan', { data: plan('done') }),
  ]);
  assert.deepEqual(turns.map((it) => it.kind), ['calls', 'calls', 'gets', 'gets', 'plan', 'plan']);
  assert.deepEqual(turns.slice(0, 2).map((it) => it.result.text), ['first', 'second']);
  assert.deepEqual(turns[5].before, plan('pending'));
});

test('nothing that ended without success is green', () => {
  const ended = (outcome) => tone({ status: 'ended', outcome });
  assert.deepEqual(['succeeded', 'failed', 'limit', 'loop', 'stuck', 'cancelled', null, undefined].map(ended), ['done', 'error', 'limit', 'loop', 'stuck', 'cancelled', 'ended', 'ended']);
  assert.equal(tone({ status: 'waiting', waits_for: 'work', waiting_for: 'person' }), 'person');
});

const { tokens } = await load('yaml');

test('colours of a line', () => {
  const kinds = (line) => tokens(line).map(({ kind, start, end }) => `${kind} ${line.slice(start, end)}`);
  assert.deepEqual(kinds('on: {GO: "a # b"} # why'), ['key on', 'mark :', 'mark {', 'key GO', 'mark :', 'string "a # b"', 'mark }', 'comment # why']);
  assert.deepEqual(kinds('after: {30s: true}'), ['key after', 'mark :', 'mark {', 'key 30s', 'mark :', 'word true', 'mark }']);
});

test('a call without a result is shown by what can still come', () => {
  const turn = (kind, more) => ({ instance: 't.a.1', agent: 'a', seq: 1, step: 1, at_ms: 0, kind, title: '', text: '', data: null, ...more });
  const call = turn('calls', { data: { id: 'c1', name: 'Bash' } });
  const open = (turns, status) => arranged(turns, status).find((it) => it.kind === 'calls').open;
  const cases = [['running', 'running'], ['waiting', 'waiting'], ['paused', 'paused'], ['stalled', 'no result'], ['ended', 'no result']];
  for (const [status, words] of cases) assert.equal(open([call], status), words, status);
  const ends = (instance) => turn('note', { instance, title: 'ends' });
  assert.equal(open([call, ends('t.b.1')], 'running'), 'running');
  assert.equal(open([call, ends('t.a.1')], 'running'), 'no result', 'its agent has ended');
});

const { askKey } = await load('ask');
const { originNow, readOrigins } = await load('origins');

test('the words beside a request are those before it, for all requests', async () => {
  const words = new Map();
  const reads = [];
  globalThis.fetch = async (address) => {
    const [, id, part] = /instances\/([^/?]+)(\/transcript)?/.exec(address);
    reads.push(id);
    if (part) return new Response(JSON.stringify({ turns: [{ kind: 'says', text: words.get(id) }], next: null }));
    const [root, ...rest] = id.split('.');
    const parent = rest.length ? { id: root } : null;
    return new Response(JSON.stringify({ id, title: `Title of ${id}`, chart: 'rawko', parent }));
  };
  const ask = (id, since_ms) => ({ id, invoke: 'person', since_ms });
  words.set('task.agent', 'I need a colour.');
  const first = ask('task.agent', 1);
  await readOrigins([first], () => true);
  assert.deepEqual(originNow(first), { root: 'task', title: 'Title of task', chart: 'rawko', message: 'I need a colour.' });
  // It was answered in a terminal, and the instance asks again.
  words.set('task.agent', 'Shall I delete it?');
  const second = ask('task.agent', 2);
  assert.equal(originNow(second).message, null, 'never the words of an earlier request');
  await readOrigins([second], () => true);
  assert.equal(originNow(second).message, 'Shall I delete it?');
  reads.length = 0;
  await readOrigins([second], () => true);
  assert.deepEqual(reads, [], 'once per request');
  // The question of a task itself has its title, its chart and its words.
  words.set('whole', 'We go in circles.');
  const many = [ask('whole', 1), ...Array.from({ length: 120 }, (_, at) => ask(`many-${at}.a`, 1))];
  let shows = 0;
  await readOrigins(many, () => (shows += 1) > 0);
  assert.deepEqual(originNow(many[0]), { root: 'whole', title: 'Title of whole', chart: 'rawko', message: 'We go in circles.' });
  assert.ok(many.every((it) => originNow(it).chart === 'rawko'), 'all of them');
  assert.ok(shows > 1, 'shown batch by batch');
  assert.equal(originNow(second).message, null, 'forgotten with its request');
});

test('each new request notifies, also if another was answered meanwhile', async () => {
  const sent = [];
  globalThis.Notification = class {
    static permission = 'granted';
    constructor(title, { body }) {
      sent.push(body);
    }
    addEventListener() {}
  };
  const before = [globalThis.window, globalThis.document, globalThis.localStorage];
  Object.assign(globalThis, { window: globalThis, document: { hidden: true } });
  Object.defineProperty(globalThis, 'localStorage', { value: { getItem: () => 'true' }, configurable: true });
  const { noticed } = await load('notify');
  const ask = (id, since_ms) => ({ id, invoke: 'approval', since_ms });
  const cases = [
    [[ask('a', 1)], 0, 'the state at the start'],
    [[ask('a', 1)], 0, 'nothing new'],
    [[ask('b', 2)], 1, 'one was answered, another came'],
    [[ask('b', 3)], 2, 'a later request of the same name'],
    [[ask('b', 3), ask('c', 4)], 3, 'one more'],
    [[ask('b', 3)], 3, 'one fewer'],
    [[], 3, 'none'],
    [[ask('d', 9)], 4, 'the first after none'],
  ];
  for (const [asks, wanted, name] of cases) {
    noticed(asks, asks.length);
    assert.equal(sent.length, wanted, name);
  }
  noticed([ask('d', 9), ask('old', 1)], 150);
  assert.equal(sent.length, 4, 'an older one that is read now is not new');
  document.hidden = false;
  noticed([ask('e', 10)], 1);
  assert.equal(sent.length, 4, 'a person looks at the page');
  assert.notEqual(askKey(ask('b', 2)), askKey(ask('b', 3)));
  Object.assign(globalThis, { window: before[0], document: before[1] });
});

const { joined } = await load('audit');

test('the end of the log joins what was read before it', () => {
  const line = (effect) => ({ at_ms: 1, effect: `e/${effect}`, decision: 'allowed' });
  const lines = (from, to) => Array.from({ length: to - from }, (_, at) => line(from + at));
  const cases = [
    [[], lines(5, 9), 5, 'nothing was read'],
    [lines(0, 9), lines(5, 12), 0, 'it grew'],
    [lines(0, 9), lines(20, 24), 20, 'there is a gap'],
  ];
  for (const [before, end, first, name] of cases) {
    const all = joined(before, end);
    assert.deepEqual(all, lines(first, first + all.length), name);
    assert.deepEqual(all.at(-1), end.at(-1), name);
  }
});
