import type { PairRow } from '../../../schemas/matches/types.ts'
import { decisionView } from '../results.ts'

/** Results of commands about pairs. The users' own view shows what a pair means to them: see users.ts. */
export const matchPairsView = decisionView<PairRow>({ name: 'match-pairs', operationsFor: () => [] })
