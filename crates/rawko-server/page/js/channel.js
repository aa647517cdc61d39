// One channel: its messages, whose turn it is and for how long, who is next, and a box to speak. Apart from the list of channels.
import { get, path, post } from './api.js';
import { countdown } from './clock.js';
import { calmly, fill, h, steady } from './dom.js';
import { ask, field } from './dialog.js';
import { failed } from './empty.js';
import { icon } from './icons.js';
import { bind } from './keys.js';
import { announce, doing, notice } from './notices.js';
import { prose } from './prose.js';
import { go, href } from './route.js';
import { face } from './turns.js';
import { membersOf } from './channels.js';
import { fullMoment, moment } from './words.js';

const STATES = {
  OFFLINE: 'offline',
  IDLE: 'idle',
  QUEUED: 'queued',
  ACTIVE: 'active',
  WAITING: 'waiting',
};
const WAITS = { running: '', waiting: 'waiting', interrupted: 'interrupted', paused: 'paused' };
const NAME_KEY = 'rawko-name';
/** The most pages of missed messages. */
const PAGES_MAX = 10;

export function channel(root, route, { may }) {
  return new ChannelView(root, route.name, may);
}

class ChannelView {
  constructor(root, name, may) {
    Object.assign(this, { root, name, may, title: `#${name}`, last: 0, reading: false, stale: false, known: false });
    this.messages = h('ol', { class: 'messages', role: 'list', 'aria-label': 'Messages', tabindex: 0 });
    this.turn = h('div', { class: 'turn-clock' });
    this.queue = h('ol', { class: 'queue', role: 'list' });
    this.acts = h('div', { class: 'row' });
    this.words = h('textarea', {
      class: 'input',
      rows: 2,
      placeholder: `Message #${name}`,
      'aria-label': 'Message',
    });
    this.as = h('input', {
      class: 'input as-name',
      type: 'text',
      'aria-label': 'Your name',
      placeholder: 'Your name',
      autocomplete: 'nickname',
      value: rememberedName(),
    });
    this.send = h('button', { class: 'button primary', type: 'submit' }, icon('send'), 'Send');
    this.form = h('form', { class: `speak${may.claimName ? ' named' : ''}` }, may.claimName ? this.as : null, this.words, this.send);
    this.form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.speak();
    });
    this.words.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.speak();
    });
    this.body = h(
      'div',
      { class: 'channel' },
      h('div', { class: 'channel-talk' }, this.messages, may.operate ? this.form : null),
      h(
        'aside',
        { class: 'channel-side', 'aria-label': 'Turns' },
        h('section', { class: 'part' }, h('h2', null, 'Turn'), this.turn, this.acts),
        h('section', { class: 'part' }, h('h2', null, 'Queue'), this.queue),
      ),
    );
    root.append(
      h(
        'div',
        { class: 'view-head' },
        h('p', { class: 'crumbs' }, h('a', { href: href('channels') }, 'Channels')),
        h('h1', null, `# ${name}`),
      ),
      this.body,
    );
    this.refresh = steady(() => this.read(), 120);
    this.unbind = bind('Channel', [{ keys: 'c', does: 'write a message', run: () => this.words.focus() }]);
    this.read();
  }

  async read() {
    if (this.reading) {
      this.stale = true;
      return;
    }
    this.reading = true;
    try {
      const answer = await get(path('channels', this.name));
      const messages = await this.caughtUp(answer.messages);
      if (!this.left) this.show({ ...answer, messages });
    } catch (error) {
      if (!this.known && !this.left)
        fill(
          this.body,
          failed(error, () => location.reload()),
        );
    } finally {
      this.reading = false;
      if (this.stale) {
        this.stale = false;
        this.refresh();
      }
    }
  }

  /** A channel comes with its last messages only: after a longer absence the messages between are read. */
  async caughtUp(messages) {
    const first = messages[0]?.number ?? 0;
    const between = [];
    for (let page = 0, after = this.last; after && after < first - 1; page += 1) {
      if (page === PAGES_MAX) {
        // Too many to read: start anew, as on the first visit.
        this.last = 0;
        return messages;
      }
      const answer = await get(path('channels', this.name, 'messages'), { after, limit: 500 });
      between.push(...answer.messages.filter((message) => message.number < first));
      after = answer.next;
    }
    return [...between, ...messages];
  }

  show({ channel: it, messages, turn, queue }) {
    this.known = true;
    this.post(messages);
    this.clock(it, turn);
    this.line(it, queue, turn);
    if (this.may.operate) this.steer(it, turn);
  }

  /** New messages go below; a reader further up stays there. */
  post(messages) {
    const fresh = messages.filter((message) => message.number > this.last);
    if (!fresh.length && this.messages.children.length) return;
    if (!messages.length)
      return void fill(this.messages, h('li', { class: 'muted pad' }, 'No messages yet.'));
    const pinned = this.messages.scrollHeight - this.messages.scrollTop - this.messages.clientHeight < 80;
    const first = this.last === 0;
    if (first) this.messages.replaceChildren();
    for (const message of fresh) this.messages.append(messageOf(message, first));
    this.last = Math.max(this.last, ...fresh.map((message) => message.number));
    if (pinned || first) this.messages.scrollTop = this.messages.scrollHeight;
    if (!first) announce(fresh.map((message) => `${message.from ?? 'channel'}: ${message.text}`).join('. '));
  }

  clock(it, turn) {
    const key = JSON.stringify([turn, it?.paused_ms]);
    if (key === this.turnKey) return;
    this.turnKey = key;
    const paused = it?.paused_ms || turn?.state === 'paused';
    if (!turn)
      return void fill(
        this.turn,
        h('p', { class: 'muted' }, paused ? 'Paused.' : 'No active turn.'),
      );
    const bar = h('div', { class: 'clock-bar', 'aria-hidden': 'true' }, h('span'));
    const left =
      turn.deadline_ms && !paused
        ? h(
            'span',
            { class: 'clock-left' },
            countdown(turn.deadline_ms, bar, turn.since_ms),
            h('span', { class: 'muted' }, ' left'),
          )
        : h('span', { class: 'muted' }, paused ? 'paused' : (WAITS[turn.state] ?? ''));
    fill(
      this.turn,
      h('div', { class: 'clock-who' }, face(turn.agent), h('strong', { class: 'grow' }, turn.agent), left),
      bar,
      turn.reason
        ? h('p', { class: 'muted small-text' }, `waiting: ${turn.reason}`)
        : turn.state === 'interrupted'
          ? h('p', { class: 'muted small-text' }, 'interrupted by a person')
          : null,
    );
    return undefined;
  }

  line(it, queue, turn) {
    const members = membersOf(it);
    const state = (name) => members.find((member) => member.name === name)?.state;
    const names = (queue ?? []).map((one) => (typeof one === 'string' ? one : (one.agent ?? one.name)));
    const others = members.map((member) => member.name).filter((name) => !names.includes(name) && name !== turn?.agent);
    const key = JSON.stringify([names, others, members.map((member) => member.state), turn?.agent]);
    if (key === this.queueKey) return;
    this.queueKey = key;
    const row = (name, at) =>
      h(
        'li',
        null,
        h('span', { class: 'queue-place number' }, at === null ? '' : at + 1),
        face(name),
        h('span', { class: 'grow' }, name),
        h('span', { class: 'muted small-text' }, STATES[state(name)] ?? state(name) ?? ''),
      );
    fill(
      this.queue,
      names.filter((name) => name !== turn?.agent).map(row),
      others.map((name) => row(name, null)),
      members.length ? null : h('li', { class: 'muted' }, 'No agents in this channel.'),
    );
  }

  steer(it, turn) {
    const paused = Boolean(it?.paused_ms);
    const key = JSON.stringify([paused, Boolean(turn)]);
    if (key === this.actsKey) return;
    this.actsKey = key;
    const act = (name, words, action, more) => {
      const button = h(
        'button',
        { class: 'button small', type: 'button', on: { click: () => doing(button, () => this.act(action, more)) } },
        icon(name),
        words,
      );
      return button;
    };
    fill(
      this.acts,
      paused ? act('play', 'Resume', 'resume') : act('pause', 'Pause', 'pause'),
      turn ? act('forward', 'Skip', 'skip') : null,
      h(
        'button',
        { class: 'button small', type: 'button', on: { click: () => this.assign() } },
        icon('plus'),
        'Assign',
      ),
      h('button', { class: 'button quiet small', type: 'button', on: { click: () => this.close() } }, 'Close channel'),
    );
  }

  async act(action, more = {}) {
    await post(path('channels', this.name, 'actions'), { action, ...more });
    this.refresh();
  }

  assign() {
    const agent = h('input', {
      class: 'input',
      type: 'text',
      list: 'known-agents',
      autocomplete: 'off',
      spellcheck: 'false',
    });
    const known = h('datalist', { id: 'known-agents' });
    get(path('agents')).then(
      ({ agents }) => known.append(...agents.map((it) => h('option', { value: it.name }))),
      () => {},
    );
    ask({
      title: 'Assign an agent',
      lead: 'The agent joins the end of the queue. If no turn is active, its turn starts now.',
      act: 'Assign',
      body: [field('Agent', agent), known],
      work: () => {
        if (!agent.value.trim()) throw new Error('the agent name is required');
        return this.act('assign', { agent: agent.value.trim() });
      },
    });
  }

  close() {
    ask({
      title: `Close #${this.name}?`,
      lead: 'Its agents leave, and no more messages can be sent. Messages stay in the journal.',
      act: 'Close channel',
      tone: 'danger',
      work: async () => {
        await this.act('close');
        notice(`Closed #${this.name}.`);
        go('channels');
      },
    });
  }

  by() {
    if (!this.may.claimName) return undefined;
    const name = this.as.value.trim();
    rememberName(name);
    return name || undefined;
  }

  async speak() {
    const text = this.words.value.trim();
    if (!text) return;
    await doing(this.send, async () => {
      const body = { text };
      if (this.by()) body.by = this.by();
      await post(path('channels', this.name, 'messages'), body);
      this.words.value = '';
      await this.read();
      this.messages.scrollTop = this.messages.scrollHeight;
    });
  }

  heard(type, data) {
    if (type === 'channel' && data.name === this.name) this.refresh();
  }

  again() {
    this.refresh();
  }

  gone() {
    this.left = true;
    this.unbind();
    this.refresh.cancel();
  }
}

function messageOf(message, first) {
  const author = message.from ?? 'channel';
  const fresh = first || calmly() ? '' : ' arrived';
  if (message.kind === 'notice')
    return h(
      'li',
      { class: `message notice-line${fresh}` },
      h('span', null, message.text),
      h('time', { class: 'number', title: fullMoment(message.at_ms) }, moment(message.at_ms)),
    );
  return h(
    'li',
    { class: `message by-${message.kind}${fresh}` },
    face(author),
    h(
      'div',
      { class: 'message-body' },
      h(
        'div',
        { class: 'turn-head' },
        h('strong', null, author),
        message.kind === 'person' ? h('span', { class: 'tag' }, 'person') : null,
        message.late ? h('span', { class: 'tag' }, 'late') : null,
        h('time', { class: 'turn-time number', title: fullMoment(message.at_ms) }, moment(message.at_ms)),
      ),
      prose(message.text),
    ),
  );
}

function rememberedName() {
  try {
    return localStorage.getItem(NAME_KEY) ?? '';
  } catch {
    return '';
  }
}

function rememberName(name) {
  try {
    localStorage.setItem(NAME_KEY, name);
  } catch {
    // It is asked for again, that is all.
  }
}
