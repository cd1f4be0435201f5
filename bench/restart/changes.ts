/** Membership changes in the scenario `scale`, in chronological order. */
export const CHANGES = ['add', 'stop', 'return', 'kill'] as const
export type Change = (typeof CHANGES)[number]
