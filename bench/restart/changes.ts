/** Changes of the group in the scenario `scale`, in their order. */
export const CHANGES = ['add', 'stop', 'return', 'kill'] as const
export type Change = (typeof CHANGES)[number]
