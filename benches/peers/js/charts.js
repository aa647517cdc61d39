'use strict';
// The charts, and the event stream of W5: what every peer starts from.
const fs = require('fs');
const path = require('path');

const chartText = name => fs.readFileSync(path.join(__dirname, '..', '..', 'charts', name + '.json'), 'utf8');
const list = x => (x == null ? [] : Array.isArray(x) ? x : [x]);

// The top bit of a linear congruential generator: 1 is JUMP, 0 is NEXT.
function w5Bits(n) {
  const bits = new Uint8Array(n);
  let x = 42;
  for (let i = 0; i < n; i++) {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    bits[i] = x >>> 31;
  }
  return bits;
}

function w5Events(n, makeEvent) {
  const events = [makeEvent('NEXT'), makeEvent('JUMP')];
  return Array.from(w5Bits(n), bit => events[bit]);
}

// Where those events lead, worked out without any chart.
function w5End(n) {
  return 's' + w5Bits(n).reduce((state, bit) => (bit ? state * 7 + 3 : state + 1) % 1000, 0);
}

module.exports = { chartText, list, w5Events, w5End };
