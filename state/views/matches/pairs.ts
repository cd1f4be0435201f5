import type { PairRow } from '../../../schemas/matches/types.ts'
import { decisionView } from '../results.ts'

/** Results of commands about pairs. The view in users.ts contains the relation of a pair from the side of each user. */
export const matchPairsView = decisionView<PairRow>({ name: 'match-pairs', operationsFor: () => [] })
