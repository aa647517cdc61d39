// Tabs: one panel of several, by mouse, arrows and address. Apart from what is in them.
import { attributes, h } from './dom.js';

let serial = 0;

/** Tabs that a phone has no room for are scrolled to. */
function inSight(tab) {
  const bar = tab.parentElement;
  if (!bar || bar.scrollWidth <= bar.clientWidth) return;
  const [left, right] = [tab.offsetLeft - bar.offsetLeft, tab.offsetLeft - bar.offsetLeft + tab.offsetWidth];
  if (left < bar.scrollLeft) bar.scrollLeft = left;
  else if (right > bar.scrollLeft + bar.clientWidth) bar.scrollLeft = right - bar.clientWidth;
}

export class Panels {
  /** @param {{label: string, panels: {key: string, title: string, element: Node, shown?: () => void}[], chosen: (key: string) => void}} options */
  constructor({ label, panels, chosen }) {
    this.panels = panels;
    this.chosen = chosen;
    const name = `panels-${++serial}`;
    for (const panel of panels) {
      panel.count = h('span', { class: 'tab-count number', hidden: true });
      panel.tab = h(
        'button',
        {
          class: 'tab',
          type: 'button',
          role: 'tab',
          id: `${name}-${panel.key}`,
          'aria-controls': `${name}-${panel.key}-body`,
          on: { click: () => this.choose(panel.key, true) },
        },
        panel.title,
        panel.count,
      );
      panel.body = h(
        'div',
        {
          class: 'panel-body',
          role: 'tabpanel',
          id: `${name}-${panel.key}-body`,
          'aria-labelledby': `${name}-${panel.key}`,
          tabindex: 0,
          hidden: true,
        },
        panel.element,
      );
    }
    const tabs = h(
      'div',
      { class: 'tabs', role: 'tablist', 'aria-label': label },
      panels.map((panel) => panel.tab),
    );
    tabs.addEventListener('keydown', (event) => this.key(event));
    this.element = h(
      'section',
      { class: 'panel', 'aria-label': label },
      tabs,
      panels.map((panel) => panel.body),
    );
  }

  choose(key, byHand = false) {
    const wanted = this.panels.find((panel) => panel.key === key) ?? this.panels[0];
    this.current = wanted.key;
    for (const panel of this.panels) {
      const is = panel === wanted;
      attributes(panel.tab, { 'aria-selected': String(is), tabindex: is ? 0 : -1 });
      panel.body.hidden = !is;
    }
    inSight(wanted.tab);
    wanted.shown?.();
    if (byHand) this.chosen(wanted.key);
  }

  /** A number beside a tab's name, if there is something to count. */
  count(key, amount, tone = '') {
    const { count } = this.panels.find((panel) => panel.key === key);
    const text = amount ? String(amount) : '';
    count.dataset.tone = tone;
    if (count.textContent === text) return;
    count.hidden = !amount;
    count.textContent = text;
    // The tabs beside it have moved.
    const chosen = this.panels.find((panel) => panel.key === this.current);
    if (chosen) inSight(chosen.tab);
  }

  key(event) {
    const at = this.panels.findIndex((panel) => panel.key === this.current);
    const last = this.panels.length - 1;
    const wanted = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last }[
      event.key
    ];
    if (wanted === undefined) return;
    event.preventDefault();
    this.choose(this.panels[wanted].key, true);
    this.panels[wanted].tab.focus();
  }
}
