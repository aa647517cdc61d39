// Zoom and pan of a picture, with wheel, fingers, mouse and keys. Apart from what the picture shows.
import { calmly } from './dom.js';

const SMALLEST = 0.05;
const LARGEST = 4;
export const READABLE = 0.7;

export class Viewport {
  /** @param {HTMLElement} frame what is looked through @param {HTMLElement} content what is moved */
  constructor(frame, content, { fitted = false } = {}) {
    Object.assign(this, { frame, content, fitted, scale: 1, x: 0, y: 0, width: 1, height: 1, own: false, smooth: 0 });
    this.fingers = new Map();
    frame.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    frame.addEventListener('pointerdown', (event) => this.down(event));
    frame.addEventListener('pointermove', (event) => this.move(event));
    for (const type of ['pointerup', 'pointercancel']) frame.addEventListener(type, (event) => this.up(event));
    frame.addEventListener('keydown', (event) => this.key(event));
    frame.addEventListener('dblclick', (event) => this.zoom(event.shiftKey ? 1 / 1.6 : 1.6, this.point(event)));
    this.watch = new ResizeObserver(() => (this.own ? this.apply() : this.begin()));
    this.watch.observe(frame);
  }

  destroy() {
    this.watch.disconnect();
    cancelAnimationFrame(this.smooth);
  }

  size(width, height) {
    Object.assign(this, { width, height });
    this.begin();
  }

  /** The first look: all of it if that can be read, else its top, as wide as the frame. */
  begin() {
    const { clientWidth: width, clientHeight: height } = this.frame;
    this.fit(false);
    if (this.fitted || !width || !height || this.scale >= READABLE) return;
    const scale = Math.max(READABLE, Math.min(1, (width - 24) / this.width));
    this.go({ scale, x: (width - this.width * scale) / 2, y: 12 }, false);
  }

  /** All of it, as large as it goes. */
  fit(animate = true) {
    const { clientWidth: width, clientHeight: height } = this.frame;
    if (!width || !height) return;
    const scale = Math.min(1.25, (width - 24) / this.width, (height - 24) / this.height);
    this.own = false;
    this.go({ scale, x: (width - this.width * scale) / 2, y: (height - this.height * scale) / 2 }, animate);
  }

  /** Brings a part of the picture into the middle, readable. */
  look(box, animate = true) {
    const { clientWidth: width, clientHeight: height } = this.frame;
    const fits = Math.min(width / (box.width + 80), height / (box.height + 80));
    const scale = Math.min(Math.max(this.scale, 0.8), Math.max(fits, SMALLEST), 1.25);
    this.own = true;
    this.go(
      { scale, x: width / 2 - (box.x + box.width / 2) * scale, y: height / 2 - (box.y + box.height / 2) * scale },
      animate,
    );
  }

  /** Whether a part is seen as a whole, and not too small to read. */
  sees(box) {
    const { clientWidth: width, clientHeight: height } = this.frame;
    const left = box.x * this.scale + this.x;
    const top = box.y * this.scale + this.y;
    return left >= 0 && top >= 0 && left + box.width * this.scale <= width && top + box.height * this.scale <= height;
  }

  zoom(by, at = null) {
    const { clientWidth: width, clientHeight: height } = this.frame;
    const [px, py] = at ?? [width / 2, height / 2];
    const scale = Math.max(SMALLEST, Math.min(LARGEST, this.scale * by));
    const real = scale / this.scale;
    this.own = true;
    this.go({ scale, x: px - (px - this.x) * real, y: py - (py - this.y) * real }, false);
  }

  go(wanted, animate) {
    cancelAnimationFrame(this.smooth);
    if (!animate || calmly()) {
      Object.assign(this, wanted);
      return this.apply();
    }
    const from = { scale: this.scale, x: this.x, y: this.y };
    const began = performance.now();
    const frame = (time) => {
      const part = Math.min(1, (time - began) / 260);
      const eased = 1 - (1 - part) ** 3;
      for (const key of ['scale', 'x', 'y']) this[key] = from[key] + (wanted[key] - from[key]) * eased;
      this.apply();
      if (part < 1) this.smooth = requestAnimationFrame(frame);
    };
    this.smooth = requestAnimationFrame(frame);
    return undefined;
  }

  apply() {
    this.content.style.setProperty('transform', `translate(${this.x}px, ${this.y}px) scale(${this.scale})`);
  }

  point(event) {
    const box = this.frame.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  wheel(event) {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    // A pinch on a touchpad comes as a wheel with Ctrl; a plain wheel zooms too, Shift and sideways pan.
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      return this.pan(-(event.deltaX || event.deltaY) * lines, event.deltaX ? -event.deltaY * lines : 0);
    return this.zoom(Math.exp((-event.deltaY * lines) / (event.ctrlKey ? 120 : 480)), this.point(event));
  }

  pan(dx, dy) {
    this.own = true;
    this.go({ scale: this.scale, x: this.x + dx, y: this.y + dy }, false);
  }

  down(event) {
    // What can be pressed is not dragged by: a captured pointer would click on the frame.
    const pressed = event.composedPath()[0];
    if (event.button > 1 || event.target.closest?.('button') || pressed?.closest?.('.offered')) return;
    this.frame.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, this.point(event));
    this.frame.classList.add('grabbed');
  }

  move(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    const now = this.point(event);
    if (this.fingers.size === 1) this.pan(now[0] - before[0], now[1] - before[1]);
    else this.pinch(event.pointerId, before, now);
    this.fingers.set(event.pointerId, now);
  }

  pinch(id, before, now) {
    const [, other] = [...this.fingers].find(([key]) => key !== id);
    const far = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]) || 1;
    this.zoom(far(now, other) / far(before, other), [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2]);
  }

  up(event) {
    this.fingers.delete(event.pointerId);
    if (this.fingers.size === 0) this.frame.classList.remove('grabbed');
  }

  key(event) {
    if (event.target !== this.frame || event.ctrlKey || event.metaKey) return;
    const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (moves[event.key]) this.pan(...moves[event.key]);
    else if (event.key === '+' || event.key === '=') this.zoom(1.25);
    else if (event.key === '-') this.zoom(0.8);
    else if (event.key === '0') this.fit();
    else return;
    event.preventDefault();
  }
}
