import type { CommandFlow } from '../commands/topics.ts'
import { matchPairCommands, matchPairDecisions, matchProfileCommands, matchProfiles } from './topics.ts'
import type { MatchProfile, MatchProfileCommand, PairCommand, PairRow } from './types.ts'

/**
 * The answer to a command about a profile. It contains no part of the profile, because answers are kept for a day, and
 * the user may delete the profile in that time. `bad_ages`: the minimum age would exceed the maximum age.
 */
export interface ProfileAnswer {
  readonly outcome: 'created' | 'changed' | 'deleted' | 'not_found' | 'bad_ages'
}

export const profileFlow: CommandFlow<MatchProfileCommand, MatchProfile, ProfileAnswer> = {
  name: 'match-profiles',
  commands: matchProfileCommands,
  decisions: matchProfiles,
}

/** The answer to a command about a pair. `not_found`: the two users do not have this match. */
export interface PairAnswer {
  readonly outcome: 'done' | 'not_found'
  /**
   * After `unmatch`: the time at which the match ended. After `block` and `unblock`: the time at which a block between
   * the two users last began or ended, or at which the profile of one of the two users was deleted; 0 if none of this
   * has happened. This time increases with each block and each lifted block, so that the API can put its notes about
   * blocks in order. Epoch ms. Answers of earlier versions lack this field.
   */
  readonly changed_at?: number
  /** After `block` and `unblock`: the time at which the match of the two users ended, epoch ms, if it has ended. */
  readonly ended_at?: number
}

export const pairFlow: CommandFlow<PairCommand, PairRow, PairAnswer> = {
  name: 'match-pairs',
  commands: matchPairCommands,
  decisions: matchPairDecisions,
}
