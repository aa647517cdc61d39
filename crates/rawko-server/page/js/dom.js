// Elements without a framework: `h` builds them from text and never from markup, `keyed` keeps a list in step with data.
// Apart, because everything that is shown goes through here, which is what makes foreign text harmless.

/** @typedef {Node | string | number | null | undefined | false | Child[]} Child */

const SVG = 'http://www.w3.org/2000/svg';

/**
 * An element. `props`: `class`, `data`, `on` (listeners), `style` (custom properties and others, set through CSSOM), `ref`,
 * anything else is an attribute; `true` is an empty one, `null` and `false` none.
 * @param {string} tag
 * @param {Record<string, any> | null} [props]
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function h(tag, props, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) set(element, name, value);
  append(element, children);
  return element;
}

/** The same for SVG. */
export function s(tag, props, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props ?? {})) set(element, name, value);
  append(element, children);
  return element;
}

/** Characters that reorder text or cannot be seen; the same as in a terminal (`printable` in rawko-chart). */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|(?<![#*0-9\u00a9\u00ae\u203c-\ufe0d\ufe10-\u{10ffff}])[\ufe0e\ufe0f]/gu;

/** Text with hidden characters as `\uXXXX`: a person sees what they approve. A line end of other systems stays one. */
export function visible(text) {
  const escape = (found) => Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');
  return String(text).replaceAll('\r\n', '\n').replace(HIDDEN, escape);
}

function set(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name === 'class') element.setAttribute('class', value);
  else if (name === 'data') Object.assign(element.dataset, value);
  else if (name === 'on')
    for (const [type, listener] of Object.entries(value)) element.addEventListener(type, listener);
  else if (name === 'style') for (const [key, it] of Object.entries(value)) element.style.setProperty(key, it);
  else if (name === 'value') element.value = value;
  else if (name === 'checked') element.checked = value;
  else element.setAttribute(name, value === true ? '' : TEXTS.has(name) ? visible(value) : String(value));
}

/** Attributes that a person reads. */
const TEXTS = new Set(['title', 'aria-label', 'placeholder', 'alt']);

/** @param {Node} parent @param {Child} child */
export function append(parent, child) {
  if (Array.isArray(child)) for (const one of child) append(parent, one);
  else if (child instanceof Node) parent.appendChild(child);
  else if (child !== null && child !== undefined && child !== false)
    parent.appendChild(document.createTextNode(visible(child)));
}

/** Puts other children in the place of those that are there. @param {Node} parent @param {...Child} children */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
  return parent;
}

/** Sets the text, and touches nothing if it is that already: a screen reader would hear it again. */
export function say(element, text) {
  const wanted = text === null || text === undefined ? '' : visible(text);
  if (element.textContent !== wanted) element.textContent = wanted;
  return element;
}

/**
 * Keeps the children of `parent` in step with `items`, by key: an element that stays is updated, never rebuilt, so that what
 * a person types and where the focus is survive.
 */
export function keyed(parent, items, key, create, update) {
  const there = new Map();
  for (const child of parent.children) there.set(child.dataset.key, child);
  let place = parent.firstElementChild;
  for (const item of items) {
    const name = String(key(item));
    let element = there.get(name);
    if (element) there.delete(name);
    else {
      element = create(item);
      element.dataset.key = name;
    }
    update?.(element, item);
    if (element === place) place = place.nextElementSibling;
    else parent.insertBefore(element, place);
  }
  for (const element of there.values()) element.remove();
}

/** Attributes by name, where null takes one away. */
export function attributes(element, values) {
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === undefined || value === false) element.removeAttribute(name);
    else if (element.getAttribute(name) !== String(value))
      element.setAttribute(name, value === true ? '' : String(value));
  }
}

/** Calls `work` once things have been calm for `ms`. */
export function calm(work, ms) {
  let timer = 0;
  const later = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), ms);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

/** Calls `work` at most once in `ms`, the last time included. */
export function steady(work, ms) {
  let timer = 0;
  const soon = () => {
    if (timer) return;
    timer = setTimeout(() => {
      timer = 0;
      work();
    }, ms);
  };
  soon.cancel = () => clearTimeout(timer);
  return soon;
}

/** Returns true if the reader prefers reduced motion. */
export const calmly = () => matchMedia('(prefers-reduced-motion: reduce)').matches;
