// The studio of one chart: its text, its findings, its drawing, a simulation, its tests and its properties. Separate from the list of charts, and
// from the parts, which know nothing of each other.
import { ask as question, get, path, post, text } from './api.js';
import { calm, fill, h, say } from './dom.js';
import { Drawing } from './drawing.js';
import { Editor } from './editor.js';
import { failed } from './empty.js';
import { Hints } from './hints.js';
import { icon } from './icons.js';
import { bind } from './keys.js';
import { migrateChart } from './migrate.js';
import { doing, notice } from './notices.js';
import { Panels } from './panels.js';
import { inline } from './prose.js';
import { go, href, note } from './route.js';
import { Scenarios } from './scenarios.js';
import { Simulator } from './simulator.js';
import { begin } from './start.js';
import { Verifier } from './verifier.js';
import { plural } from './words.js';

const FIRST = `statechart:
  id: door
  version: "1.0.0"
  initial: closed
  states:
    closed:
      on: {OPENED: open}
    open:
      on: {CLOSED: closed}
      after:
        30s: closed
`;

const SOURCES = { built_in: 'built in', uploaded: 'uploaded', stored: 'used by instances' };

/** Texts that were left without saving, by chart: they are there when one comes back. */
const drafts = new Map();

export function chart(root, route, { may }) {
  return new ChartView(root, route, may);
}

class ChartView {
  constructor(root, route, may) {
    const fresh = route.name === 'new';
    Object.assign(this, {
      root,
      id: route.name,
      version: route.query.version ?? null,
      may,
      fresh,
      title: fresh ? 'New chart' : route.name,
      checking: new AbortController(),
      original: '',
      source: null,
    });
    this.editor = new Editor({ label: 'Chart source', writable: true, changed: () => this.changed() });
    this.hints = new Hints(this.editor);
    this.drawing = new Drawing({ label: 'Chart diagram' });
    this.list = h('ol', { class: 'findings', role: 'list' });
    this.verdict = h('p', { class: 'verdict', role: 'status', 'aria-live': 'polite' });
    this.facts = h('span', { class: 'muted wrap' });
    this.versions = h('select', { class: 'input', 'aria-label': 'Version', hidden: true });
    this.versions.addEventListener('change', () => go('charts', this.id, { version: this.versions.value }));
    this.scenarios = new Scenarios({ drawing: this.drawing, chart: () => (this.fresh ? null : { id: this.id, version: this.version }) });
    this.simulator = new Simulator({ drawing: this.drawing, text: () => this.editor.text, may, record: (run) => this.scenarios.record(run, () => this.save()) });
    this.verifier = new Verifier({ text: () => this.editor.text, play: (trace) => this.play(trace) });
    this.panels = this.dock();
    this.buttons(root);
    this.body = h(
      'div',
      { class: 'chart' },
      h('section', { class: 'chart-text', 'aria-label': 'Source' }, this.editor.element),
      h('div', { class: 'chart-right' }, h('section', { class: 'drawing-card', 'aria-label': 'Diagram' }, this.drawing.element), this.panels.element),
    );
    root.append(this.head, this.body);
    this.listen();
    this.check = calm(() => this.look(), 260);
    this.panels.choose(route.query.tab ?? 'findings');
    if (fresh) this.begin(FIRST);
    else this.read();
  }

  dock() {
    // One part has the drawing at a time.
    const turn = (own) => () => {
      for (const part of [this.simulator, this.scenarios, this.verifier]) if (part !== own && part.on) part.close();
      own?.open();
      if (this.body) this.body.dataset.tab = this.panels.current;
    };
    return new Panels({
      label: 'Studio',
      panels: [
        { key: 'findings', title: 'Findings', element: h('div', { class: 'chart-findings' }, this.verdict, this.list), shown: turn(null) },
        { key: 'simulate', title: 'Simulate', element: this.simulator.element, shown: turn(this.simulator) },
        { key: 'tests', title: 'Tests', element: this.scenarios.element, shown: turn(this.scenarios) },
        // It takes a core of the server for some seconds, so it is not for readers.
        ...(this.may.operate ? [{ key: 'verify', title: 'Verify', element: this.verifier.element, shown: turn(this.verifier) }] : []),
      ],
      chosen: (tab) => note({ tab: tab === 'findings' ? null : tab }),
    });
  }

  buttons() {
    const { may, fresh } = this;
    this.start = h(
      'button',
      { class: 'button', type: 'button', hidden: fresh || !may.operate, on: { click: () => begin({ chart: this.id }) } },
      icon('play'),
      'Start',
    );
    this.migrate = h(
      'button',
      { class: 'button', type: 'button', hidden: fresh || !may.operate, title: 'Migrate running instances to this version', on: { click: () => doing(this.migrate, () => migrateChart(this.id, this.version)) } },
      'Migrate…',
    );
    this.store = h(
      'button',
      { class: 'button primary', type: 'button', hidden: !may.admin, disabled: true, title: 'Save (Ctrl+S)', on: { click: () => doing(this.store, () => this.save()) } },
      icon('upload'),
      'Save',
    );
    this.discard = h('button', { class: 'button quiet', type: 'button', hidden: true, on: { click: () => this.revert() } }, 'Discard changes');
    this.file = h('input', { type: 'file', class: 'hidden-visually', tabindex: -1, 'aria-hidden': 'true', accept: '.yaml,.yml,.json,.scxml' });
    this.file.addEventListener('change', () => this.take(this.file.files[0]));
    const open = h('button', { class: 'button', type: 'button', on: { click: () => this.file.click() } }, 'Open file');
    this.head = h(
      'div',
      { class: 'view-head' },
      h('p', { class: 'crumbs' }, h('a', { href: href('charts') }, 'Charts')),
      h('h1', null, this.title),
      this.versions,
      this.facts,
      h('span', { class: 'grow' }),
      this.file,
      this.discard,
      open,
      this.start,
      this.migrate,
      this.store,
    );
  }

  listen() {
    const { root } = this;
    this.over = (event) => event.preventDefault();
    this.drop = (event) => {
      event.preventDefault();
      this.take(event.dataTransfer.files[0]);
    };
    this.key = (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key === 's') {
        event.preventDefault();
        if (!this.store.hidden && !this.store.disabled) this.store.click();
      }
    };
    this.leaving = (event) => this.dirty && event.preventDefault();
    root.addEventListener('dragover', this.over);
    root.addEventListener('drop', this.drop);
    root.addEventListener('keydown', this.key);
    addEventListener('beforeunload', this.leaving);
    this.unbind = bind('Chart', [
      { keys: 'e', does: 'edit the source', run: () => this.editor.area.focus() },
      { keys: '1', does: 'findings', run: () => this.panels.choose('findings', true) },
      { keys: '2', does: 'simulate', run: () => this.panels.choose('simulate', true) },
      { keys: '3', does: 'tests', run: () => this.panels.choose('tests', true) },
      ...(this.may.operate ? [{ keys: '4', does: 'verify', run: () => this.panels.choose('verify', true) }] : []),
      { keys: '0', does: 'fit the diagram', run: () => this.drawing.view.fit() },
    ]);
  }

  /** Plays a trace on the drawing, from its first step. */
  play(trace) {
    this.simulator.load(trace);
    this.panels.choose('simulate', true);
  }

  get dirty() {
    return this.editor.text !== this.original;
  }

  async read() {
    try {
      const it = await get(path('charts', this.id), { version: this.version });
      if (this.left) return;
      this.source = it.source;
      this.version ??= it.version;
      say(this.facts, SOURCES[it.source] ?? it.name ?? '');
      this.offerVersions(it);
      this.original = it.text ?? '';
      const draft = drafts.get(this.id);
      drafts.delete(this.id);
      if (draft !== undefined && draft !== this.original) {
        notice('Your unsaved changes are back.', { tone: 'plain' });
        return this.begin(draft);
      }
      this.editor.text = this.original;
      this.simulator.simulate();
      this.verifier.arrived();
      this.found(it.findings ?? []);
      const drawn = await text(
        path('charts', this.id, 'graph'),
        { version: this.version, format: 'svg', theme: 'light' },
        { accept: 'image/svg+xml' },
      );
      if (!this.left) this.draw(drawn, it.findings ?? []);
    } catch (error) {
      if (!this.left && !this.editor.text)
        fill(
          this.body,
          failed(error, () => location.reload()),
        );
    }
    return undefined;
  }

  /** Shows a drawing, and on it what the open part has to show. */
  draw(svg, findings) {
    const same = svg === this.drawing.text;
    if (svg) this.drawing.put(svg);
    this.drawing.findings(findings);
    this.body.classList.toggle('stale', !svg);
    if (!same && this.simulator.on && this.simulator.report) this.simulator.show(false);
    if (!same && this.scenarios.on && this.scenarios.tests && !this.dirty) this.scenarios.cover();
  }

  offerVersions(it) {
    const versions = (it.versions ?? []).map((one) => (typeof one === 'string' ? one : one.version)).filter(Boolean);
    this.versions.hidden = versions.length < 2;
    fill(
      this.versions,
      versions.map((one) => h('option', { value: one }, one)),
    );
    this.versions.value = it.version ?? '';
  }

  begin(given) {
    this.editor.text = given;
    this.verifier.arrived();
    this.changed();
    this.look();
  }

  revert() {
    this.begin(this.original);
    this.editor.area.focus();
  }

  async take(file) {
    if (!file) return;
    this.name = file.name;
    this.editor.text = await file.text();
    this.changed();
  }

  changed() {
    this.store.disabled = !this.dirty;
    this.discard.hidden = this.fresh || !this.dirty;
    if (this.scenarios.on) this.scenarios.stale();
    this.verifier.stale();
    this.check();
  }

  /** Asks what is wrong with the text as it is now. An answer to an older text is not waited for. */
  async look() {
    this.checking.abort();
    this.checking = new AbortController();
    const body = { text: this.editor.text };
    if (this.name) body.name = this.name;
    try {
      const { findings, svg } = await question(path('charts', 'check'), body, { signal: this.checking.signal });
      if (this.left) return;
      this.found(findings);
      this.draw(svg, findings);
      if (svg) this.simulator.simulate();
      else this.simulator.broken();
    } catch (error) {
      if (error.name !== 'AbortError') say(this.verdict, error.message);
    }
  }

  found(findings) {
    const errors = findings.filter((it) => it.severity !== 'warning').length;
    const warnings = findings.length - errors;
    const words = [errors ? plural(errors, 'error') : null, warnings ? plural(warnings, 'warning') : null]
      .filter(Boolean)
      .join(', ');
    this.verdict.dataset.tone = errors ? 'bad' : warnings ? 'warn' : 'good';
    fill(this.verdict, icon(errors ? 'error' : warnings ? 'warning' : 'check'), words || 'No problems found');
    this.editor.mark(findings);
    this.panels.count('findings', findings.length, errors ? 'person' : '');
    fill(
      this.list,
      findings.map((it) => this.finding(it)),
    );
  }

  finding(it) {
    const row = h(
      'button',
      {
        class: `finding ${it.severity}`,
        type: 'button',
        on: {
          click: () => this.editor.show(it),
          focus: () => this.drawing.point(it),
          mouseenter: () => this.drawing.point(it),
          mouseleave: () => this.drawing.point(null),
          blur: () => this.drawing.point(null),
        },
      },
      icon(it.severity === 'warning' ? 'warning' : 'error'),
      h(
        'span',
        { class: 'finding-body' },
        h('span', { class: 'finding-message' }, inline(it.message)),
        it.label ? h('span', { class: 'muted' }, inline(it.label)) : null,
        it.help ? h('span', { class: 'finding-help' }, inline(it.help)) : null,
        h('span', { class: 'finding-place muted' }, h('code', null, it.code), it.line ? ` · line ${it.line}` : ''),
      ),
    );
    return h('li', null, row);
  }

  /** Saves the text to its file; a new chart gets one. Nothing is done where nothing changed. */
  async save() {
    if (!this.dirty) return;
    const body = { text: this.editor.text };
    if (!this.fresh) Object.assign(body, { id: this.id, version: this.version });
    if (this.source === 'project') body.before = this.original;
    try {
      const made = await post(path('charts', 'save'), body);
      this.original = body.text;
      const moved = this.fresh || made.id !== this.id || made.version !== this.version;
      Object.assign(this, { id: made.id, version: made.version, fresh: false });
      this.changed();
      notice(`Saved ${made.file}; running instances keep their version.`);
      if (moved && !this.left) go('charts', made.id, { version: made.version, tab: this.panels.current === 'findings' ? null : this.panels.current });
    } catch (error) {
      if (error.body?.findings) {
        this.found(error.body.findings);
        this.panels.choose('findings', true);
      }
      throw error;
    }
  }

  moved(route) {
    if ((route.query.version ?? this.version) !== this.version) return false;
    const tab = route.query.tab ?? 'findings';
    if (tab !== this.panels.current) this.panels.choose(tab);
    return true;
  }

  gone() {
    this.left = true;
    if (this.dirty && !this.fresh) drafts.set(this.id, this.editor.text);
    this.unbind();
    this.check.cancel();
    this.checking.abort();
    this.simulator.close();
    this.drawing.destroy();
    this.editor.destroy();
    this.root.removeEventListener('dragover', this.over);
    this.root.removeEventListener('drop', this.drop);
    this.root.removeEventListener('keydown', this.key);
    removeEventListener('beforeunload', this.leaving);
  }
}
