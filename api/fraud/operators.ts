/** Callers who manage rules, snoozes, lists and models. */
export const OPERATORS = { kind: 'scope', scope: ['fraud:ops', 'admin'] } as const
