/** Changes of the group in the scenario `scale`, in the order in which they are made. */
export const CHANGES = ['add', 'stop', 'return', 'kill'] as const
export type Change = (typeof CHANGES)[number]
