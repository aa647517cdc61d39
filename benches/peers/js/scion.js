'use strict';
// SCION: our chart document as its JSON model, bound to one context object (what SCXML calls the datamodel).
const { Statechart } = require('@scion-scxml/core');
const { list } = require('./charts.js');

function toModel(document, context) {
  const chart = document.statechart;
  const compile = text => new Function('context', 'event', `return (${text})`);
  const named = {};
  for (const [name, action] of Object.entries(chart.actions || {})) {
    const updates = Object.entries(action.context_updates).map(([key, text]) => [key, compile(text)]);
    named[name] = event => { for (const [key, f] of updates) context[key] = f(context, event); };
  }
  const actions = names => list(names).map(name => named[name]);
  function transition(event, t) {
    const result = {};
    if (event) result.event = event;
    if (t.target) result.target = t.target;
    if (t.guard) {
      const guard = compile(t.guard);
      result.cond = e => guard(context, e);
    }
    if (t.actions) result.onTransition = actions(t.actions)[0];
    return result;
  }
  function node(id, state) {
    const result = { id, transitions: [] };
    if (state.type === 'final') result.$type = 'final';
    if (state.entry) result.onEntry = actions(state.entry);
    if (state.exit) result.onExit = actions(state.exit);
    for (const [event, ts] of Object.entries(state.on || {})) {
      for (const t of list(ts)) result.transitions.push(transition(event, t));
    }
    for (const t of list(state.always)) result.transitions.push(transition(null, t));
    if (state.regions) {
      result.$type = 'parallel';
      result.states = state.regions.map(region => node(region.id, region));
    } else if (state.states) {
      result.initial = state.initial;
      result.states = Object.entries(state.states).map(([key, child]) => node(key, child));
    }
    return result;
  }
  return {
    initial: chart.initial,
    states: Object.entries(chart.states).map(([key, state]) => node(key, state)),
    $serializeDatamodel: () => ({ ...context }),
    $deserializeDatamodel: saved => Object.assign(context, saved),
  };
}

const leaves = chart => chart.getConfiguration().sort();

function start(document, contextOverride) {
  const context = { ...document.statechart.context, ...contextOverride };
  const chart = new Statechart(() => toModel(document, context));
  chart.start();
  return {
    event: name => ({ name }),
    send: event => chart.gen(event),
    context: () => context,
    done: () => chart.isFinal(),
    leaves: () => leaves(chart),
    save: () => JSON.stringify(chart.getSnapshot()),
    restore: text => new Statechart(() => toModel(document, {}), { snapshot: JSON.parse(text) }),
    leavesOf: leaves,
  };
}

// SCION binds actions to one context, so each instance needs its own model.
function factory(document) {
  return () => {
    const context = { ...document.statechart.context };
    const chart = new Statechart(() => toModel(document, context));
    chart.start();
    return chart;
  };
}

// Restoring builds the model anew, which is slow enough that fewer repetitions do.
module.exports = { start, factory, restoresMax: 2000 };
