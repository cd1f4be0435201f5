import { readableJson } from '../readable.ts'
import {
  type BinaryReader,
  type ListReader,
  NOT_CAUGHT_UP,
  type ScoreReader,
  type ViewReader,
  type ViewScript,
  type ViewScripts,
} from '../view.ts'
import type { Place } from './candidates/cells.ts'
import { inOrder, type Ranked } from './candidates/ranking.ts'
import { findCandidates, type SearchPlace, STACK_SIZE } from './search.ts'
import { basisOf, REFILL_BELOW, STACK_TTL_MS, STORE_STACK, type Stack, stackFields, stackOf, storeStackKeys } from './stack.ts'
import type { UserKeys } from './users.ts'
import { exclusionsOf, interestReader, type UserState, viewerAt } from './viewer.ts'

export interface BuildDeps {
  readonly reader: ViewReader & ListReader & ScoreReader & BinaryReader
  readonly scripts: ViewScripts
  /** Returns the partition of the index that contains a cell, given its geohash of 4 characters. */
  partitionOfCell(geohash4: string): number
  /** Epoch ms. */
  now(): number
}

/**
 * The progress of searches for a user who has more candidates nearby than one search may examine. The next search
 * continues where the last search stopped, but only if fewer than `REFILL_BELOW` of the candidates of the last search
 * are left. Otherwise, the next search begins where the last search began, so that it finds these candidates again.
 */
interface Resume {
  /** A search may continue only while this value is unchanged; see `basisOf`. */
  readonly basis: string
  readonly from: SearchPlace
  readonly next: SearchPlace
  /** Users whom the search that began at `from` has found. */
  readonly found: readonly string[]
}

/**
 * Lifetime of the lock of a search. A search takes milliseconds, but if the process ends during a search, other
 * searches wait until the lock expires.
 */
export const BUILD_LOCK_MS = 2_000
/**
 * How long the position of a search is kept. If the user returns later, the search starts again with the nearest cells.
 * The position contains ids and cells of other users. After such a user is deleted, Redis rewrites its append-only
 * files four times. The position must expire before the last rewrite; otherwise the files would keep the user's id and
 * cell.
 */
const RESUME_TTL_MS = 1_800_000

/**
 * Locks the search of a user. KEYS: 1 the lock. ARGV: 1 a unique token, 2 time to live in ms. Returns 1 if the caller
 * may search.
 */
const LOCK_BUILD: ViewScript = {
  name: 'lock-build',
  source: `if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0`,
}

/** Locks the search of a user. Returns false while another search for the user is running. */
export async function lockBuild({ scripts }: BuildDeps, { building }: UserKeys, token: string): Promise<boolean> {
  return (await scripts.run(LOCK_BUILD, [building], [token, BUILD_LOCK_MS])) === 1
}

/** Unlocks the search of a user, if it is still locked with this token. KEYS: 1 the lock. ARGV: 1 the token. */
const UNLOCK_BUILD: ViewScript = {
  name: 'unlock-build',
  source: `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end return 0`,
}

/** Unlocks the search of a user after the search has failed. */
export async function unlockBuild({ scripts }: BuildDeps, { building }: UserKeys, token: string): Promise<void> {
  await scripts.run(UNLOCK_BUILD, [building], [token])
}

export interface Built {
  readonly stack: Stack
  /**
   * Resolves when the stack has been stored, or has been discarded because the search no longer held the lock. The
   * result contains the candidates of the stack whom the user has swiped since the search began, or may no longer see.
   */
  readonly stored: Promise<ReadonlySet<string>>
}

/**
 * Searches for candidates for a user and begins to store them.
 * @param token the token with which the caller has locked the search
 * @param state must be read after the search was locked; otherwise it could lack a rewind that was made before the lock
 * @returns NOT_CAUGHT_UP if the view is being built
 */
export async function buildStack(
  deps: BuildDeps,
  keys: UserKeys,
  token: string,
  state: UserState,
  place: Place,
): Promise<Built | typeof NOT_CAUGHT_UP> {
  const { reader, scripts, partitionOfCell, now } = deps
  const builtAt = now()
  const viewer = viewerAt(state, place)
  const basis = basisOf(viewer)
  const interestsOf = interestReader(reader, keys, exclusionsOf(state, builtAt))
  const known = parseResume(await reader.get(keys.resume), basis)
  const former = known !== undefined && state.stack?.basis === basis ? state.stack.candidates : []
  const visible = await interestsOf([...(known?.found ?? []), ...former.map(({ userId }) => userId)])
  if (visible === NOT_CAUGHT_UP) return NOT_CAUGHT_UP
  const left = visible
  const isOpen = known !== undefined && known.found.filter((id) => left.has(id)).length >= REFILL_BELOW
  const from = (isOpen ? known.from : known?.next) ?? {}
  const found = await findCandidates(viewer, { reader, partitionOf: partitionOfCell, interestsOf, now: builtAt }, from)
  if (found === NOT_CAUGHT_UP) return NOT_CAUGHT_UP
  const { ranked, stoppedAt } = found
  const stack = stackOf([...ranked, ...leftOver(new Set(idsOf(ranked)))].sort(inOrder).slice(0, STACK_SIZE), basis, builtAt)
  const next = stoppedAt ?? (ranked.length < STACK_SIZE ? undefined : from)
  const resume = next === undefined || Object.keys(next).length === 0 ? undefined : { basis, from, next, found: idsOf(ranked) }
  const { meta, fields } = stackFields(stack)
  const args = [token, STACK_TTL_MS, meta, resume === undefined ? '' : JSON.stringify(resume), RESUME_TTL_MS, ...fields]
  return { stack, stored: store() }

  async function store(): Promise<ReadonlySet<string>> {
    return new Set((await scripts.run(STORE_STACK, storeStackKeys(keys), args)) as string[])
  }

  /**
   * Returns the candidates of the stored stack that are still visible and that this search has not found again. Returns
   * none if this search began with the nearest cells.
   */
  function leftOver(foundAgain: ReadonlySet<string>): Ranked[] {
    if (Object.keys(from).length === 0) return []
    return former.flatMap(({ score, ...candidate }) => {
      const interest = left.get(candidate.userId)
      return interest === undefined || foundAgain.has(candidate.userId) ? [] : [{ candidate, score, interest }]
    })
  }
}

function parseResume(text: string | null, basis: string): Resume | undefined {
  const resume = readableJson<Resume>(text)
  return resume?.basis === basis ? resume : undefined
}

function idsOf(ranked: readonly Ranked[]): string[] {
  return ranked.map(({ candidate }) => candidate.userId)
}
