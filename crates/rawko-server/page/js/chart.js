// One chart: its text, what is wrong with it beside it and on the drawing, checked while one types. Apart from the list of charts.
import { ask as question, get, path, post, text } from './api.js';
import { calm, fill, h, say } from './dom.js';
import { Drawing } from './drawing.js';
import { Editor } from './editor.js';
import { failed } from './empty.js';
import { icon } from './icons.js';
import { bind } from './keys.js';
import { doing, notice } from './notices.js';
import { inline } from './prose.js';
import { go, href } from './route.js';
import { begin } from './start.js';
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
    });
    this.editor = new Editor({ label: 'Chart source', writable: true, changed: () => this.changed() });
    this.drawing = new Drawing({ label: 'Chart diagram', lights: false });
    this.list = h('ol', { class: 'findings', role: 'list' });
    this.verdict = h('p', { class: 'verdict', role: 'status', 'aria-live': 'polite' });
    this.facts = h('span', { class: 'muted' });
    this.versions = h('select', { class: 'input', 'aria-label': 'Version', hidden: true });
    this.versions.addEventListener('change', () => go('charts', this.id, { version: this.versions.value }));
    this.start = h(
      'button',
      {
        class: 'button',
        type: 'button',
        hidden: fresh || !may.operate,
        on: { click: () => begin({ chart: this.id }) },
      },
      icon('play'),
      'Start',
    );
    this.upload = h(
      'button',
      {
        class: 'button primary',
        type: 'button',
        hidden: !may.admin,
        disabled: true,
        on: { click: () => doing(this.upload, () => this.offer()) },
      },
      icon('upload'),
      'Publish',
    );
    this.file = h('input', {
      type: 'file',
      class: 'hidden-visually',
      tabindex: -1,
      'aria-hidden': 'true',
      accept: '.yaml,.yml,.json,.scxml',
    });
    this.file.addEventListener('change', () => this.take(this.file.files[0]));
    const open = h(
      'button',
      { class: 'button', type: 'button', on: { click: () => this.file.click() } },
      'Open file',
    );
    this.body = h(
      'div',
      { class: 'chart' },
      h(
        'section',
        { class: 'chart-text', 'aria-label': 'Source' },
        this.editor.element,
        h('div', { class: 'chart-findings' }, this.verdict, this.list),
      ),
      h('section', { class: 'drawing-card', 'aria-label': 'Diagram' }, this.drawing.element),
    );
    root.append(
      h(
        'div',
        { class: 'view-head' },
        h('p', { class: 'crumbs' }, h('a', { href: href('charts') }, 'Charts')),
        h('h1', null, this.title),
        this.versions,
        this.facts,
        h('span', { class: 'grow' }),
        this.file,
        open,
        this.start,
        this.upload,
      ),
      this.body,
    );
    root.addEventListener('dragover', (this.over = (event) => event.preventDefault()));
    root.addEventListener(
      'drop',
      (this.drop = (event) => {
        event.preventDefault();
        this.take(event.dataTransfer.files[0]);
      }),
    );
    this.check = calm(() => this.look(), 260);
    this.unbind = bind('Chart', [
      { keys: 'e', does: 'edit the source', run: () => this.editor.area.focus() },
      { keys: '0', does: 'fit the diagram', run: () => this.drawing.view.fit() },
    ]);
    if (fresh) this.begin(FIRST);
    else this.read();
  }

  async read() {
    try {
      const it = await get(path('charts', this.id), { version: this.version });
      if (this.left) return;
      say(this.facts, it.source === 'built_in' ? 'built in' : (it.name ?? ''));
      this.offerVersions(it);
      this.original = it.text ?? '';
      this.editor.text = this.original;
      this.found(it.findings ?? []);
      const drawn = await text(
        path('charts', this.id, 'graph'),
        { version: this.version, format: 'svg', theme: 'light' },
        { accept: 'image/svg+xml' },
      );
      if (this.left) return;
      this.drawing.put(drawn);
      this.drawing.findings(it.findings ?? []);
    } catch (error) {
      if (!this.left && !this.editor.text)
        fill(
          this.body,
          failed(error, () => location.reload()),
        );
    }
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
    this.look();
    this.upload.disabled = false;
  }

  async take(file) {
    if (!file) return;
    this.name = file.name;
    this.editor.text = await file.text();
    this.changed();
  }

  changed() {
    this.upload.disabled = this.editor.text === this.original;
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
      if (svg) this.drawing.put(svg);
      this.drawing.findings(findings);
      this.body.classList.toggle('stale', !svg);
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

  async offer() {
    const body = { text: this.editor.text };
    if (this.name) body.name = this.name;
    try {
      const made = await post(path('charts'), body);
      notice(`Published ${made.id} ${made.version ?? ''}; running instances keep their version.`);
      this.original = this.editor.text;
      go('charts', made.id, { version: made.version });
    } catch (error) {
      if (error.said?.findings) this.found(error.said.findings);
      throw error;
    }
  }

  moved(route) {
    return (route.query.version ?? null) === this.version;
  }

  gone() {
    this.left = true;
    this.unbind();
    this.check.cancel();
    this.checking.abort();
    this.drawing.destroy();
    this.root.removeEventListener('dragover', this.over);
    this.root.removeEventListener('drop', this.drop);
  }
}
