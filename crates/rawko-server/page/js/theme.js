// Light and dark: by the system's preference until the reader chooses. Apart, because it must be settled before anything is drawn.

const KEY = 'rawko-theme';
const ORDER = ['auto', 'light', 'dark'];

export function theme() {
  const chosen = read();
  return ORDER.includes(chosen) ? chosen : 'auto';
}

function read() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export function wear(name = theme()) {
  const root = document.documentElement;
  if (name === 'auto') delete root.dataset.theme;
  else root.dataset.theme = name;
}

export function next() {
  const name = ORDER[(ORDER.indexOf(theme()) + 1) % ORDER.length];
  try {
    localStorage.setItem(KEY, name);
  } catch {
    // A browser that keeps nothing still wears it until the page is closed.
  }
  wear(name);
  return name;
}
