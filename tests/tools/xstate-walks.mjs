// Random XState machines and walks through them, for the test of the importer: prints one JSON object per machine with
// its configuration as data, the stimuli, and the configuration and log after each as XState has them.
// Usage: node xstate-walks.mjs FOLDER-OF-NODE-MODULES SEED COUNT, or … FOLDER - < machines.jsonl for given machines.
// With `graph` after COUNT: machines without delays, and the configurations that @xstate/graph reaches instead of walks.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';

const [tools, seed, count, mode] = process.argv.slice(2);
// Delays of XState's graphs fire in any order, those of a chart in the order of their due times.
const timeless = mode === 'graph';
const x = createRequire(join(tools, 'package.json'))('xstate');
console.warn = () => {};

let state = Number(seed) >>> 0 || 1;
const random = () => {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), state | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};
const below = (n) => Math.floor(random() * n);
const chance = (p) => random() < p;
const pick = (list) => list[below(list.length)];

const EVENTS = ['A', 'B', 'C', 'x.y', 'x.z', 'x'];
const WILD = ['*', 'x.*'];
// Half of the machines have no actions on entry and exit: those of XState differ where states are entered twice.
let quiet = false;
const log = (value) => ({ type: 'xstate.log', value });

function tree(depth, path, ids) {
  const key = path.at(-1);
  const node = { states: {} };
  if (path.length && chance(0.15)) {
    node.id = `id_${path.join('_').replaceAll('.', '_')}`;
    ids.push([node.id, path]);
  }
  if (!quiet) {
    node.entry = chance(0.9) ? [log(`+${path.join('/')}`)] : log(`+${path.join('/')}`);
    node.exit = [log(`-${path.join('/')}`)];
  }
  const kinds = depth > 0 ? ['atomic', 'atomic', 'compound', 'compound', 'parallel'] : ['atomic'];
  const kind = path.length === 0 ? pick(['compound', 'compound', 'parallel']) : pick(kinds);
  if (kind === 'atomic') {
    delete node.states;
    if (chance(0.15)) return { ...node, type: 'final' };
    return node;
  }
  const many = kind === 'parallel' ? 2 + below(2) : 1 + below(3);
  const names = ['a', 'b', 'c', 'd'];
  for (let i = 0; i < many; i++) {
    const name = chance(0.05) ? `${names[i]}.${names[i]}` : names[i];
    node.states[name] = tree(depth - 1, [...path, name], ids);
  }
  const real = Object.keys(node.states);
  if (chance(0.35)) {
    const history = { history: pick(['deep', 'shallow', true]) };
    if (history.history === true || chance(0.5)) history.type = 'history';
    if (kind === 'compound' && chance(0.5)) history.target = pick(real).replaceAll('.', '\\.');
    node.states.hist = history;
  }
  if (kind === 'parallel') node.type = 'parallel';
  else {
    const live = real.filter((name) => node.states[name].type !== 'final');
    const initial = pick(live.length && chance(0.9) ? live : real);
    node.initial = chance(path.length ? 0.03 : 0.1) ? { target: initial, actions: [log(`i${path.join('/')}`)] } : initial;
  }
  return node;
}

const nodes = (node, path = []) => [
  [node, path],
  ...Object.entries(node.states ?? {}).flatMap(([key, child]) => nodes(child, [...path, key])),
];
const escaped = (path) => path.map((key) => key.replaceAll('.', '\\.')).join('.');

const holds = (outer, inner) => outer.every((key, i) => inner[i] === key);
// Targets that XState itself treats oddly (the machine itself, a history state from inside) are rare.
function choose(source, all) {
  for (;;) {
    const [node, to] = pick(all);
    const odd = to.length === 0 || (node.history && holds(to.slice(0, -1), source));
    if (!odd || chance(0.05)) return to;
  }
}
// An alternative to the source: a transition to it surely leaves the source.
function alternative(source, all) {
  for (let i = 0; i < 20; i++) {
    const [node, to] = pick(all);
    if (node.history || holds(source, to) || holds(to, source)) continue;
    let shared = 0;
    while (source[shared] === to[shared]) shared++;
    const [above] = all.find(([, path]) => path.length === shared && holds(path, source));
    if (above.type !== 'parallel') return to;
  }
}

function target(source, all, ids, to = choose(source, all)) {
  const inside = to.length > source.length && source.every((key, i) => to[i] === key);
  const forms = [`#m${to.length ? '.' : ''}${escaped(to)}`];
  if (inside && !source.at(-1)?.includes('.')) forms.push(`.${escaped(to.slice(source.length))}`);
  const parent = source.slice(0, -1);
  if (source.length && to.length > parent.length && parent.every((key, i) => to[i] === key)) forms.push(escaped(to.slice(parent.length)));
  for (const [id, path] of ids) {
    if (path.length <= to.length && path.every((key, i) => to[i] === key)) forms.push(`#${id}${to.length > path.length ? '.' : ''}${escaped(to.slice(path.length))}`);
  }
  return pick(forms);
}

function condition(all) {
  const at = pick(all.filter(([node, path]) => path.length && !node.history))[1];
  const value = at.reduceRight((inner, key) => (inner === undefined ? key : { [key]: inner }), undefined);
  const inState = { type: 'xstate.stateIn', stateValue: chance(0.5) ? value : `#m.${escaped(at)}` };
  if (chance(0.2)) return { type: 'xstate.not', guards: [inState] };
  if (chance(0.2)) return { type: pick(['xstate.and', 'xstate.or']), guards: [inState, condition(all)] };
  return inState;
}

function transition(name, source, all, ids) {
  if (chance(0.06)) return {};
  const text = `t${source.join('/')}:${name}`;
  if (chance(0.25)) return { actions: log(text) };
  if (chance(0.3)) return target(source, all, ids);
  const found = { target: chance(0.01) ? [target(source, all, ids), target(source, all, ids)] : target(source, all, ids), actions: [log(text)] };
  if (chance(0.2)) found.reenter = true;
  if (chance(0.3)) found.guard = condition(all);
  if (chance(0.15)) found.actions.push({ type: 'xstate.raise', event: { type: pick(EVENTS) } });
  if (chance(0.05) && !timeless) found.actions.push({ type: 'xstate.raise', event: { type: pick(EVENTS) }, delay: 1 + below(40), id: `later${below(3)}` });
  if (chance(0.03)) found.actions.push({ type: 'xstate.cancel', sendId: `later${below(3)}` });
  return found;
}
const transitions = (...of) => (chance(0.2) ? [transition(...of), transition(...of)] : transition(...of));

function machine() {
  const ids = [];
  quiet = chance(0.5);
  const root = { id: 'm', ...tree(3, [], ids) };
  const all = nodes(root);
  let eventless = false;
  for (const [node, source] of all) {
    if (node.history || node.type === 'final') continue;
    for (const event of chance(0.15) ? [...EVENTS, ...WILD] : EVENTS) {
      if (chance(source.length ? 0.3 : 0.15)) (node.on ??= {})[event] = transitions(event, source, all, ids);
    }
    if (source.length && node.states && chance(0.5)) node.onDone = transitions('done', source, all, ids);
    if (chance(source.length ? 0.2 : 0.05) && !timeless) node.after = { [1 + below(40)]: chance(0.5) ? target(source, all, ids) : [transition('after', source, all, ids)].map((one) => (typeof one === 'string' ? { target: one } : one)) };
    // Only one: XState takes those of several regions in the order in which they were entered.
    const other = !eventless && chance(0.15) && alternative(source, all);
    if (other) {
      eventless = true;
      const always = { target: target(source, all, ids, other), guard: condition(all), actions: [log(`always${source.join('/')}`)] };
      node.always = chance(0.5) ? always : [always];
    }
  }
  return root;
}

// Data to functions: what `JSON.stringify` cannot keep.
const BUILT = {
  'xstate.log': (a) => x.log(a.value),
  'xstate.raise': (a) => x.raise(a.event, { delay: a.delay, id: a.id }),
  'xstate.cancel': (a) => x.cancel(a.sendId),
  'xstate.assign': (a) => x.assign(a.assignment),
  'xstate.stateIn': (a) => x.stateIn(a.stateValue),
  'xstate.not': (a) => x.not(live(a.guards[0])),
  'xstate.and': (a) => x.and(a.guards.map(live)),
  'xstate.or': (a) => x.or(a.guards.map(live)),
};
function live(value) {
  if (Array.isArray(value)) return value.map(live);
  if (value === null || typeof value !== 'object') return value;
  if (BUILT[value.type]) return BUILT[value.type](value);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, live(inner)]));
}

// Timers fire in the order of their due times, then of their starts. The clock of XState has no order among equals.
class Clock {
  now = 0;
  next = 0;
  timers = new Map();
  setTimeout(run, delay) {
    this.timers.set(++this.next, { run, due: this.now + delay });
    return this.next;
  }
  clearTimeout(id) {
    this.timers.delete(id);
  }
  increment(ms) {
    const until = this.now + ms;
    for (;;) {
      const due = [...this.timers].filter(([, timer]) => timer.due <= until);
      if (!due.length) break;
      const [id, timer] = due.reduce((first, other) => (other[1].due < first[1].due ? other : first));
      // Which of two timers with one due time fires first is not a promise of either side.
      if (due.some((other) => other[0] !== id && other[1].due === timer.due)) throw new Error('tie of timers');
      this.timers.delete(id);
      this.now = timer.due;
      timer.run();
    }
    this.now = until;
  }
}

function walk(config, steps) {
  const clock = new Clock();
  let lines = [];
  const built = x.createMachine({ ...live(config), options: { maxIterations: 100 } });
  const actor = x.createActor(built, { clock, logger: (text) => lines.push(text) });
  let failure;
  actor.subscribe({ error: (error) => (failure = error) });
  const seen = [];
  const note = (stimulus) => {
    if (failure) throw failure;
    const snapshot = actor.getSnapshot();
    const leaves = snapshot._nodes.filter((node) => Object.keys(node.states).length === 0);
    const paths = leaves.map((node) => node.path.map((key) => key.replaceAll('.', '_')).join('.')).sort();
    seen.push({ stimulus, configuration: paths, status: snapshot.status, log: lines, context: snapshot.context });
    lines = [];
  };
  actor.start();
  note(null);
  for (const stimulus of steps) {
    if (actor.getSnapshot().status !== 'active') break;
    if (stimulus.advance !== undefined) clock.increment(stimulus.advance);
    else actor.send(stimulus);
    note(stimulus);
  }
  actor.stop();
  return seen;
}
function reached(config, events) {
  const { getAdjacencyMap } = createRequire(join(tools, 'package.json'))('@xstate/graph');
  const built = x.createMachine({ ...live(config), options: { maxIterations: 100 } });
  const history = (snapshot) => Object.entries(snapshot.historyValue).map(([id, nodes]) => [id, nodes.map((node) => node.id)]);
  const serializeState = (snapshot) => JSON.stringify([snapshot.value, snapshot.status, history(snapshot)]);
  // The pure function moves machines that are done; an actor does not.
  const stopWhen = (snapshot) => snapshot.status !== 'active';
  const map = getAdjacencyMap(built, { events: events.map((type) => ({ type })), serializeState, stopWhen, limit: 20000 });
  const configurations = Object.values(map).map(({ state }) => {
    if (state.status === 'error') throw state.error;
    const leaves = state._nodes.filter((node) => Object.keys(node.states).length === 0);
    return leaves.map((node) => node.path.map((key) => key.replaceAll('.', '_')).join('.')).sort().join(' ');
  });
  return [...new Set(configurations)].sort();
}
const stimuli = (events) => Array.from({ length: 25 }, () => (chance(0.25) ? { advance: 10 } : { type: pick(events) }));
function show(config, events) {
  const text = JSON.stringify(config);
  try {
    const found = timeless ? { reached: reached(JSON.parse(text), events) } : { walk: walk(JSON.parse(text), stimuli(events)) };
    console.log(JSON.stringify({ config: text, ...found }));
  } catch (error) {
    console.log(JSON.stringify({ config: text, error: String(error.message ?? error) }));
  }
}
if (seed === '-') {
  for (const line of readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
    const config = JSON.parse(line);
    const events = [...new Set(nodes(config).flatMap(([node]) => Object.keys(node.on ?? {})))].filter((e) => !e.includes('*') && !e.startsWith('xstate.'));
    show(config, events.length ? events : ['NOTHING']);
  }
} else {
  for (let i = 0; i < Number(count); i++) show(machine(), [...EVENTS, 'Z']);
}
