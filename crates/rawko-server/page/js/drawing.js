// A chart's drawing: the server's SVG in a shadow root, with states lit, transitions shown as they happen and findings marked.
// Apart from where it stands (an instance, a chart), and from zooming.
import { attributes, calmly, h, s } from './dom.js';
import { icon } from './icons.js';
import { READABLE, Viewport } from './viewport.js';

const TRACE_MS = 900;

/** The page's own colours in place of the drawing's; custom properties reach into a shadow root. */
const COLOURS = `
:host { display: block }
svg.rawko-chart { --rawko-bg: transparent; --rawko-text: var(--text); --rawko-muted: var(--muted); --rawko-state: var(--drawn-state);
  --rawko-group: var(--drawn-group); --rawko-bar: var(--drawn-bar); --rawko-line: var(--drawn-line); --rawko-edge: var(--drawn-edge);
  --rawko-label: var(--drawn-label); --rawko-event: var(--accent-text); --rawko-active: var(--good); --rawko-lit: var(--good-soft);
  --rawko-mark: var(--bad); display: block; overflow: visible }
:host(.trouble) svg.rawko-chart { --rawko-active: var(--bad); --rawko-lit: var(--bad-soft) }
.state > .box, .state > .bar { transition: fill 180ms, stroke 180ms }
.state.entered > .box { animation: lit 700ms ease-out }
@keyframes lit { 0% { stroke-width: 9 } 100% { stroke-width: 3 } }
.transition.taken > .route { stroke: var(--accent); stroke-width: 2.4 }
.transition.taken > .head { fill: var(--accent) }
.transition.taken .pill { stroke: var(--accent); stroke-width: 1.2 }
.trace { fill: none; stroke: var(--accent); stroke-width: 4; stroke-linecap: round }
.finding > .box { stroke: var(--bad); stroke-width: 2.5; stroke-dasharray: 6 4 }
.finding > .route { stroke: var(--bad); stroke-width: 2; stroke-dasharray: 6 4 }
.finding > .head { fill: var(--bad) }
.finding .pill { stroke: var(--bad); stroke-width: 1.2 }
.finding.warning > .box, .finding.warning > .route { stroke: var(--warn) }
.finding.warning > .head { fill: var(--warn) }
.came > .route { stroke: var(--good); stroke-width: 2.2; vector-effect: non-scaling-stroke } .came > .head { fill: var(--good) }
.off { opacity: 0.3 } .off .off { opacity: 1 }
.offered { cursor: pointer; outline: none }
.offered > .route { stroke: var(--accent); stroke-width: 2; stroke-dasharray: 7 4 } .offered > .head { fill: var(--accent) }
.offered .pill { stroke: var(--accent); stroke-width: 1.4; fill: var(--accent-soft) }
.offered:hover > .route, .offered:focus-visible > .route { stroke-width: 4; stroke-dasharray: none }
.offered:focus-visible .pill { stroke-width: 3 }
.badge rect { fill: var(--accent); } .badge.bad rect { fill: var(--bad); }
.badge text { fill: var(--on-accent); font: 600 11px system-ui, sans-serif; }
.pointed > .box { stroke: var(--accent); stroke-width: 4 }
.pointed > .route { stroke: var(--accent); stroke-width: 4 }
@media (prefers-reduced-motion: reduce) { .state.entered > .box { animation: none } .state > .box { transition: none } }
`;

/** Sheets are dear to parse and the same for every drawing of a theme. */
const sheets = new Map();

function sheet(text) {
  if (!sheets.has(text)) {
    const made = new CSSStyleSheet();
    made.replaceSync(text);
    sheets.set(text, made);
  }
  return sheets.get(text);
}

export class Drawing {
  constructor({ label, lights = true, fitted = false }) {
    this.content = h('div', { class: 'drawing-content' });
    this.shadow = this.content.attachShadow({ mode: 'open' });
    this.frame = h(
      'div',
      {
        class: 'drawing-frame',
        tabindex: 0,
        role: 'group',
        'aria-label': `${label}. Arrow keys move it, plus and minus zoom, 0 fits.`,
      },
      this.content,
    );
    const tool = (name, words, run) =>
      h(
        'button',
        { class: 'button quiet icon-only', type: 'button', 'aria-label': words, title: words, on: { click: run } },
        icon(name),
      );
    this.tools = h(
      'div',
      { class: 'drawing-tools' },
      tool('plus', 'Zoom in', () => this.view.zoom(1.3)),
      tool('minus', 'Zoom out', () => this.view.zoom(1 / 1.3)),
      tool('fit', 'Fit', () => this.view.fit()),
      lights ? tool('aim', 'Show active states', () => this.showActive(true)) : null,
    );
    this.element = h('div', { class: 'drawing' }, this.frame, this.tools);
    this.view = new Viewport(this.frame, this.content, { fitted });
    this.spots = new Map();
    this.shadow.addEventListener('click', (event) => this.take(event));
    this.shadow.addEventListener('keydown', (event) => ['Enter', ' '].includes(event.key) && this.take(event));
    this.nodes = new Map();
    this.transitions = new Map();
    this.lit = new Set();
    this.text = null;
  }

  destroy() {
    this.view.destroy();
  }

  /** Takes a drawing as the server made it. The same text again changes nothing. */
  put(text) {
    if (text === this.text) return;
    const { rules, markup } = unstyled(text);
    const svg = new DOMParser().parseFromString(markup, 'image/svg+xml').documentElement;
    if (svg.nodeName !== 'svg') throw new Error('the diagram is not SVG');
    this.text = text;
    const styled = clean(svg);
    const own = document.adoptNode(svg);
    for (const [element, style] of styled) for (const [name, value] of style) element.style.setProperty(name, value);
    this.shadow.replaceChildren(own);
    this.shadow.adoptedStyleSheets = [...rules.map(sheet), sheet(COLOURS)];
    this.index(own);
    this.view.size(Number(own.getAttribute('width')) || 400, Number(own.getAttribute('height')) || 300);
  }

  index(svg) {
    this.svg = svg;
    this.badged = null;
    this.nodes = new Map();
    this.transitions = new Map();
    for (const element of svg.querySelectorAll('[data-node]')) gather(this.nodes, element.dataset.node, element);
    for (const element of svg.querySelectorAll('[data-transition]'))
      gather(this.transitions, element.dataset.transition, element);
    this.lit = new Set();
    for (const [node, elements] of this.nodes)
      if (elements.some((element) => element.classList.contains('active'))) this.lit.add(node);
  }

  /** Lights the states of a configuration and those around them. `entered`: marks those that were not lit before. */
  light(configuration, { entered = false } = {}) {
    const wanted = new Set();
    for (const path of configuration ?? []) {
      const parts = path.split('.');
      for (let depth = 1; depth <= parts.length; depth += 1) wanted.add(parts.slice(0, depth).join('.'));
    }
    for (const [node, elements] of this.nodes) {
      const on = wanted.has(node);
      const fresh = on && entered && !this.lit.has(node);
      for (const element of elements) {
        element.classList.toggle('active', on);
        element.classList.remove('entered');
        if (fresh) {
          element.getBoundingClientRect();
          element.classList.add('entered');
        }
      }
    }
    this.lit = wanted;
  }

  /** States where something failed are lit as trouble. */
  trouble(is) {
    this.content.classList.toggle('trouble', is);
  }

  /** Marks transitions as those of the step that is shown. */
  took(ids) {
    const wanted = new Set((ids ?? []).map(String));
    for (const [id, elements] of this.transitions)
      for (const element of elements) element.classList.toggle('taken', wanted.has(id));
  }

  /** Fades what an instance did not come through. @param {{configuration?: string[], entered?: string[], transitions?: number[]}[]} entries */
  path(entries) {
    const [nodes, transitions] = [new Set(), new Set()];
    for (const entry of entries) {
      for (const name of [...(entry.entered ?? []), ...(entry.configuration ?? [])]) {
        const parts = name.split('.');
        for (let depth = 1; depth <= parts.length; depth += 1) nodes.add(parts.slice(0, depth).join('.'));
      }
      for (const id of entry.transitions ?? []) transitions.add(String(id));
    }
    const fade = (elements, is) => elements.forEach((element) => element.classList.toggle('off', is));
    for (const [node, elements] of this.nodes) fade(elements, nodes.size > 0 && node !== '' && !nodes.has(node));
    for (const [id, elements] of this.transitions) {
      fade(elements, nodes.size > 0 && !transitions.has(id));
      for (const element of elements) element.classList.toggle('came', transitions.has(id));
    }
  }

  /** Makes transitions buttons. @param {{transition: number, label: string, run: () => void}[]} spots the first of several counts */
  offer(spots) {
    this.spots = new Map();
    for (const spot of spots) if (!this.spots.has(String(spot.transition))) this.spots.set(String(spot.transition), spot);
    // A picture has no buttons in it; one with some is a group.
    if (this.svg) attributes(this.svg, { role: this.spots.size ? 'group' : 'img' });
    for (const [id, elements] of this.transitions) {
      const spot = this.spots.get(id);
      const labelOf = (element) => element.textContent.replace(/\s+/g, ' ').trim();
      const main = elements.find(labelOf) ?? elements[0];
      for (const element of elements) {
        element.classList.toggle('offered', Boolean(spot));
        const is = spot && element === main;
        // A visible label is the name; the effect of pressing it is the description.
        const [name, more] = labelOf(element) ? [null, spot?.label] : [spot?.label, null];
        attributes(element, { tabindex: is ? 0 : null, role: is ? 'button' : null, 'aria-label': is ? name : null, 'aria-description': is ? more : null });
      }
    }
  }

  take(event) {
    const spot = this.spots.get(event.target.closest?.('.offered')?.dataset.transition);
    if (!spot) return;
    event.preventDefault();
    event.stopPropagation();
    spot.run();
  }

  /** Marks states with a short text at their upper edge. @param {{node: string, text: string, title: string, bad?: boolean}[]} badges */
  badges(badges) {
    const key = JSON.stringify(badges);
    if (!this.svg || key === this.badged) return;
    this.badged = key;
    for (const old of this.svg.querySelectorAll('.badge')) old.remove();
    const at = new Map();
    for (const badge of badges) {
      const box = (this.nodes.get(badge.node) ?? []).map((element) => element.querySelector(':scope > .box')).find(Boolean)?.getBBox();
      if (!box) continue;
      const width = badge.text.length * 6.6 + 14;
      const left = (at.get(badge.node) ?? box.x + box.width - 6) - width;
      at.set(badge.node, left - 4);
      this.svg.append(
        s('g', { class: `badge${badge.bad ? ' bad' : ''}` }, s('title', null, badge.title), s('rect', { x: left, y: box.y - 9, width, height: 18, rx: 9 }), s('text', { x: left + 7, y: box.y + 4 }, badge.text)),
      );
    }
  }

  /** A transition happens: something runs along its route. */
  trace(ids) {
    if (calmly() || document.hidden) return;
    for (const id of ids ?? []) {
      for (const element of this.transitions.get(String(id)) ?? []) {
        const route = element.querySelector(':scope > .route');
        if (route) run(route);
      }
    }
  }

  /** @param {{node?: string | null, transition?: string | number | null, severity: string}[]} findings */
  findings(findings) {
    for (const elements of [...this.nodes.values(), ...this.transitions.values()])
      for (const element of elements) element.classList.remove('finding', 'warning');
    for (const finding of findings) {
      for (const element of this.at(finding))
        element.classList.add('finding', finding.severity === 'warning' ? 'warning' : 'finding');
    }
  }

  /** Points at what a finding is about. */
  point(finding) {
    for (const element of this.svg?.querySelectorAll('.pointed') ?? []) element.classList.remove('pointed');
    const found = finding ? this.at(finding) : [];
    for (const element of found) element.classList.add('pointed');
    if (found.length && !this.view.sees(this.box(found))) this.view.look(this.box(found));
  }

  at({ node, transition }) {
    if (transition !== null && transition !== undefined) return this.transitions.get(String(transition)) ?? [];
    return node === null || node === undefined ? [] : (this.nodes.get(node) ?? []);
  }

  box(elements) {
    const boxes = elements.map((element) => element.getBBox()).filter((box) => box.width || box.height);
    const left = Math.min(...boxes.map((box) => box.x));
    const top = Math.min(...boxes.map((box) => box.y));
    const right = Math.max(...boxes.map((box) => box.x + box.width));
    const bottom = Math.max(...boxes.map((box) => box.y + box.height));
    return { x: left, y: top, width: right - left, height: bottom - top };
  }

  /** Brings the active leaf states into sight, if they are not. A chart that is readable as a whole is left alone. */
  showActive(always = false) {
    const leaves = [...this.lit].filter((node) => ![...this.lit].some((other) => other.startsWith(`${node}.`)));
    const elements = leaves.flatMap((node) => this.nodes.get(node) ?? []);
    if (!elements.length) return;
    const box = this.box(elements);
    if (always || !this.view.sees(box) || this.view.scale < READABLE) this.view.look(box);
  }
}

function gather(map, key, element) {
  if (map.has(key)) map.get(key).push(element);
  else map.set(key, [element]);
}

/**
 * Takes the rules and `style` attributes out of the text: the page's policy forbids them in markup, and reports them as soon as they
 * are parsed. The rules become a sheet, the attributes wait as `data-style`.
 */
function unstyled(text) {
  const rules = [];
  const markup = text
    .replace(/<style[^>]*>([\s\S]*?)<\/style>/g, (_, rule) => {
      rules.push(rule.replace(/&gt;/g, '>').replace(/&lt;/g, '<').replace(/&amp;/g, '&'));
      return '';
    })
    .replace(/<[a-zA-Z][^>]*>/g, (tag) => tag.replace(/ style="/g, ' data-style="'));
  return { rules, markup };
}

/** Removes all active parts; returns the content of `style` attributes. */
function clean(svg) {
  for (const element of svg.querySelectorAll('script, foreignObject, iframe, a, use, image')) element.remove();
  for (const element of svg.querySelectorAll('*')) {
    for (const { name } of [...element.attributes]) if (name.startsWith('on')) element.removeAttribute(name);
  }
  const styles = (element) =>
    element.dataset.style
      .split(';')
      .filter(Boolean)
      .map((part) => part.split(':').map((word) => word.trim()));
  return [...svg.querySelectorAll('[data-style]')].map((element) => [element, styles(element)]);
}

function run(route) {
  const length = route.getTotalLength();
  const trace = route.cloneNode();
  trace.setAttribute('class', 'trace');
  const shown = Math.max(24, length * 0.25);
  trace.style.setProperty('stroke-dasharray', `${shown} ${length + shown}`);
  route.parentNode.appendChild(trace);
  const moving = trace.animate(
    [
      { strokeDashoffset: shown, opacity: 1 },
      { strokeDashoffset: -length, opacity: 0.9 },
    ],
    { duration: TRACE_MS, easing: 'cubic-bezier(.4,0,.3,1)' },
  );
  moving.onfinish = moving.oncancel = () => trace.remove();
}
