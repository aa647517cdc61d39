// One instance: its drawing, its timeline and the panels beside them, kept in step with each other and with what happens. Apart
// from the parts, which do not know each other.
import { get, path, text } from './api.js';
import { badgesOf } from './badges.js';
import { calm, fill, h, say, steady } from './dom.js';
import { cancel, fork, pause, resume, retry, sendEvent } from './acting.js';
import { Drawing } from './drawing.js';
import { empty, failed } from './empty.js';
import { Head } from './head.js';
import { Journal } from './journal.js';
import { bind } from './keys.js';
import { migrate } from './migrate.js';
import { announce, doing } from './notices.js';
import { Panels } from './panels.js';
import { Present } from './present.js';
import { note } from './route.js';
import { StepPanel } from './step.js';
import { Steps } from './steps.js';
import { Timeline } from './timeline.js';
import { Transcript } from './transcript.js';
import { Tree } from './tree.js';
import { TONES, states, statusAfter, tone } from './words.js';

export function instance(root, route, { may, follow }) {
  return new InstanceView(root, route, may, follow);
}

class InstanceView {
  constructor(root, route, may, follow) {
    const id = route.name;
    Object.assign(this, {
      root,
      id,
      may,
      followOther: follow,
      title: id,
      doc: null,
      past: new AbortController(),
      settled: null,
    });
    this.journal = new Journal(id, () => this.grown());
    this.drawing = new Drawing({ label: `Diagram of ${id}` });
    this.timeline = new Timeline({
      entry: (step) => this.journal.entry(step),
      chosen: (step, live) => this.chosen(step, live),
      fork: may.operate ? () => this.fork() : null,
    });
    this.steps = new Steps({ journal: this.journal, chosen: (step) => this.timeline.to(step) });
    this.step = new StepPanel(this.journal);
    this.context = new Tree({ label: 'Context' });
    this.transcript = new Transcript(id);
    this.present = new Present(id, { may, changed: () => this.refresh() });
    this.head = new Head(id, {
      may,
      acts: {
        send: () => sendEvent(id, this.doc?.waits?.events ?? []),
        migrate: (button) => this.doc && doing(button, () => migrate([this.doc], { done: () => this.refresh() })),
        cancel: () => cancel(id),
        retry: (button) => doing(button, () => retry(id)),
        pause: (button) => doing(button, () => pause(id)),
        resume: (button) => doing(button, () => resume(id)),
      },
    });
    this.contextNote = h('p', { class: 'muted small-text' });
    this.panels = new Panels({
      label: 'Details',
      chosen: (key) => note({ tab: key }),
      panels: [
        { key: 'now', title: 'Now', element: this.present.element },
        { key: 'step', title: 'Step', element: this.step.element, shown: () => this.follow() },
        {
          key: 'context',
          title: 'Context',
          element: h('div', null, this.contextNote, this.context.element),
          shown: () => this.follow(),
        },
        {
          key: 'transcript',
          title: 'Transcript',
          element: this.transcript.element,
          shown: () => this.transcript.read().then(() => this.transcript.scroll()),
        },
        {
          key: 'journal',
          title: 'Journal',
          element: this.steps.element,
          shown: () => this.steps.choose(this.timeline.step),
        },
      ],
    });
    this.refresh = steady(() => this.read(), 120);
    this.settle = calm(() => this.lookBack(), 90);
    this.noteStep = calm(() => note({ step: this.timeline.live ? '' : String(this.timeline.step) }), 250);
    this.unbind = bind('Instance', this.keys());
    this.lay();
    this.asked = { step: route.query.step, tab: route.query.tab };
    this.panels.choose(route.query.tab ?? (route.query.step ? 'step' : 'now'));
    this.open();
  }

  lay() {
    this.body = h(
      'div',
      { class: 'instance' },
      h(
        'div',
        { class: 'instance-left' },
        h('section', { class: 'drawing-card', 'aria-label': 'Diagram' }, this.drawing.element),
        this.timeline.element,
      ),
      this.panels.element,
    );
    this.root.append(this.head.element, this.body);
  }

  async open() {
    try {
      await this.read();
    } catch (error) {
      return void this.refused(error);
    }
    this.requestsFirst();
    const wanted = Number(this.asked.step);
    if (this.asked.step !== undefined && Number.isInteger(wanted)) this.timeline.to(wanted);
    else this.chosen(this.timeline.step, true);
    await this.draw();
    this.drawing.showActive();
    return undefined;
  }

  /** On a phone the drawing fills the screen, so a request is before it. Only at the beginning: nothing moves under a finger. */
  requestsFirst() {
    const isNarrow = matchMedia('(max-width: 1080px)').matches;
    if (isNarrow && this.panels.current === 'now' && this.doc.waits?.asks?.length) this.body.prepend(this.panels.element);
  }

  refused(error) {
    if (error.name === 'AbortError' || this.doc) return;
    const gone = error.status === 404;
    // Nothing streams for what is not there; it may begin any time.
    this.missing = gone;
    if (gone) this.followOther({});
    this.head.element.hidden = true;
    fill(
      this.body,
      gone
        ? empty({
            title: `Instance ${this.id} not found`,
            lead: 'It may belong to another project, or the store was replaced.',
            commands: [['List instances', 'rawko ps --all']],
            isPage: true,
          })
        : failed(error, () => location.reload(), true),
    );
  }

  /** What the instance is now. */
  async read() {
    const doc = await get(path('instances', this.id));
    if (this.left) return;
    const first = !this.doc;
    this.doc = doc;
    this.transcript.of(doc.status);
    this.journal.begin(doc.forked_from?.step ?? 0);
    this.journal.grow(doc.last_step ?? doc.step);
    this.timeline.grow(this.journal.last, this.journal.first);
    this.journal.need(this.journal.last - 40, this.journal.last);
    if (this.journal.last - this.journal.first <= 2000) this.journal.needAll();
    this.head.show(doc);
    this.present.show(doc);
    this.panels.count('now', doc.waits?.asks?.length ?? 0, 'person');
    if (!first && this.timeline.live) this.chosen(this.timeline.last, true);
    this.steps.changed();
  }

  async draw() {
    try {
      this.drawing.put(
        await text(path('instances', this.id, 'drawing'), { theme: 'light' }, { accept: 'image/svg+xml' }),
      );
      this.lightNow();
    } catch (error) {
      if (!this.left) fill(this.drawing.frame, h('p', { class: 'muted pad' }, error.message));
    }
  }

  /** The entry of a step that is on the screen may have arrived. */
  grown() {
    this.timeline.grow(this.journal.last);
    this.steps.changed();
    this.light();
  }

  lightNow() {
    this.light();
    this.drawing.showActive();
  }

  /** The drawing shows the step that is chosen: at once if its entry is here. */
  light(options) {
    const { step, live } = this.timeline;
    const entry = this.journal.entry(step);
    const configuration = live
      ? this.doc?.configuration
      : (entry?.configuration ?? (this.settled?.step === step ? this.settled.configuration : null));
    if (configuration) this.drawing.light(configuration, options);
    this.drawing.trouble(live ? this.doc?.status === 'stalled' : entry?.status === 'error');
    this.drawing.took(live && !entry ? [] : entry?.transitions);
    this.drawing.badges(live && this.doc ? badgesOf(this.doc) : []);
    if (this.panels.current === 'step') this.step.show(step, entry);
  }

  /** Shows the chosen step: loaded parts at once, the rest if the reader stays. */
  chosen(step, live) {
    this.body.classList.toggle('past', !live);
    const before = this.shown;
    this.shown = step;
    this.light({ entered: true });
    if (!live && before !== undefined && step === before + 1) this.drawing.trace(this.journal.entry(step)?.transitions);
    if (this.panels.current === 'journal') this.steps.choose(step);
    else this.steps.list.chosen = step - this.journal.first;
    this.past.abort();
    this.past = new AbortController();
    this.settle();
    this.noteStep();
  }

  /** Reads what the instance was at the chosen step. */
  async lookBack() {
    const { step, live } = this.timeline;
    this.journal.need(step - 30, step + 30);
    if (live) return void this.put(this.doc);
    try {
      const state = await this.journal.stateAt(step, { signal: this.past.signal });
      if (this.left || this.timeline.step !== step) return;
      this.settled = state;
      this.put(state);
      this.drawing.showActive();
    } catch (error) {
      if (error.name !== 'AbortError') say(this.contextNote, error.message);
    }
  }

  /** Context and step follow what is looked at. */
  put(state) {
    if (!state) return;
    const { step, live } = this.timeline;
    const entry = this.journal.entry(step);
    say(this.contextNote, live ? `Current context, at step ${step}.` : `Context after step ${step}.`);
    this.context.show(state.context ?? {}, { changed: (entry?.changes ?? []).map((change) => change.key) });
    this.light();
  }

  follow() {
    this.light();
    this.settle();
  }

  fork() {
    const step = this.timeline.step;
    this.journal.stateAt(step).then(
      (state) => fork(this.id, step, state.context),
      () => fork(this.id, step, this.doc?.context),
    );
  }

  heard(type, data) {
    if (type === 'progress') return this.transcript.progress(data);
    if (type !== 'step') return undefined;
    if (this.missing) return void (data.instance === this.id && location.reload());
    if (data.instance === this.id) this.stepped(data);
    this.refresh();
    if (this.panels.current === 'transcript' || this.transcript.pieces.size) this.transcript.stepped(data);
    return undefined;
  }

  stepped(entry) {
    this.journal.add(entry);
    this.timeline.grow(this.journal.last);
    this.steps.changed();
    if (!this.timeline.live) return;
    const now = { configuration: entry.configuration, status: statusAfter(entry), step: entry.step };
    Object.assign(this.doc ?? {}, now);
    this.shown = entry.step;
    this.drawing.trace(entry.transitions);
    this.light({ entered: true });
    this.drawing.showActive();
    announce(
      `${entry.title ?? 'step'}: ${states(entry.configuration)}${entry.status === 'active' ? '' : `, ${TONES[tone({ ...entry, ...now })] ?? now.status}`}`,
    );
  }

  again() {
    this.read().catch((error) => this.refused(error));
    if (this.panels.current === 'transcript') this.transcript.read();
  }

  /** The address changed within this view: a link to a step, or the browser's way back. */
  moved(route) {
    if (route.query.tab && route.query.tab !== this.panels.current) this.panels.choose(route.query.tab);
    const wanted = route.query.step === undefined ? null : Number(route.query.step);
    if (wanted === null && !this.timeline.live) this.timeline.follow();
    else if (wanted !== null && wanted !== this.timeline.step) this.timeline.to(wanted);
    return true;
  }

  keys() {
    const { timeline } = this;
    const tab = (key) => () => {
      this.panels.choose(key, true);
      this.panels.panels.find((panel) => panel.key === key).tab.focus();
    };
    return [
      { keys: 'ArrowLeft', does: 'previous step', run: () => timeline.to(timeline.step - 1) },
      { keys: 'ArrowRight', does: 'next step', run: () => timeline.to(timeline.step + 1) },
      { keys: 'Home', does: 'first step', run: () => timeline.to(timeline.first) },
      { keys: 'End', does: 'last step', run: () => timeline.to(timeline.last) },
      { keys: 'Space', does: 'play or pause', run: () => timeline.toggle() },
      { keys: 'l', does: 'follow live', run: () => timeline.follow() },
      { keys: '1', does: 'now', run: tab('now') },
      { keys: '2', does: 'step', run: tab('step') },
      { keys: '3', does: 'context', run: tab('context') },
      { keys: '4', does: 'transcript', run: tab('transcript') },
      { keys: '5', does: 'journal', run: tab('journal') },
      { keys: 'f', does: 'fork from this step', run: () => this.may.operate && this.fork() },
      {
        keys: 's',
        does: 'send an event',
        run: () => this.may.operate && sendEvent(this.id, this.doc?.waits?.events ?? []),
      },
      { keys: '0', does: 'fit the diagram', run: () => this.drawing.view.fit() },
      { keys: '.', does: 'show active states', run: () => this.drawing.showActive(true) },
    ];
  }

  gone() {
    this.left = true;
    this.unbind();
    this.past.abort();
    for (const timer of [this.refresh, this.settle, this.noteStep]) timer.cancel();
    for (const part of [this.journal, this.drawing, this.timeline, this.steps]) part.destroy();
  }
}
