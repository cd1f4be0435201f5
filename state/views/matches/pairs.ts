import type { PairRow } from '../../../schemas/matches/types.ts'
import { decisionView } from '../results.ts'

/** Contains only the results of commands about pairs. The relations between users are in the view of users. */
export const matchPairsView = decisionView<PairRow>({ name: 'match-pairs', operationsFor: () => [] })
