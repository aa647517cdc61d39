// Starting something: a task in plain words, or an instance of a chart. Apart, because it is asked for from everywhere.
import { get, path, post } from './api.js';
import { fill, h } from './dom.js';
import { ask, field } from './dialog.js';
import { jsonInput } from './forms.js';
import { notice } from './notices.js';
import { go } from './route.js';

/** @param {{chart?: string}} options a chart that is meant already */
export function begin({ chart = null } = {}) {
  const kinds = [taskForm(), chartForm(chart)];
  let chosen = chart ? 1 : 0;
  const room = h('div', { class: 'stack' });
  const tabs = kinds.map((kind, at) =>
    h(
      'button',
      { class: 'segment', type: 'button', 'aria-pressed': String(at === chosen), on: { click: () => choose(at) } },
      kind.name,
    ),
  );
  function choose(at) {
    chosen = at;
    tabs.forEach((tab, index) => tab.setAttribute('aria-pressed', String(index === at)));
    fill(room, kinds[at].fields);
    room.querySelector('textarea, select, input')?.focus();
  }
  fill(room, kinds[chosen].fields);
  ask({
    title: 'Start',
    act: 'Start',
    wide: true,
    body: [h('div', { class: 'segments', role: 'group', 'aria-label': 'What to start' }, tabs), room],
    async work() {
      const receipt = await kinds[chosen].start();
      notice(`Started ${receipt.instance}.`);
      go(chosen === 0 ? 'tasks' : 'instances', receipt.instance);
    },
  });
}

function taskForm() {
  const task = h('textarea', {
    class: 'input',
    rows: 4,
    placeholder: 'Leave punctuation out of slugs, and number those that are taken',
  });
  const images = h('input', {
    class: 'input',
    type: 'file',
    accept: 'image/png,image/jpeg,image/gif,image/webp',
    multiple: true,
  });
  task.addEventListener('dragover', (event) => {
    if (event.dataTransfer?.types.includes('Files')) event.preventDefault();
  });
  task.addEventListener('drop', (event) => {
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    images.files = event.dataTransfer.files;
  });
  const agent = h('select', { class: 'input' }, h('option', { value: '' }, 'arbiter’s choice'));
  const iterations = h('input', { class: 'input number', type: 'number', min: 1, placeholder: '50' });
  const budget = h('input', { class: 'input number', type: 'number', min: 0, step: 'any', placeholder: 'no limit' });
  get(path('agents'))
    .then(({ agents }) =>
      agent.append(...agents.map((it) => h('option', { value: it.name }, it.displayName ?? it.name))),
    )
    .catch(() => {});
  return {
    name: 'A task',
    fields: [
      field(
        'Task',
        task,
        'In plain words. The arbiter selects an agent, the agent runs, the arbiter evaluates the result, until the task is complete.',
      ),
      field('Images', images, 'Or drop them on the task'),
      h(
        'div',
        { class: 'fields' },
        field('First agent', agent),
        field('Max. iterations', iterations),
        field('Max. cost (USD)', budget),
      ),
    ],
    async start() {
      if (!task.value.trim()) throw new Error('the task is empty; describe what to do');
      const body = { task: task.value.trim() };
      if (agent.value) body.agent = agent.value;
      if (iterations.value) body.max_iterations = Number(iterations.value);
      if (budget.value) body.max_budget_usd = Number(budget.value);
      if (images.files?.length) body.attachments = await Promise.all([...images.files].map(base64));
      return post(path('tasks'), body);
    },
  };
}

/** A file as an attachment of a request. */
function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve({ data: String(reader.result) }));
    reader.addEventListener('error', () => reject(new Error(`cannot read ${file.name}`)));
    reader.readAsDataURL(file);
  });
}

function chartForm(chosen) {
  const chart = h('select', { class: 'input', 'aria-label': 'Chart' });
  const input = jsonInput({ label: 'Input', placeholder: '{"amount": 30}' });
  const id = h('input', {
    class: 'input code',
    type: 'text',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'generated if empty',
  });
  const reading = get(path('charts'))
    .then(({ charts }) => {
      const offered = charts.filter((it) => it.latest !== false);
      chart.append(
        ...offered.map((it) => h('option', { value: it.id }, it.version ? `${it.id} ${it.version}` : it.id)),
      );
      if (chosen) chart.value = chosen;
    })
    .catch(() => {});
  return {
    name: 'A chart',
    fields: [
      field('Chart', chart),
      field('Input', input.control, 'JSON object; overrides the context declared in the chart'),
      input.trouble,
      field('Id', id),
    ],
    async start() {
      // A quick click comes before the charts are read.
      await reading;
      if (!chart.value) throw new Error('no chart to start; add one to .rawko/charts or upload one');
      const body = { chart: chart.value };
      const given = input.read();
      if (given !== undefined) body.input = given;
      if (id.value.trim()) body.id = id.value.trim();
      return post(path('instances'), body);
    },
  };
}
