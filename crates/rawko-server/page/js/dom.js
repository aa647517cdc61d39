// Elements without a framework: `h` builds them from text and never from markup, `keyed` keeps a list in step with data.
// Apart, because everything that is shown goes through here, which is what makes foreign text harmless.
import { printable } from './printable.js';

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

function set(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name === 'class') element.setAttribute('class', value);
  else if (name === 'data') Object.assign(element.dataset, value);
  else if (name === 'on')
    for (const [type, listener] of Object.entries(value)) element.addEventListener(type, listener);
  else if (name === 'style') for (const [key, it] of Object.entries(value)) element.style.setProperty(key, it);
  else if (name === 'value') element.value = value;
  else if (name === 'checked') element.checked = value;
  else element.setAttribute(name, value === true ? '' : TEXTS.has(name) ? printable(value) : String(value));
}

/** Attributes that a person reads. */
const TEXTS = new Set(['title', 'aria-label', 'placeholder', 'alt']);

/** @param {Node} parent @param {Child} child */
export function append(parent, child) {
  if (Array.isArray(child)) for (const one of child) append(parent, one);
  else if (child instanceof Node) parent.appendChild(child);
  else if (child !== null && child !== undefined && child !== false)
    parent.appendChild(document.createTextNode(printable(child)));
}

/** Puts other children in the place of those that are there. @param {Node} parent @param {...Child} children */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
  return parent;
}

/** Sets the text, and touches nothing if it is that already: a screen reader would hear it again. */
export function say(element, text) {
  const wanted = text === null || text === undefined ? '' : printable(text);
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
