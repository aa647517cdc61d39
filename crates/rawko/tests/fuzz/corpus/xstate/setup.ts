import { createMachine, assign } from 'xstate';
export const m = createMachine({
  id: 'light', initial: 'green', context: { n: 0, list: [1, "two"] },
  states: {
    green: { on: { TIMER: { target: 'yellow', guard: ({ context }) => context.n > 1 && !context.off, actions: assign({ n: ({ context }) => context.n + 1 }) } } },
    yellow: { after: { 1000: 'red' }, invoke: { src: 'load', onDone: { target: 'red' }, onError: '#light.green' } },
    red: { type: 'parallel', states: { a: { type: 'history' }, b: {} } }, // end
  },
});
