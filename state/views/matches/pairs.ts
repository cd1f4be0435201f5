import type { PairRow } from '../../../schemas/matches/types.ts'
import { decisionView } from '../results.ts'

/** Results of commands about pairs. What a pair means to its users stands in their own view: see users.ts. */
export const matchPairsView = decisionView<PairRow>({ name: 'match-pairs', operationsFor: () => [] })
