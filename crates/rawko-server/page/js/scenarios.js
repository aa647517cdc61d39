// The scenarios of a chart beside it: which pass, and what they cover, on the drawing. Separate from the simulator, which
// records them.
import { get, path, post } from './api.js';
import { ask, field } from './dialog.js';
import { fill, h, say } from './dom.js';
import { icon } from './icons.js';
import { doing, notice, regret } from './notices.js';
import { plural } from './words.js';

export class Scenarios {
  /** @param {{drawing: import('./drawing.js').Drawing, chart: () => {id: string, version: string | null} | null}} world */
  constructor({ drawing, chart }) {
    Object.assign(this, { drawing, chart, tests: null });
    this.summary = h('strong', { role: 'status' });
    this.run = h('button', { class: 'button small', type: 'button', on: { click: () => doing(this.run, () => this.read()) } }, icon('play', 14), h('span', null, 'Run tests'));
    this.list = h('ul', { class: 'facts' });
    this.bars = h('div', { class: 'coverage' });
    this.hint = h('p', { class: 'muted' });
    this.element = h('div', { class: 'stack' }, h('div', { class: 'row' }, this.summary, h('span', { class: 'grow' }), this.run), this.bars, this.list, this.hint);
  }

  /** Shows coverage on the drawing, and what is known; the tests are run the first time. */
  open() {
    this.on = true;
    if (this.tests) this.cover();
    else this.read().catch(regret);
  }

  close() {
    this.on = false;
    this.drawing.path([]);
  }

  /** The text changed: the coverage is of another text. */
  stale() {
    this.drawing.path([]);
  }

  async read() {
    const chart = this.chart();
    if (!chart) {
      say(this.hint, 'Save the chart to test it.');
      return;
    }
    this.show(await get(path('charts', chart.id, 'tests'), { version: chart.version }));
  }

  show(tests) {
    this.tests = tests;
    const { scenarios, problems, coverage } = tests;
    const failed = scenarios.filter((it) => !it.passed).length;
    say(this.summary, scenarios.length ? `${plural(scenarios.length - failed, 'scenario')} passed${failed ? `, ${failed} failed` : ''}` : 'No scenarios yet');
    say(this.hint, scenarios.length ? 'On the diagram, states and transitions that no scenario visits are faded.' : 'Simulate the chart and choose “Save as test”, or write NAME.scenario.yaml beside it.');
    fill(
      this.list,
      problems.map((text) => h('li', { class: 'bad' }, icon('error'), h('pre', { class: 'wrap', tabindex: 0 }, text))),
      scenarios.map((it) =>
        h(
          'li',
          { data: { passed: String(it.passed) } },
          icon(it.passed ? 'check' : 'error'),
          h('span', { class: 'grow' }, h('strong', null, it.name), h('span', { class: 'muted' }, ` ${it.file}:${it.line}`), it.failures.map((text) => h('span', { class: 'scenario-failure' }, text))),
          h('span', { class: 'muted' }, it.passed ? 'passed' : 'failed'),
        ),
      ),
    );
    fill(this.bars, coverage ? [bar('States', coverage.states_covered, coverage.states), bar('Transitions', coverage.transitions_covered, coverage.transitions)] : null);
    if (this.on) this.cover();
  }

  cover() {
    const { coverage } = this.tests;
    this.drawing.path(coverage ? [{ entered: coverage.entered, transitions: coverage.taken }] : []);
  }

  /** Asks for a name and records a run of the simulation. */
  record(run, save) {
    const name = h('input', { class: 'input', type: 'text', required: true, placeholder: 'a large order waits for a person' });
    ask({
      title: 'Save as test',
      lead: `Records ${plural(run.stimuli.length, 'step')} with states, changed context and calls as expectations. rawko test runs it.`,
      act: 'Save test',
      body: [field('Name', name)],
      work: async () => {
        if (!name.value.trim()) throw new Error('a name is required');
        await save();
        const chart = this.chart();
        const tests = await post(path('charts', chart.id, 'scenarios'), { name: name.value.trim(), version: chart.version, ...run });
        notice(`Saved “${name.value.trim()}”; it passes.`);
        this.show(tests);
      },
    });
  }
}

function bar(name, covered, total) {
  const part = total ? covered / total : 1;
  return h('div', { class: 'coverage-row' }, h('span', null, name), h('meter', { min: 0, max: 1, value: part, 'aria-label': `${name} covered` }), h('span', { class: 'number muted' }, `${covered} of ${total}`));
}
