// Text of models and tools with nothing hidden, so that a person sees what they approve: invisible characters, controls and
// marks that reverse the direction become escapes, as the command line prints them (`printable` in rawko-chart). Joiners
// stay within emoji and contextual scripts, and selectors after symbols.

const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|(?<![#*0-9\u00a9\u00ae\u203c-\ufe0d\ufe10-\u{10ffff}])[\ufe0e\ufe0f]/gu;
const EMOJI_BEFORE = /\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]?$/u;
const EMOJI_AFTER = /^\p{Extended_Pictographic}/u;
const LETTER_BEFORE = /[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Malayalam}\p{Script=Sinhala}]$/u;
const LETTER_AFTER = /^[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Malayalam}\p{Script=Sinhala}]/u;

/** Output of a program without its colours. Not for text that a person approves: there, nothing is left out. */
export const withoutStyles = (text) => text.replace(/\u001b\[[0-9;:]*[mK]/g, '');

/** @param {*} value */
export function printable(value) {
  const text = String(value);
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
