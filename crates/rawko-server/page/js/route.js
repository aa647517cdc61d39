// Addresses within the page: `#/instances/ID?step=12`. Apart, so that links are made and read in one place.

/**
 * @typedef {{view: string, name: string | null, query: Record<string, string>}} Route
 */

/** @returns {Route} */
export function parse(hash) {
  const [place, words = ''] = hash.replace(/^#\/?/, '').split('?');
  const [view, ...rest] = place.split('/');
  const query = Object.fromEntries(new URLSearchParams(words));
  return { view: view || 'tasks', name: rest.length ? decode(rest.join('/')) : null, query };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function href(view, name = null, query = {}) {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') words.set(key, String(value));
  }
  const text = words.toString();
  return `#/${view}${name === null ? '' : `/${encodeURIComponent(name)}`}${text ? `?${text}` : ''}`;
}

/** The address that the page shows. The browser's may be another one already, whose event is still to come. */
let shown = '';

/** Reads the address in order to show it. */
export function arrive() {
  shown = location.hash;
  return parse(shown);
}

export function go(view, name, query) {
  location.hash = href(view, name, query);
}

/**
 * Changes parameters of the address without a step in the browser's history: what is looked at now can be shared. Of an address that
 * is not shown yet nothing is changed: it is a target, not the current place.
 */
export function note(changes) {
  if (location.hash !== shown) return;
  const { view, name, query } = parse(shown);
  const wanted = href(view, name, { ...query, ...changes });
  if (wanted === shown) return;
  history.replaceState(history.state, '', wanted);
  shown = location.hash;
  document.dispatchEvent(new CustomEvent('rawko:noted'));
}
