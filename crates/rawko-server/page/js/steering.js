// The box below a conversation: a message for running agents, or what to do next once they are done. Separate from the
// task's view, because what it does depends on the task's status alone.
import { path, post } from './api.js';
import { h, say } from './dom.js';
import { TASK_CHART } from './filters.js';
import { icon } from './icons.js';
import { doing, notice } from './notices.js';
import { go } from './route.js';

export class Steering {
  constructor(id, { may, sent }) {
    Object.assign(this, { id, may, sent, over: false });
    this.area = h('textarea', { class: 'input', rows: 2, 'aria-label': 'Message to the agents' });
    this.word = h('span', null, 'Send');
    this.button = h('button', { class: 'button primary', type: 'submit' }, icon('send'), this.word);
    this.hint = h('small', { class: 'hint' });
    this.element = h('form', { class: 'steer', hidden: !may.operate }, this.area, this.button, this.hint);
    this.element.addEventListener('submit', (event) => {
      event.preventDefault();
      doing(this.button, () => this.send());
    });
    this.area.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      doing(this.button, () => this.send());
    });
  }

  focus() {
    this.area.focus();
  }

  show(doc) {
    // An agent is steered through its task.
    this.element.hidden = !this.may.operate || doc.chart !== TASK_CHART;
    this.over = doc.status === 'ended';
    const paused = doc.status === 'paused';
    say(this.word, this.over ? 'Continue' : paused ? 'Send and resume' : 'Send');
    this.area.placeholder = this.over ? 'What should be done next?' : 'Message to the agents';
    say(
      this.hint,
      this.over
        ? 'Starts a new task that knows this conversation.'
        : 'Read before the next completion. Enter sends, Shift+Enter starts a new line.',
    );
  }

  async send() {
    const text = this.area.value.trim();
    if (!text) return void this.area.focus();
    const receipt = await post(path('tasks', this.id, 'continue'), { text });
    this.area.value = '';
    if (receipt && receipt.instance !== this.id) {
      notice('Started a task that continues this one.');
      return void go('tasks', receipt.instance);
    }
    notice('Message sent.');
    this.sent();
    return undefined;
  }
}
