'use strict';
// Timing, the protocol's JSON lines, and the "must hold afterwards" checks.
const fs = require('fs');

// Wall clock and CPU time of one call, in nanoseconds.
function timed(work) {
  const cpu0 = process.cpuUsage();
  const wall0 = process.hrtime.bigint();
  const result = work();
  const wall = Number(process.hrtime.bigint() - wall0);
  const { user, system } = process.cpuUsage(cpu0);
  return { wall, cpu: (user + system) * 1000, result };
}

function reporter(peer, workload) {
  const line = (metric, value, cpu, unit, n) =>
    console.log(JSON.stringify({ peer, w: workload.toUpperCase(), metric, value, cpu, unit, n }));
  return {
    amount: (metric, value, unit, n) => line(metric, value, null, unit, n),
    // The time of one of n equal pieces of work, in a unit of so many nanoseconds.
    each: (metric, unit, nsPerUnit, t, n) => line(metric, t.wall / n / nsPerUnit, t.cpu / n / nsPerUnit, unit, n),
    check(what, got, want) {
      if (JSON.stringify(got) === JSON.stringify(want)) return;
      console.error(`${peer} ${workload}: ${what} is ${JSON.stringify(got)}, must be ${JSON.stringify(want)}`);
      process.exit(3);
    },
  };
}

const residentBytes = () => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync('/proc/self/status', 'utf8'))[1]) * 1024;

module.exports = { timed, reporter, residentBytes };
