// Dialogs: the browser's own <dialog>, with a form, a refusal shown in place, and the focus back where it was. Apart, because every
// question to a person is asked the same way.
import { h, fill } from './dom.js';
import { icon } from './icons.js';
import { complaint } from './words.js';

let serial = 0;

/**
 * Asks with a form. `work` may fail: then the dialog stays and shows the reason.
 * @param {{title: string, lead?: any, body?: any[], act: string, tone?: string, work: (form: HTMLFormElement) => Promise<any>, wide?: boolean}} question
 */
export function ask({ title, lead, body = [], act, tone = 'primary', work, wide = false }) {
  const id = `dialog-${++serial}`;
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
  const submit = h('button', { class: `button ${tone}`, type: 'submit' }, act);
  const form = h(
    'form',
    { method: 'dialog', class: 'dialog-form', novalidate: true },
    h(
      'header',
      { class: 'dialog-head' },
      h('h2', { id }, title),
      closeButton(() => dialog.close()),
    ),
    lead ? h('p', { class: 'lead' }, lead) : null,
    h('div', { class: 'dialog-body' }, body),
    problem,
    h(
      'footer',
      { class: 'dialog-foot' },
      h('button', { class: 'button', type: 'button', on: { click: () => dialog.close() } }, 'Cancel'),
      submit,
    ),
  );
  const dialog = h('dialog', { class: wide ? 'dialog wide' : 'dialog', 'aria-labelledby': id }, form);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    problem.hidden = true;
    submit.disabled = true;
    try {
      await work(form);
      dialog.close();
    } catch (error) {
      fill(problem, icon('error'), h('span', null, complaint(error)));
      problem.hidden = false;
    } finally {
      submit.disabled = false;
    }
  });
  return open(dialog);
}

/** Shows something to read. */
export function tell({ title, body, wide = false }) {
  const id = `dialog-${++serial}`;
  const dialog = h(
    'dialog',
    { class: wide ? 'dialog wide' : 'dialog', 'aria-labelledby': id },
    h(
      'div',
      { class: 'dialog-form' },
      h(
        'header',
        { class: 'dialog-head' },
        h('h2', { id }, title),
        closeButton(() => dialog.close()),
      ),
      h('div', { class: 'dialog-body', tabindex: 0 }, body),
    ),
  );
  return open(dialog);
}

function closeButton(close) {
  return h(
    'button',
    { class: 'button quiet icon-only', type: 'button', 'aria-label': 'Close', on: { click: close } },
    icon('close'),
  );
}

function open(dialog) {
  const before = document.activeElement;
  dialog.addEventListener('close', () => {
    dialog.remove();
    if (before instanceof HTMLElement && before.isConnected) before.focus();
  });
  // A click beside the dialog is a click on the dialog itself: its content covers the rest.
  dialog.addEventListener('mousedown', (event) => event.target === dialog && dialog.close());
  document.body.appendChild(dialog);
  dialog.showModal();
  const first = dialog.querySelector(
    '[autofocus], .dialog-body input, .dialog-body textarea, .dialog-body select, .dialog-foot [type=submit]',
  );
  if (first instanceof HTMLElement) first.focus();
  return dialog;
}

/** A field with its label, and what helps. */
export function field(label, control, hint = null) {
  const id = control.id || `field-${++serial}`;
  control.id = id;
  const help = hint ? h('small', { id: `${id}-hint`, class: 'hint' }, hint) : null;
  if (help) control.setAttribute('aria-describedby', help.id);
  return h('div', { class: 'field' }, h('label', { for: id }, label), control, help);
}
