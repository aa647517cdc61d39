// YAML as an editor paints it: coloured tokens, line by line. Separate from the server's readers, which know what is right and
// what fits.

const TOKEN =
  /(#.*$)|("(?:[^"\\]|\\.)*"?|'(?:[^']|'')*'?)|([\w$*.][\w.*@/$-]*(?=\s*:(?:\s|$|[,}])))|(\b(?:true|false|null)\b|~)|(-?\b\d[\d_]*(?:\.\d+)?(?:ms|s|m|h|d)?\b)|(\b(?:context|event|input|env|agents|item|index)\b(?=\.))|([{}[\],:|>&]|-(?=\s|$))|([\w$*.][\w.*@/$-]*|[^\s\w])/g;
const KINDS = ['comment', 'string', 'key', 'word', 'number', 'data', 'mark', 'text'];

/** The tokens of one line. @returns {{kind: string, start: number, end: number}[]} */
export function tokens(line, { block = false } = {}) {
  if (block) return line.trim() ? [{ kind: 'string', start: line.search(/\S/), end: line.length }] : [];
  const found = [];
  for (const match of line.matchAll(TOKEN)) {
    const kind = KINDS[match.slice(1).findIndex((part) => part !== undefined)];
    const start = match.index;
    // A number sign within a word begins no comment.
    if (kind === 'comment' && start > 0 && !/\s/.test(line[start - 1])) continue;
    found.push({ kind, start, end: start + match[0].length });
  }
  return found;
}

const indentOf = (line) => /^ */.exec(line)[0].length;
const KEY = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#{[,"'][^:#]*?)\s*:(?:\s|$)/;

/** Lines, and whether each is text of a block. */
export function linesOf(text) {
  let block = null;
  return text.split('\n').map((line) => {
    const indent = indentOf(line);
    if (block !== null) {
      if (!line.trim() || indent > block) return { line, block: true };
      block = null;
    }
    let at = indent;
    while (/^-(\s|$)/.test(line.slice(at))) at += 1 + /^ */.exec(line.slice(at + 1))[0].length;
    const rest = line.slice(at);
    const match = KEY.exec(rest);
    if (match && /^[|>][+-]?\d?\s*(#.*)?$/.test(rest.slice(match[0].length).trim())) block = at;
    return { line, block: false };
  });
}
