'use strict';
// node first.js xstate|scion: from process start to the first transition, as `rawko simulate` does it: read the chart,
// start an instance, then one line of JSON for each event that arrives. Loads nothing it does not need.
const readline = require('readline');
const { chartText } = require('./charts.js');

const { start } = require({ xstate: './xstate.js', scion: './scion.js' }[process.argv[2]]);
const instance = start(JSON.parse(chartText('w1')));
const show = () => console.log(JSON.stringify({ configuration: instance.leaves() }));
show();
readline.createInterface({ input: process.stdin }).on('line', line => {
  instance.send(instance.event(JSON.parse(line).type));
  show();
});
