'use strict';
// node --expose-gc bench.js xstate|scion WORKLOAD [N]
const { chartText, w5Events, w5End } = require('./charts.js');
const { timed, reporter, residentBytes } = require('./measure.js');

const [peer, workload, count] = process.argv.slice(2);
const { start, factory, restoresMax } = require({ xstate: './xstate.js', scion: './scion.js' }[peer]);
const report = reporter(peer, workload);
const read = name => JSON.parse(chartText(name));
const nOr = n => Number(count) || n;

// Sends one event n times to a warmed-up program and a fresh instance; returns the instance.
function sendMany({ chart, context, event: name, n, warmUp }) {
  const first = start(read(chart));
  const event = first.event(name);
  for (let i = 0; i < warmUp; i++) first.send(event);
  const instance = start(read(chart), context);
  const t = timed(() => { for (let i = 0; i < n; i++) instance.send(event); });
  report.each('ns_per_event', 'ns', 1, t, n);
  return instance;
}

const workloads = {
  w1() {
    const n = nOr(1e6);
    const instance = sendMany({ chart: 'w1', event: 'TOGGLE', n, warmUp: 20000 });
    report.check('the state', instance.leaves(), [n % 2 ? 'on' : 'off']);
  },
  w2() {
    const n = nOr(1e6);
    const instance = sendMany({ chart: 'w2', context: { limit: n }, event: 'INC', n, warmUp: 20000 });
    report.check('done, count', [instance.done(), instance.context().count], [true, n]);
  },
  w3() {
    const n = nOr(1e5);
    const instance = sendMany({ chart: 'w3', event: 'STEP', n, warmUp: 5000 });
    const leaf = ['A_x', 'A_y', 'B_x', 'B_y'][n % 4];
    report.check('the states', instance.leaves(), [0, 1, 2, 3].map(region => `r${region}_${leaf}`));
  },
  w4() {
    const n = nOr(5e4);
    const { entered, exited } = sendMany({ chart: 'w4', event: 'FLIP', n, warmUp: 2000 }).context();
    report.check('entered, exited', [entered, exited], [12 * (n + 1), 12 * n]);
  },
  w4b() {
    const n = nOr(5e5);
    const { ticks, entered } = sendMany({ chart: 'w4', event: 'TICK', n, warmUp: 20000 }).context();
    report.check('ticks, entered', [ticks, entered], [n, 12]);
  },
  w5() {
    const n = nOr(3e5);
    const text = chartText('w5');
    const load = () => timed(() => start(JSON.parse(text)));
    report.each('load_ms', 'ms', 1e6, load(), 1);
    const warm = Array.from({ length: 11 }, load).sort((a, b) => a.wall - b.wall);
    report.each('load_warm_ms', 'ms', 1e6, warm[5], 1);
    const first = start(JSON.parse(text));
    const events = w5Events(n, first.event);
    for (let i = 0; i < 20000 && i < n; i++) first.send(events[i]);
    const instance = start(JSON.parse(text));
    const t = timed(() => { for (let i = 0; i < n; i++) instance.send(events[i]); });
    report.check('the state', instance.leaves(), [w5End(n)]);
    report.each('ns_per_event', 'ns', 1, t, n);
  },
  w6() {
    const n = nOr(20000);
    const instance = start(read('w3'));
    for (let i = 0; i < 5; i++) instance.send(instance.event('STEP'));
    const text = instance.save();
    const restores = Math.min(n, restoresMax);
    for (let i = 0; i < restores / 10; i++) { instance.save(); instance.restore(text); }
    const save = timed(() => { for (let i = 0; i < n; i++) instance.save(); });
    const restore = timed(() => { for (let i = 0; i < restores; i++) instance.restore(text); });
    report.check('the states', instance.leavesOf(instance.restore(text)), instance.leaves());
    report.each('save_us', 'us', 1e3, save, n);
    report.each('restore_us', 'us', 1e3, restore, restores);
    report.amount('saved_bytes', Buffer.byteLength(text), 'B', 1);
  },
  w7() {
    const n = nOr(1e5);
    const make = factory(read('w2'));
    for (let i = 0; i < 2000; i++) make();
    gc(); gc();
    const before = residentBytes();
    const kept = new Array(n);
    const t = timed(() => { for (let i = 0; i < n; i++) kept[i] = make(); });
    gc(); gc();
    report.amount('bytes_each', (residentBytes() - before) / n, 'B', n);
    report.amount('created_per_s', n / (t.wall / 1e9), '1/s', n);
    report.check('instances kept', kept.filter(Boolean).length, n);
  },
};
workloads[workload]();
