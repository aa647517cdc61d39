// The log-in: a token, where the server wants one. Apart, because nothing else is shown then.
import { path, post } from './api.js';
import { h, say } from './dom.js';
import { field } from './dialog.js';
import { mark } from './icons.js';
import { complaint } from './words.js';

export function login(root, entered) {
  const token = h('input', {
    type: 'password',
    class: 'input',
    autocomplete: 'current-password',
    required: true,
    spellcheck: 'false',
  });
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
  const submit = h('button', { class: 'button primary', type: 'submit' }, 'Log in');
  const form = h(
    'form',
    { class: 'card login' },
    h('div', { class: 'login-mark' }, mark(36)),
    h('h1', null, 'Log in to rawko'),
    h(
      'p',
      { class: 'lead' },
      'Open the link that rawko serve printed (rawko serve --link prints another), or enter a token.',
    ),
    field('Token', token, 'Kept in an HttpOnly cookie, which scripts cannot read.'),
    problem,
    submit,
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    problem.hidden = true;
    submit.disabled = true;
    try {
      await post(path('session'), { token: token.value });
      await entered();
    } catch (error) {
      say(problem, error.status === 401 || error.status === 403 ? 'Invalid token.' : complaint(error));
      problem.hidden = false;
      token.select();
    } finally {
      submit.disabled = false;
    }
  });
  document.title = 'Log in · rawko';
  root.className = 'main view-login';
  root.replaceChildren(form);
  token.focus();
}
