// Text of models and tools with nothing hidden, for what a person decides about: invisible characters, controls and marks that
// reverse the direction become escapes, as the command line prints them. Joiners stay within emoji and contextual scripts.

const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;
const EMOJI_BEFORE = /\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]?$/u;
const EMOJI_AFTER = /^\p{Extended_Pictographic}/u;
const LETTER_BEFORE = /[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Malayalam}\p{Script=Sinhala}]$/u;
const LETTER_AFTER = /^[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Malayalam}\p{Script=Sinhala}]/u;

/** @param {string} text */
export function printable(text) {
  return text.replace(HIDDEN, (letter, at) => {
    if (letter === '\r' && text[at + 1] === '\n') return '';
    if (joins(letter, text.slice(Math.max(0, at - 4), at), text.slice(at + 1, at + 5))) return letter;
    const unit = (place) => `\\u${letter.charCodeAt(place).toString(16).padStart(4, '0')}`;
    return Array.from({ length: letter.length }, (_, place) => unit(place)).join('');
  });
}

function joins(letter, before, after) {
  if (letter !== '\u200c' && letter !== '\u200d') return false;
  if (letter === '\u200d' && EMOJI_BEFORE.test(before) && EMOJI_AFTER.test(after)) return true;
  return LETTER_BEFORE.test(before) && LETTER_AFTER.test(after);
}

/** The values of a request, except those that an answer repeats. */
export function printableRequest(input) {
  const raw = ['options', 'form', 'schema', 'fields'];
  const walk = (value) => {
    if (typeof value === 'string') return printable(value);
    if (Array.isArray(value)) return value.map(walk);
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([key, it]) => [key, walk(it)]));
  };
  return Object.fromEntries(Object.entries(input).map(([key, value]) => [key, raw.includes(key) ? value : walk(value)]));
}
