// One task: the request, its agents, the conversation, what changed, whether it passes, what it cost, and how to
// steer it. Separate from `instance`, which shows the machine behind it.
import { get, path, text } from './api.js';
import { askCard, askKey } from './ask.js';
import { badgesOf } from './badges.js';
import { cancel, fork, pause, resume, retry } from './acting.js';
import { Changes } from './changes.js';
import { fill, h, keyed, steady } from './dom.js';
import { Drawing } from './drawing.js';
import { empty, failed } from './empty.js';
import { Journal } from './journal.js';
import { bind } from './keys.js';
import { announce, doing } from './notices.js';
import { Overview } from './overview.js';
import { Panels } from './panels.js';
import { note } from './route.js';
import { Steering } from './steering.js';
import { TaskHead } from './task_head.js';
import { Transcript } from './transcript.js';
import { raiseLimit } from './raising.js';
import { statusAfter } from './words.js';

const NARROW = '(max-width: 1080px)';
const STEPS_MAX = 4000;

export function task(root, route, { may, follow }) {
  return new TaskView(root, route, may, follow);
}

class TaskView {
  constructor(root, route, may, follow) {
    const id = route.name;
    Object.assign(this, { root, id, may, followOther: follow, title: id, doc: null, drawn: false });
    this.transcript = new Transcript(id);
    this.overview = new Overview(id, { may });
    this.changes = new Changes(id, { may, counted: (files) => this.panels.count('changes', files) });
    this.journal = new Journal(id, () => this.path());
    this.drawing = new Drawing({ label: 'Diagram of the task', fitted: true });
    // The chart of a task is large and the same for all: what this one came through is shown first.
    this.isWhole = false;
    const extent = (isWhole, words) =>
      h('button', { class: 'segment', type: 'button', 'aria-pressed': String(isWhole === this.isWhole), on: { click: () => this.show(isWhole) } }, words);
    this.extents = [extent(false, 'Path taken'), extent(true, 'Whole chart')];
    this.extent = h('div', { class: 'segments task-extent', role: 'group', 'aria-label': 'Extent of the diagram' }, this.extents);
    this.asks = h('div', { class: 'talk-asks', 'aria-live': 'polite' });
    this.steering = new Steering(id, { may, sent: () => this.refresh() });
    this.head = new TaskHead(id, {
      may,
      acts: {
        retry: (button) => doing(button, () => retry(id)),
        resume: (button) => doing(button, () => resume(id)),
        pause: (button) => doing(button, () => pause(id)),
        raise: () => raiseLimit(id, this.doc),
        // A step that ended the task leaves nothing to continue.
        fork: () => fork(id, Math.max(0, this.doc.last_step - (this.doc.status === 'ended' ? 1 : 0)), this.doc.context, 'tasks'),
        cancel: () => cancel(id),
      },
    });
    this.scroll = h('div', { class: 'talk-scroll', tabindex: 0, role: 'log', 'aria-label': 'Conversation', 'aria-live': 'off' }, this.transcript.element);
    // A request or a longer message leaves less room: the end stays in sight.
    this.atEnd = true;
    this.scroll.addEventListener('scroll', () => (this.atEnd = this.transcript.pinned()), { passive: true });
    this.room = new ResizeObserver(() => this.atEnd && this.transcript.scroll());
    this.room.observe(this.scroll);
    this.talk = h('div', { class: 'talk' }, this.scroll, this.asks, this.steering.element);
    this.left = h('section', { class: 'task-talk', 'aria-label': 'Conversation' });
    this.panels = new Panels({
      label: 'Task',
      chosen: (key) => note({ tab: key }),
      panels: [
        { key: 'talk', title: 'Conversation', element: h('div', { class: 'talk-place' }), shown: () => this.transcript.scroll() },
        { key: 'overview', title: 'Overview', element: this.overview.element },
        { key: 'changes', title: 'Changes', element: this.changes.element, shown: () => this.changes.read() },
        {
          key: 'chart',
          title: 'Chart',
          element: h('div', { class: 'task-chart' }, h('div', { class: 'drawing-card' }, this.drawing.element, this.extent)),
          shown: () => this.draw(),
        },
      ],
    });
    this.body = h('div', { class: 'task-view' }, this.left, this.panels.element);
    root.append(this.head.element, this.body);
    this.narrow = matchMedia(NARROW);
    this.narrow.addEventListener('change', (this.fitted = () => this.place()));
    this.refresh = steady(() => this.read().catch(() => {}), 150);
    this.reread = steady(() => this.changes.read(), 400);
    this.unbind = bind('Task', this.keys());
    this.place();
    this.panels.choose(route.query.tab ?? (this.narrow.matches ? 'talk' : 'overview'));
    this.open();
  }

  /** The conversation is beside the rest where there is room, else the first tab. */
  place() {
    const { narrow, panels } = this;
    const first = panels.panels[0];
    first.tab.hidden = !narrow.matches;
    this.left.hidden = narrow.matches;
    (narrow.matches ? first.element : this.left).append(this.talk);
    if (!narrow.matches && panels.current === 'talk') panels.choose('overview');
    this.transcript.scroll();
  }

  async open() {
    try {
      await this.read();
    } catch (error) {
      return void this.refused(error);
    }
    await this.transcript.read();
    this.transcript.scroll();
    if (this.panels.current !== 'changes') this.changes.read();
    return undefined;
  }

  refused(error) {
    if (this.doc) return;
    const gone = error.status === 404;
    this.missing = gone;
    if (gone) this.followOther({});
    this.head.element.hidden = true;
    fill(
      this.body,
      gone
        ? empty({
            title: `Task ${this.id} not found`,
            lead: 'It may belong to another project, or the store was replaced.',
            commands: [['List instances', 'rawko ps --all']],
            isPage: true,
          })
        : failed(error, () => location.reload(), true),
    );
  }

  async read() {
    const doc = await get(path('instances', this.id));
    if (this.isClosed) return;
    this.doc = doc;
    this.transcript.of(doc.status);
    if (doc.title && this.title !== doc.title) {
      this.title = doc.title;
      document.title = `${doc.title} · rawko`;
    }
    this.head.show(doc);
    this.overview.show(doc);
    this.steering.show(doc);
    const asks = doc.waits?.asks ?? [];
    keyed(this.asks, asks, askKey, (ask) => askCard(ask, { may: this.may, answered: () => this.refresh() }));
    this.panels.count('talk', asks.length, 'person');
    this.journal.begin(doc.forked_from?.step ?? 0);
    this.journal.grow(doc.last_step ?? doc.step);
    if (!this.drawn) return;
    this.needSteps();
    // The journal may have been here before the document.
    this.path();
  }

  async draw() {
    this.drawn = true;
    this.needSteps();
    await this.path();
    this.drawing.view.fit(false);
  }

  show(isWhole) {
    this.isWhole = isWhole;
    this.extents.forEach((button, at) => button.setAttribute('aria-pressed', String(isWhole === (at === 1))));
    return this.draw();
  }

  /** Reads the drawing, again if the task took a transition that it does not have. */
  async picture() {
    const entries = this.journal.all();
    // The path is not known before the journal is here.
    if (!this.isWhole && !entries.length && this.journal.last > this.journal.first) return;
    const taken = [...new Set(entries.flatMap((entry) => entry.transitions ?? []))].sort((a, b) => a - b);
    const transitions = this.isWhole || !taken.length ? undefined : taken.join(',');
    if (this.pictured === (transitions ?? 'whole')) return;
    this.pictured = transitions ?? 'whole';
    try {
      const query = transitions === undefined ? { theme: 'light' } : { theme: 'light', transitions };
      this.drawing.put(await text(path('instances', this.id, 'drawing'), query, { accept: 'image/svg+xml' }));
      this.drawing.view.fit(false);
    } catch (error) {
      this.pictured = null;
      fill(this.drawing.frame, h('p', { class: 'muted pad' }, error.message));
    }
  }

  needSteps() {
    if (this.journal.last - this.journal.first <= STEPS_MAX) this.journal.needAll();
    else this.journal.need(this.journal.last - STEPS_MAX, this.journal.last);
  }

  /** Everything that the task did not come through is left out or faded. */
  async path() {
    if (!this.drawn || !this.doc) return;
    await this.picture();
    this.drawing.light(this.doc.configuration);
    this.drawing.trouble(this.doc.status === 'stalled');
    this.drawing.path(this.journal.all());
    this.drawing.badges(badgesOf(this.doc));
  }

  heard(type, data) {
    if (type === 'progress') return this.transcript.progress(data);
    if (type !== 'step') return undefined;
    if (this.missing) return void (data.instance === this.id && location.reload());
    if (data.instance === this.id) {
      this.journal.add(data);
      if (this.doc) Object.assign(this.doc, { configuration: data.configuration, status: statusAfter(data), step: data.step });
      this.path();
      if (data.status !== 'active') announce(`The task has ended: ${data.configuration.join(', ')}`);
    }
    this.transcript.stepped(data);
    this.refresh();
    this.reread();
    return undefined;
  }

  again() {
    this.read().catch((error) => this.refused(error));
    this.transcript.read();
    this.changes.read();
  }

  moved(route) {
    if (route.query.tab && route.query.tab !== this.panels.current) this.panels.choose(route.query.tab);
    return true;
  }

  keys() {
    const tab = (key) => () => this.panels.choose(key, true);
    return [
      { keys: '1', does: 'overview', run: tab('overview') },
      { keys: '2', does: 'changes', run: tab('changes') },
      { keys: '3', does: 'chart', run: tab('chart') },
      { keys: 'm', does: 'write a message', run: () => this.steering.focus() },
      { keys: 'p', does: 'pause or resume', run: () => this.head.toggle() },
    ];
  }

  gone() {
    this.isClosed = true;
    this.unbind();
    this.refresh.cancel();
    this.reread.cancel();
    this.room.disconnect();
    this.narrow.removeEventListener('change', this.fitted);
    for (const part of [this.journal, this.drawing]) part.destroy();
  }
}
