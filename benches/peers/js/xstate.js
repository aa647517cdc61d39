'use strict';
// XState v5: our chart document as a createMachine configuration, run by an actor (its fastest public way).
const { assign, createActor, createMachine } = require('xstate');
const { list } = require('./charts.js');

function toMachine(document, contextOverride) {
  const chart = document.statechart;
  const compile = text => new Function(`return ({ context, event }) => (${text})`)();
  const mapValues = (object, f) => Object.fromEntries(Object.entries(object || {}).map(([k, v]) => [k, f(v, k)]));
  const named = mapValues(chart.actions, action => assign(mapValues(action.context_updates, compile)));
  const actions = names => list(names).map(name => named[name]);
  const transition = t => ({
    ...(t.target && { target: '#' + t.target }),
    ...(t.guard && { guard: compile(t.guard) }),
    ...(t.actions && { actions: actions(t.actions) }),
  });
  const transitions = ts => list(ts).map(transition);
  function node(state, id) {
    const result = { id };
    if (state.type === 'final') result.type = 'final';
    if (state.entry) result.entry = actions(state.entry);
    if (state.exit) result.exit = actions(state.exit);
    if (state.on) result.on = mapValues(state.on, transitions);
    if (state.always) result.always = transitions(state.always);
    if (state.regions) {
      result.type = 'parallel';
      result.states = Object.fromEntries(state.regions.map(region => [region.id, node(region, region.id)]));
    } else if (state.states) {
      result.initial = state.initial;
      result.states = mapValues(state.states, node);
    }
    return result;
  }
  const context = { ...chart.context, ...contextOverride };
  return createMachine({ id: chart.id, initial: chart.initial, context, states: mapValues(chart.states, node) });
}

function leaves(actor) {
  const nodes = actor.getSnapshot()._nodes;
  return nodes.filter(node => node.type === 'atomic' || node.type === 'final').map(node => node.id).sort();
}

function start(document, contextOverride) {
  const machine = toMachine(document, contextOverride);
  const actor = createActor(machine).start();
  return {
    event: type => ({ type }),
    send: event => actor.send(event),
    context: () => actor.getSnapshot().context,
    done: () => actor.getSnapshot().status === 'done',
    leaves: () => leaves(actor),
    save: () => JSON.stringify(actor.getPersistedSnapshot()),
    restore: text => createActor(machine, { snapshot: JSON.parse(text) }).start(),
    leavesOf: leaves,
  };
}

// Makes instances of one chart: what is shared between them is built once.
function factory(document) {
  const machine = toMachine(document);
  return () => createActor(machine).start();
}

module.exports = { start, factory, restoresMax: Infinity };
