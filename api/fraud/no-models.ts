import type { ModelScorer } from './in-force.ts'

/** Rules decide alone. */
export const NO_MODELS: ModelScorer = { score: async () => undefined, probes: [], close: async () => undefined }
