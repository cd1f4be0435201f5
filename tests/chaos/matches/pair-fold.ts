import type { PairCommand, PairSwipe } from '../../../schemas/matches/types.ts'
import { isLike, isNewer } from './swipe-fold.ts'

/** A command about two users that was decided, and its answer. */
export interface DecidedPairCommand {
  readonly command: PairCommand
  /** Epoch ms. */
  readonly decidedAt: number
  readonly outcome: string
}

interface Side {
  readonly newest: PairSwipe | undefined
  readonly blocks: boolean
}

/** What two users are to each other. */
export interface PairState {
  /** The user with the smaller id. */
  readonly a: Side
  readonly b: Side
  /** Older swipes do not count. */
  readonly countsFrom: number
  readonly matchedAt: number | undefined
  readonly hasEnded: boolean
}

const NOTHING: Side = { newest: undefined, blocks: false }
const STRANGERS: PairState = { a: NOTHING, b: NOTHING, countsFrom: 0, matchedAt: undefined, hasEnded: false }

/**
 * Computes offline how the swipes and the commands of a pair can end. Both come in their own order, but by two topics,
 * so every interleaving that gives the answers of the commands is possible. It shares no code with the pipeline.
 */
export function foldPair(swipes: readonly PairSwipe[], commands: readonly DecidedPairCommand[]): PairState[] {
  /** Possible states after a number of swipes and commands. */
  const states = new Map<string, PairState[]>([['0 0', [STRANGERS]]])
  for (let taken = 0; taken <= swipes.length; taken++) {
    for (let decided = 0; decided <= commands.length; decided++) {
      if (taken === 0 && decided === 0) continue
      const afterSwipe = taken === 0 ? [] : states.get(`${taken - 1} ${decided}`)!.map((state) => swiped(state, swipes[taken - 1]))
      const before = decided === 0 ? [] : states.get(`${taken} ${decided - 1}`)!
      const afterCommand = before.flatMap((state) => commanded(state, commands[decided - 1]))
      states.set(`${taken} ${decided}`, distinct([...afterSwipe, ...afterCommand]))
    }
  }
  return states.get(`${swipes.length} ${commands.length}`)!
}

function distinct(states: readonly PairState[]): PairState[] {
  return [...new Map(states.map((state) => [JSON.stringify(state), state])).values()]
}

function swiped(state: PairState, swipe: PairSwipe): PairState {
  const side = swipe.swiper_id < swipe.target_id ? 'a' : 'b'
  const { newest } = state[side]
  const isOver = state.matchedAt !== undefined || isBlocked(state) || swipe.ts < state.countsFrom
  if (isOver || (newest !== undefined && !isNewer(swipe, newest))) return state
  const after = { ...state, [side]: { ...state[side], newest: swipe } }
  const [a, b] = [after.a.newest, after.b.newest]
  if (a === undefined || b === undefined || !isLike(a.direction) || !isLike(b.direction)) return after
  return { ...after, matchedAt: Math.max(a.ts, b.ts) }
}

/** @returns no state if the command would have got another answer */
function commanded(state: PairState, { command, decidedAt, outcome }: DecidedPairCommand): PairState[] {
  const side = command.actor_id < command.other_id ? 'a' : 'b'
  const own = state[side]
  switch (command.action) {
    case 'block': {
      if (outcome !== 'done') return []
      if (own.blocks) return [state]
      const apart = { ...state, a: { ...state.a, newest: undefined }, b: { ...state.b, newest: undefined }, countsFrom: decidedAt }
      return [{ ...apart, [side]: { newest: undefined, blocks: true }, hasEnded: state.matchedAt !== undefined }]
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
