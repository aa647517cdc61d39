// Forms from a JSON Schema: text, numbers, yes or no, choices, objects within. Apart from who asks, since approvals and chart
// inputs are both filled in so.
import { h, say } from './dom.js';

let serial = 0;

/**
 * Reads a form in any of the ways charts write one: a JSON Schema, a list of fields, or names with their types.
 * @returns {{type: 'object', properties: Record<string, any>, required: string[]}}
 */
export function schemaOf(form) {
  if (Array.isArray(form)) {
    const fields = form.map((field) => (typeof field === 'string' ? { name: field } : field));
    const properties = Object.fromEntries(
      fields.map(({ name, key, id, required, ...rest }) => [name ?? key ?? id, rest]),
    );
    return {
      type: 'object',
      properties,
      required: fields.filter((field) => field.required).map((field) => field.name ?? field.key ?? field.id),
    };
  }
  const inner = form?.schema ?? form ?? {};
  if (inner.properties) return { type: 'object', required: [], ...inner };
  const fields = inner.fields ?? inner;
  if (Array.isArray(fields)) return schemaOf(fields);
  const properties = Object.fromEntries(
    Object.entries(fields).map(([name, it]) => [name, typeof it === 'string' ? { type: it } : (it ?? {})]),
  );
  return {
    type: 'object',
    properties,
    required: Object.entries(properties)
      .filter(([, it]) => it.required === true)
      .map(([name]) => name),
  };
}

/**
 * A form for a schema. `read()` gives the values, or throws with what is missing, which is then shown beside its field.
 */
export function schemaForm(schema, initial = {}) {
  const fields = Object.entries(schema.properties ?? {}).map(([name, it]) =>
    fieldOf(name, it ?? {}, (schema.required ?? []).includes(name), initial?.[name]),
  );
  return {
    element: h(
      'div',
      { class: 'schema-form' },
      fields.map((field) => field.element),
    ),
    read() {
      const values = {};
      const missing = [];
      for (const field of fields) {
        try {
          const value = field.read();
          if (value !== undefined) values[field.name] = value;
        } catch (error) {
          missing.push(field);
          field.complain?.(error.message);
        }
      }
      if (missing.length) {
        missing[0].focus?.();
        throw new Error(
          missing.length === 1
            ? `${missing[0].label}: ${missing[0].trouble ?? 'required'}`
            : `${missing.length} fields are missing or invalid`,
        );
      }
      return values;
    },
  };
}

const typeOf = (schema) =>
  (Array.isArray(schema.type) ? schema.type.find((type) => type !== 'null') : schema.type) ??
  (schema.enum ? 'enum' : schema.properties ? 'object' : 'string');

function fieldOf(name, schema, required, given) {
  const label = schema.title ?? schema.label ?? words(name);
  const initial = given ?? schema.default;
  const choices = schema.enum ?? schema.options ?? schema.oneOf?.map((one) => one.const);
  if (choices) return choice(name, label, schema, required, choices, initial);
  const type = typeOf(schema);
  if (type === 'boolean') return tick(name, label, schema, initial);
  if (type === 'object' && schema.properties) return group(name, label, schema, initial);
  if (type === 'number' || type === 'integer') return amount(name, label, schema, required, type, initial);
  if (type === 'object' || type === 'array') return json(name, label, schema, required, initial);
  return line(name, label, schema, required, initial);
}

const words = (name) =>
  name.charAt(0).toUpperCase() +
  name
    .slice(1)
    .replace(/[_-]+/g, ' ')
    .replace(/([a-z])([A-Z])/g, (_, a, b) => `${a} ${b.toLowerCase()}`);

/** A control with its label, what helps, and room for what is wrong. */
function wrap(name, label, schema, required, control, read) {
  const id = `f-${++serial}`;
  control.id = id;
  const trouble = h('small', { class: 'trouble', id: `${id}-trouble`, hidden: true });
  const hint = schema.description ? h('small', { class: 'hint', id: `${id}-hint` }, schema.description) : null;
  control.setAttribute('aria-describedby', `${id}-trouble${hint ? ` ${id}-hint` : ''}`);
  if (required) control.setAttribute('aria-required', 'true');
  const field = {
    name,
    label,
    trouble: null,
    element: h(
      'div',
      { class: 'field' },
      h('label', { for: id }, label, required ? h('span', { class: 'required', 'aria-hidden': 'true' }, ' *') : null),
      control,
      trouble,
      hint,
    ),
    focus: () => control.focus(),
    complain(text) {
      field.trouble = text;
      say(trouble, text);
      trouble.hidden = false;
      control.setAttribute('aria-invalid', 'true');
    },
    read() {
      trouble.hidden = true;
      control.removeAttribute('aria-invalid');
      return read();
    },
  };
  return field;
}

function line(name, label, schema, required, initial) {
  const long = schema.format === 'textarea' || schema.multiline || (schema.maxLength ?? 0) > 200;
  const kind = { email: 'email', uri: 'url', date: 'date', password: 'password' }[schema.format] ?? 'text';
  const control = long ? h('textarea', { class: 'input', rows: 4 }) : h('input', { class: 'input', type: kind });
  control.value = initial ?? '';
  return wrap(name, label, schema, required, control, () => {
    const value = control.value;
    if (value === '' && required) throw new Error('required');
    if (value === '') return undefined;
    if (schema.minLength && value.length < schema.minLength) throw new Error(`must have at least ${schema.minLength} characters`);
    if (schema.pattern && !matches(schema.pattern, value)) throw new Error(`must match ${schema.pattern}`);
    return value;
  });
}

function matches(pattern, value) {
  try {
    return new RegExp(pattern, 'u').test(value);
  } catch {
    return true;
  }
}

function amount(name, label, schema, required, type, initial) {
  const control = h('input', {
    class: 'input number',
    type: 'number',
    step: type === 'integer' ? 1 : 'any',
    min: schema.minimum,
    max: schema.maximum,
    inputmode: 'decimal',
  });
  control.value = initial ?? '';
  return wrap(name, label, schema, required, control, () => {
    if (control.value === '' && (required || control.validity.badInput)) throw new Error('must be a number');
    if (control.value === '') return undefined;
    const value = Number(control.value);
    if (type === 'integer' && !Number.isInteger(value)) throw new Error('must be a whole number');
    if (schema.minimum !== undefined && value < schema.minimum) throw new Error(`must be at least ${schema.minimum}`);
    if (schema.maximum !== undefined && value > schema.maximum) throw new Error(`must be at most ${schema.maximum}`);
    return value;
  });
}

function choice(name, label, schema, required, choices, initial) {
  const title = (value) => schema.oneOf?.find((one) => one.const === value)?.title ?? String(value?.label ?? value);
  const control = h(
    'select',
    { class: 'input' },
    required && initial === undefined
      ? h('option', { value: '' }, 'Choose…')
      : required
        ? null
        : h('option', { value: '' }, '–'),
    choices.map((value, at) => h('option', { value: String(at) }, title(value))),
  );
  const at = choices.findIndex((value) => value === initial);
  control.value = at >= 0 ? String(at) : '';
  return wrap(name, label, schema, required, control, () => {
    if (control.value === '' && required) throw new Error('required');
    return control.value === '' ? undefined : (choices[Number(control.value)]?.value ?? choices[Number(control.value)]);
  });
}

function tick(name, label, schema, initial) {
  const control = h('input', { type: 'checkbox', checked: initial === true });
  const hint = schema.description ? h('small', { class: 'hint' }, schema.description) : null;
  return {
    name,
    label,
    element: h('div', { class: 'field' }, h('label', { class: 'switch' }, control, h('span', null, label)), hint),
    read: () => control.checked,
    focus: () => control.focus(),
  };
}

function group(name, label, schema, initial) {
  const inner = schemaForm({ required: [], ...schema }, initial ?? {});
  return {
    name,
    label,
    element: h('fieldset', { class: 'group' }, h('legend', null, label), inner.element),
    read: () => inner.read(),
  };
}

function json(name, label, schema, required, initial) {
  const control = h('textarea', {
    class: 'input code',
    rows: 3,
    spellcheck: 'false',
    placeholder: schema.type === 'array' ? '[]' : '{}',
  });
  control.value = initial === undefined ? '' : JSON.stringify(initial, null, 2);
  return wrap(name, label, { description: 'JSON', ...schema }, required, control, () => {
    if (control.value.trim() === '') {
      if (required) throw new Error('required');
      return undefined;
    }
    return readJson(control.value);
  });
}

/** Parses JSON that a person typed; the error has the position. */
export function readJson(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(
      `invalid JSON: ${error.message.replace(/^JSON\.parse: |^Unexpected/, (it) => (it === 'Unexpected' ? 'unexpected' : ''))}`,
    );
  }
}

/** A field for JSON that is validated while typing. */
export function jsonInput({ rows = 5, value = '', placeholder = '{}', label }) {
  const trouble = h('small', { class: 'trouble', role: 'status', hidden: true });
  const control = h('textarea', {
    class: 'input code',
    rows,
    spellcheck: 'false',
    placeholder,
    'aria-label': label ?? null,
  });
  control.value = value;
  const read = () => (control.value.trim() === '' ? undefined : readJson(control.value));
  control.addEventListener('input', () => {
    try {
      read();
      trouble.hidden = true;
      control.removeAttribute('aria-invalid');
    } catch (error) {
      say(trouble, error.message);
      trouble.hidden = false;
      control.setAttribute('aria-invalid', 'true');
    }
  });
  return { control, trouble, read };
}
