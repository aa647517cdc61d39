// Higher limits for a task that stopped at one. Separate from the other actions, because its form depends on the limit.
import { path, post } from './api.js';
import { ask, field } from './dialog.js';
import { h } from './dom.js';
import { notice } from './notices.js';
import { go } from './route.js';
import { cost } from './words.js';

/** Asks for the limit that was reached; the others may stay. */
export function raiseLimit(id, doc) {
  const output = doc?.output ?? {};
  const code = output.problem?.code ?? '';
  const used = output.iterations ?? doc?.context?.iterationCount ?? 0;
  const spent = doc?.spent?.cost_usd ?? 0;
  const number = (value) => h('input', { class: 'input', type: 'number', min: 1, step: 'any', value });
  const iterations = number(code === 'max_iterations' ? String(Math.max(1, used) * 2) : '');
  const budget = number('');
  const time = h('input', { class: 'input', type: 'text', placeholder: '30m', value: code === 'timeout' ? '30m' : '' });
  ask({
    title: 'Raise the limit',
    lead: 'The task continues from where it stopped, in a new instance with the higher limit.',
    act: 'Continue',
    body: [
      field('Agent runs in total', iterations, `Used: ${used}`),
      field('Budget in total (USD)', budget, `Spent: ${cost(spent)}`),
      code === 'timeout' ? field('More time', time, 'For example 30m or 2h') : null,
    ],
    async work() {
      const body = {};
      if (iterations.value) body.max_iterations = Math.trunc(Number(iterations.value));
      if (budget.value) body.max_budget_usd = Number(budget.value);
      if (code === 'timeout' && time.value.trim()) body.timeout = time.value.trim();
      const receipt = await post(path('tasks', id, 'raise'), body);
      notice('The task continues with the higher limit.');
      go('tasks', receipt.instance);
    },
  });
}
