// Addresses within the page: `#/instances/ID?step=12`. Apart, so that links are made and read in one place.

/**
 * @typedef {{view: string, name: string | null, query: Record<string, string>}} Route
 */

/** @returns {Route} */
export function parse(hash) {
  const [place, words = ''] = hash.replace(/^#\/?/, '').split('?');
  const [view, ...rest] = place.split('/');
  const query = Object.fromEntries(new URLSearchParams(words));
  return { view: view || 'instances', name: rest.length ? decode(rest.join('/')) : null, query };
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

export const current = () => parse(location.hash);

export function go(view, name, query) {
  location.hash = href(view, name, query);
}

/** Changes words of the address without a step in the browser's history: what is looked at now can be shared. */
export function note(changes) {
  const { view, name, query } = current();
  const wanted = href(view, name, { ...query, ...changes });
  if (wanted === location.hash) return;
  history.replaceState(history.state, '', wanted);
  document.dispatchEvent(new CustomEvent('rawko:noted'));
}
