import type { PairRow } from '../../../schemas/matches/types.ts'
import { decisionView } from '../results.ts'

/** Results of commands about pairs. The view in users.ts contains what a pair means to each of its users. */
export const matchPairsView = decisionView<PairRow>({ name: 'match-pairs', operationsFor: () => [] })
