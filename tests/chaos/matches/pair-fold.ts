import type { PairCommand, PairSwipe } from '../../../schemas/matches/types.ts'
import { isLike, isNewer } from './swipe-fold.ts'

/** A command about two users, with the pipeline's answer. */
export interface DecidedPairCommand {
  readonly command: PairCommand
  /** Time of the decision, epoch ms. */
  readonly decidedAt: number
  readonly outcome: string
}

interface Side {
  readonly newest: PairSwipe | undefined
  readonly blocks: boolean
  /** Time at which the block was decided. */
  readonly blockedAt: number
}

/** The deletion of one user's profile. */
export interface PairDeletion {
  readonly side: 'a' | 'b'
  /** Time of the deletion, epoch ms. */
  readonly deletedAt: number
}

/** The relation between two users. */
export interface PairState {
  /** The user with the smaller id. */
  readonly a: Side
  readonly b: Side
  /** Time of the last block, unblock or deletion. Swipes from before this time do not count. */
  readonly countsFrom: number
  readonly matchedAt: number | undefined
  readonly hasEnded: boolean
  /** The times of all matches so far. After a user has created a new profile, the pair can match again. */
  readonly matches: readonly number[]
  /** Time of the last deletion. Swipes up to this time have no effect. */
  readonly voidUntil: number
}

const NOTHING: Side = { newest: undefined, blocks: false, blockedAt: 0 }
const STRANGERS: PairState = { a: NOTHING, b: NOTHING, countsFrom: 0, matchedAt: undefined, hasEnded: false, matches: [], voidUntil: 0 }

/**
 * Computes offline all final states to which the swipes, commands and deletions of a pair can lead. Only the order
 * within each of the three topics is known, so the function tries every interleaving. It rejects those in which a
 * command would not get its recorded answer. The function shares no code with the pipeline.
 */
export function foldPair(
  swipes: readonly PairSwipe[],
  commands: readonly DecidedPairCommand[],
  deletions: readonly PairDeletion[] = [],
): PairState[] {
  /** The possible states after a number of swipes, commands and deletions. */
  const states = new Map<string, PairState[]>([['0 0 0', [STRANGERS]]])
  const after = (...taken: number[]) => states.get(taken.join(' ')) ?? []
  for (let taken = 0; taken <= swipes.length; taken++) {
    for (let decided = 0; decided <= commands.length; decided++) {
      for (let deleted = 0; deleted <= deletions.length; deleted++) {
        if (taken + decided + deleted === 0) continue
        const afterSwipe = after(taken - 1, decided, deleted).map((state) => swiped(state, swipes[taken - 1]))
        const afterCommand = after(taken, decided - 1, deleted).flatMap((state) => commanded(state, commands[decided - 1]))
        const afterDeletion = after(taken, decided, deleted - 1).map((state) => departed(state, deletions[deleted - 1]))
        states.set(`${taken} ${decided} ${deleted}`, distinct([...afterSwipe, ...afterCommand, ...afterDeletion]))
      }
    }
  }
  return after(swipes.length, commands.length, deletions.length)
}

/**
 * Removes the swipes of the pair that are not newer than the deletion, a match that is based on such a swipe, and an
 * earlier block by the user. A block by the other user remains.
 */
function departed(state: PairState, { side, deletedAt }: PairDeletion): PairState {
  const isOld = (swipe: PairSwipe | undefined) => swipe !== undefined && swipe.ts <= deletedAt
  const [own, other] = side === 'a' ? [state.a, state.b] : [state.b, state.a]
  const isOver = state.matchedAt !== undefined && (state.matchedAt <= deletedAt || isOld(own.newest) || isOld(other.newest))
  const swipeOf = ({ newest }: Side) => (isOld(newest) ? undefined : newest)
  const hasOldBlock = own.blocks && own.blockedAt <= deletedAt
  const sides = {
    [side]: { ...own, newest: swipeOf(own), blocks: own.blocks && !hasOldBlock },
    [side === 'a' ? 'b' : 'a']: { ...other, newest: swipeOf(other) },
  }
  const match = isOver ? { matchedAt: undefined, hasEnded: false } : {}
  return {
    ...state,
    ...sides,
    ...match,
    countsFrom: Math.max(state.countsFrom, deletedAt),
    voidUntil: Math.max(state.voidUntil, deletedAt),
  }
}

function distinct(states: readonly PairState[]): PairState[] {
  return [...new Map(states.map((state) => [JSON.stringify(state), state])).values()]
}

function swiped(state: PairState, swipe: PairSwipe): PairState {
  const side = swipe.swiper_id < swipe.target_id ? 'a' : 'b'
  const { newest } = state[side]
  const isOver = state.matchedAt !== undefined || isBlocked(state) || swipe.ts < state.countsFrom || swipe.ts <= state.voidUntil
  if (isOver || (newest !== undefined && !isNewer(swipe, newest))) return state
  const after = { ...state, [side]: { ...state[side], newest: swipe } }
  const [a, b] = [after.a.newest, after.b.newest]
  if (a === undefined || b === undefined || !isLike(a.direction) || !isLike(b.direction)) return after
  const matchedAt = Math.max(a.ts, b.ts)
  return { ...after, matchedAt, matches: [...after.matches, matchedAt] }
}

/**
 * Applies a command.
 * @returns an empty array if the command would have had a different outcome in this state
 */
function commanded(state: PairState, { command, decidedAt, outcome }: DecidedPairCommand): PairState[] {
  const side = command.actor_id < command.other_id ? 'a' : 'b'
  const own = state[side]
  switch (command.action) {
    case 'block': {
      if (outcome !== 'done') return []
      if (own.blocks) return [state]
      const apart = { ...state, a: { ...state.a, newest: undefined }, b: { ...state.b, newest: undefined }, countsFrom: decidedAt }
      return [{ ...apart, [side]: { newest: undefined, blocks: true, blockedAt: decidedAt }, hasEnded: state.matchedAt !== undefined }]
    }
    case 'unblock': {
      if (outcome !== 'done') return []
      return [own.blocks ? { ...state, countsFrom: decidedAt, [side]: { ...own, blocks: false } } : state]
    }
    case 'unmatch':
      if ((state.matchedAt === undefined) !== (outcome === 'not_found')) return []
      return [state.matchedAt === undefined ? state : { ...state, hasEnded: true }]
    case 'notify':
      return (state.matchedAt === undefined) === (outcome === 'not_found') ? [state] : []
  }
}

export function isBlocked({ a, b }: PairState): boolean {
  return a.blocks || b.blocks
}
