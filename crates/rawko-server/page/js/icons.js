// Small pictures, drawn as strokes on a 16-pixel grid. Apart, because they are data.
import { s } from './dom.js';

const PATHS = {
  instances: ['M3 4h10', 'M3 8h10', 'M3 12h6'],
  tasks: ['M2.5 4.2l1.2 1.2 2-2.2', 'M8 4.5h5.5', 'M2.5 11.2l1.2 1.2 2-2.2', 'M8 11.5h5.5'],
  approvals: ['M8 2.2a5.8 5.8 0 1 0 0 11.6 5.8 5.8 0 0 0 0-11.6z', 'M5.4 8.2l1.8 1.8 3.4-3.8'],
  channels: ['M2.5 3.5h11v7h-6l-3 2.6v-2.6h-2z'],
  charts: ['M2.5 2.5h4.5v4h-4.5z', 'M9 9.5h4.5v4H9z', 'M4.7 6.5v5H9'],
  agents: ['M8 2.5a2.6 2.6 0 1 0 0 5.2 2.6 2.6 0 0 0 0-5.2z', 'M3 13.5c.4-2.8 2.4-4 5-4s4.6 1.2 5 4'],
  triggers: ['M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2z', 'M8 5v3.2l2.2 1.4'],
  usage: ['M3 13V8', 'M8 13V3', 'M13 13V6'],
  audit: ['M4 2.5h8v11H4z', 'M6 5.5h4', 'M6 8h4', 'M6 10.5h2'],
  settings: ['M8 5.6a2.4 2.4 0 1 0 0 4.8 2.4 2.4 0 0 0 0-4.8z', 'M8 1.8v2M8 12.2v2M2.6 4.9l1.7 1M11.7 10.1l1.7 1M2.6 11.1l1.7-1M11.7 5.9l1.7-1'],
  sun: [
    'M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6z',
    'M8 1.5v1.4M8 13.1v1.4M1.5 8h1.4M13.1 8h1.4M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1',
  ],
  moon: ['M13 9.6A5.6 5.6 0 0 1 6.4 3 5.6 5.6 0 1 0 13 9.6z'],
  auto: ['M8 2.2a5.8 5.8 0 1 0 0 11.6z', 'M8 2.2a5.8 5.8 0 0 1 0 11.6'],
  keyboard: ['M1.8 4.5h12.4v7H1.8z', 'M4 7h.01M6.7 7h.01M9.3 7h.01M12 7h.01M5 9.4h6'],
  search: ['M7 2.8a4.2 4.2 0 1 0 0 8.4 4.2 4.2 0 0 0 0-8.4z', 'M10.2 10.2l3.3 3.3'],
  plus: ['M8 3v10', 'M3 8h10'],
  minus: ['M3 8h10'],
  fit: ['M2.5 6v-3.5h3.5', 'M13.5 6v-3.5H10', 'M2.5 10v3.5h3.5', 'M13.5 10v3.5H10'],
  aim: ['M8 4.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7z', 'M8 1.5v3M8 11.5v3M1.5 8h3M11.5 8h3'],
  play: ['M5 3.2l7.5 4.8L5 12.8z'],
  pause: ['M5.5 3.5v9', 'M10.5 3.5v9'],
  back: ['M10 3L5 8l5 5'],
  forward: ['M6 3l5 5-5 5'],
  first: ['M12 3L7 8l5 5', 'M4 3v10'],
  last: ['M4 3l5 5-5 5', 'M12 3v10'],
  fork: ['M4.5 3v10', 'M4.5 9.5c0-3 7-1.5 7-5.5', 'M9.5 5.6l2-2 2 2'],
  send: ['M2.5 8l11-5-4 11-2.5-4.5z'],
  stop: ['M4 4h8v8H4z'],
  retry: ['M13 8a5 5 0 1 1-1.6-3.7', 'M13.2 2.2v3h-3'],
  copy: ['M5.5 5.5h8v8h-8z', 'M3.5 10.5h-1v-8h8v1'],
  close: ['M3.5 3.5l9 9', 'M12.5 3.5l-9 9'],
  more: ['M3.5 8h.01', 'M8 8h.01', 'M12.5 8h.01'],
  clock: ['M8 2.2a5.8 5.8 0 1 0 0 11.6 5.8 5.8 0 0 0 0-11.6z', 'M8 4.8V8l2.2 1.4'],
  warning: ['M8 2.5l6 11H2z', 'M8 6.5v3.2M8 11.6h.01'],
  error: ['M8 2.2a5.8 5.8 0 1 0 0 11.6 5.8 5.8 0 0 0 0-11.6z', 'M8 5v3.6M8 10.9h.01'],
  tool: ['M9.8 3.2a3 3 0 0 0-3.6 4L2.5 10.9l2.6 2.6 3.7-3.7a3 3 0 0 0 4-3.6L10.9 8 8.7 7.3 8 5.1z'],
  child: ['M4 2.5v7.5h7', 'M8.8 7.7l2.3 2.3-2.3 2.3'],
  upload: ['M8 10.5v-8', 'M4.8 5.5L8 2.3l3.2 3.2', 'M2.5 10.5v3h11v-3'],
  check: ['M3 8.5l3.3 3.3L13 4.8'],
  trash: ['M2.8 4.5h10.4', 'M6 4.5v-2h4v2', 'M4.2 4.5l.6 9h6.4l.6-9'],
  leave: ['M6.5 2.5h-4v11h4', 'M6.5 8h7', 'M10.8 5.3L13.5 8l-2.7 2.7'],
};

/** An icon that is hidden from screen readers: a word always stands beside it, or on the button it is in. */
export function icon(name, size = 16) {
  return s(
    'svg',
    { class: 'icon', width: size, height: size, viewBox: '0 0 16 16', 'aria-hidden': 'true', focusable: 'false' },
    PATHS[name].map((d) => s('path', { d })),
  );
}

/** rawko's mark: two states and the transition between them. */
export function mark(size = 22) {
  return s(
    'svg',
    { class: 'mark', width: size, height: size, viewBox: '0 0 24 24', 'aria-hidden': 'true', focusable: 'false' },
    s('rect', { class: 'mark-state', x: 2, y: 3, width: 11, height: 8, rx: 2.5 }),
    s('rect', { class: 'mark-lit', x: 11, y: 14, width: 11, height: 8, rx: 2.5 }),
    s('path', { class: 'mark-edge', d: 'M5.5 11v4.5a2.5 2.5 0 0 0 2.5 2.5h1.5' }),
  );
}
