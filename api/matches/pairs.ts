import { type PairAnswer, pairFlow } from '../../schemas/matches/flow.ts'
import { conversationIdOf, matchIdOf, pairKey } from '../../schemas/matches/pair.ts'
import type { MatchProfile, PairCommand } from '../../schemas/matches/types.ts'
import { passes } from '../../state/views/matches/candidates/filters.ts'
import { type Cause, severedField } from '../../state/views/matches/recent.ts'
import { MAX_KEPT_LIKES, parseLike } from '../../state/views/matches/relation.ts'
import { exclusionsOf, placeOf, viewerAt } from '../../state/views/matches/viewer.ts'
import { jsonAnswer, noContent } from '../kit/answer.ts'
import type { CommandRequest, Commands } from '../kit/commands/commands.ts'
import { ApiError } from '../kit/errors.ts'
import { PRIVATE } from '../kit/headers.ts'
import { bind } from '../kit/route.ts'
import { matchesErrors } from './errors.ts'
import { hiddenMatches, type OpenMatch } from './hidden-matches.ts'
import { type People, personJson, userOf } from './people.ts'
import { blockRoute, blocksRoute, likesRoute, matchesRoute, notifyRoute, unblockRoute, unmatchRoute } from './routes.ts'

/** Maximum length of the list of likes. Older likes are left out. */
const MAX_LIKES = 1_000
/** Number of likes or matches that one request to the view reads. */
const READ_AT_ONCE = 1_000
/** Maximum number of matches that the list and its total include. Older matches are left out. */
const MAX_LISTED_MATCHES = 10_000
/** Values of the command fields that an action does not set. */
const NOTHING_GIVEN = { match_id: null, matched_at: null, not_before: 0 }

export interface PairDeps {
  readonly commands: Commands
  readonly people: People
  /** Epoch ms. */
  now(): number
}

/** Creates the routes for pairs of users: likes, matches, blocks and reports of matches. */
export function pairRoutes({ commands, people, now }: PairDeps) {
  const hiddenOnes = hiddenMatches({ people, now })

  async function decide(from: CommandRequest, otherId: string, command: Pick<PairCommand, 'action'> & Partial<PairCommand>) {
    const actor_id = command.actor_id ?? userOf(from)
    if (actor_id === otherId) throw new ApiError(matchesErrors.invalid_target)
    const open = await commands.open(from, [command.action, actor_id, otherId, command.match_id ?? null])
    const body: PairCommand = { ...NOTHING_GIVEN, ...command, actor_id, other_id: otherId }
    return open.run(pairFlow, pairKey(actor_id, otherId), body)
  }

  /**
   * Returns fields that give a command a time after the creation of the caller's profile. The clock of the worker that
   * decides the command may be behind. Without `not_before`, the command could then count as an action of the caller's
   * former, deleted profile.
   */
  async function ofProfile(from: CommandRequest, action: 'block' | 'unblock'): Promise<Pick<PairCommand, 'action' | 'not_before'>> {
    // The command is sent even while the view is unavailable or being built.
    const state = await people.stateOf(userOf(from)).catch(() => undefined)
    return { action, not_before: state === undefined ? 0 : state.profile.created_at + 1 }
  }

  /**
   * Hides two users from each other, or shows them to each other again. Takes effect at once, before the views contain
   * the change.
   */
  async function sever(one: [userId: string, cause: Cause], other: [userId: string, cause: Cause], at = now(), isSevered = true) {
    const [[userId, own], [otherId, others]] = [one, other]
    await Promise.all([
      people.sever(userId, severedField(otherId, own), at, isSevered),
      people.sever(otherId, severedField(userId, others), at, isSevered),
    ])
  }

  /**
   * Stores notes for both users that one of them has blocked the other or has lifted the block. A block ends a match
   * permanently, so the end of the match has its own notes. These notes remain if the block is lifted before the views
   * contain the block.
   */
  async function noteBlock(blockerId: string, blockedId: string, { changed_at, ended_at }: PairAnswer, isBlocked: boolean) {
    // If `changed_at` is 0, there was never a block, so there is no note that must be replaced. Without this check,
    // users could store any number of notes about users who do not exist.
    if (!isBlocked && changed_at === 0) return
    await Promise.all([
      sever([blockerId, 'blocks'], [blockedId, 'blocked'], changed_at, isBlocked),
      ended_at !== undefined && sever([blockerId, 'ended'], [blockedId, 'ended'], ended_at),
    ])
  }

  async function matches(userId: string, page: number, limit: number) {
    const { recent } = await people.own(userId)
    const listed = await people.list(userId, 'matches', 0, MAX_LISTED_MATCHES - 1)
    const open = listed.flatMap(({ member: otherId, score }): OpenMatch[] => {
      return score > 0 && !recent.severed.has(otherId) ? [{ otherId, matchedAt: score }] : []
    })
    const hidden = await hiddenOnes.of(userId, open)
    for (;;) {
      const visible = open.filter(({ otherId }) => !hidden.has(otherId))
      const wanted = visible.slice((page - 1) * limit, page * limit)
      const profiles = await people.listed(wanted.map(({ otherId }) => otherId))
      const gone = wanted.filter(({ otherId }) => !profiles.has(otherId))
      // These users have been switched off or deleted since `hiddenOnes` checked them. The next matches in the list
      // move up.
      for (const { otherId } of gone) hidden.add(otherId)
      if (gone.length > 0) continue
      const matches = wanted.map(({ otherId, matchedAt }) => ({
        match_id: matchIdOf(userId, otherId),
        conversation_id: conversationIdOf(userId, otherId),
        ...personJson(profiles.get(otherId)!, now()),
        matched_at: new Date(matchedAt).toISOString(),
      }))
      return { matches, total: visible.length, page, limit }
    }
  }

  async function likes(userId: string) {
    const state = await people.own(userId)
    const exclusion = exclusionsOf(state, now())
    // The list is not filtered by distance, because the users in the list have already found this user in their feeds.
    const here = placeOf(state) ?? { lat: 0, lon: 0 }
    const viewer = viewerAt(state, here)
    /** Returns whether both users suit each other in age and gender. */
    const suits = (profile: MatchProfile) => passes(viewer, { ...viewerAt({ profile, self: undefined }, here), lastActiveAt: now() }, now())
    const list = []
    const known = new Set<string>()
    let examined = 0
    // Looks for one user more than the list can contain, in order to know whether there are further users.
    while (list.length <= MAX_LIKES && examined < MAX_KEPT_LIKES) {
      const next = await people.list(userId, 'likes', examined, examined + READ_AT_ONCE - 1)
      examined += next.length
      // A like that arrives between two reads shifts the other likes, so some likes may be read twice. Relations need
      // not be looked up: the list of likes never contains users with a match or a block between them and this user.
      const liking = next.filter(({ member }) => !known.has(member) && exclusion(member, undefined) === undefined)
      const profiles = await people.listed(liking.map(({ member }) => member))
      for (const { member, score } of liking) {
        known.add(member)
        const profile = profiles.get(member)
        if (profile === undefined || !suits(profile)) continue
        const { likedAt, isSuperLike } = parseLike(score)
        list.push({ ...personJson(profile, now()), liked_at: new Date(likedAt).toISOString(), super_like: isSuperLike })
      }
      if (next.length < READ_AT_ONCE) break
    }
    const likes = list.slice(0, MAX_LIKES)
    return { count: likes.length, more: list.length > MAX_LIKES || examined >= MAX_KEPT_LIKES, likes }
  }

  /** Returns the other user of a match, even if the match has ended; undefined if the user has no such match. */
  async function otherOf(userId: string, matchId: string): Promise<string | undefined> {
    for (let from = 0; ; from += READ_AT_ONCE) {
      const matches = await people.list(userId, 'matches', from, from + READ_AT_ONCE - 1)
      const found = matches.find(({ member }) => matchIdOf(userId, member) === matchId)
      if (found !== undefined || matches.length < READ_AT_ONCE) return found?.member
    }
  }

  return [
    bind(likesRoute, async (input) => jsonAnswer(200, await likes(userOf(input)), PRIVATE)),
    bind(matchesRoute, async (input) => jsonAnswer(200, await matches(userOf(input), input.query.page, input.query.limit), PRIVATE)),
    bind(unmatchRoute, async (input) => {
      const userId = userOf(input)
      const matchId = input.params.match_id.toLowerCase()
      const open = await commands.open(input, ['unmatch', userId, matchId])
      const found = await otherOf(userId, matchId)
      // A repeated request gets the answer to the first request again, even if the match is gone because a user has
      // since been deleted.
      const otherId = await open.once('other', () => {
        if (found === undefined) throw new ApiError(matchesErrors.match_not_found)
        return found
      })
      const body: PairCommand = { ...NOTHING_GIVEN, action: 'unmatch', actor_id: userId, other_id: otherId, match_id: matchId }
      const { outcome, changed_at } = await open.run(pairFlow, pairKey(userId, otherId), body)
      if (outcome === 'not_found') throw new ApiError(matchesErrors.match_not_found)
      await sever([userId, 'ended'], [otherId, 'ended'], changed_at)
      return noContent()
    }),
    bind(blocksRoute, async (input) => {
      const userId = userOf(input)
      const { page, limit } = input.query
      const { total, ids } = await people.blocked(userId, (page - 1) * limit, limit)
      return jsonAnswer(200, { blocks: ids.map((user_id) => ({ user_id })), total, page, limit }, PRIVATE)
    }),
    bind(blockRoute, async (input) => {
      const otherId = input.params.user_id
      await noteBlock(userOf(input), otherId, await decide(input, otherId, await ofProfile(input, 'block')), true)
      return noContent()
    }),
    bind(unblockRoute, async (input) => {
      const otherId = input.params.user_id
      await noteBlock(userOf(input), otherId, await decide(input, otherId, await ofProfile(input, 'unblock')), false)
      return noContent()
    }),
    bind(notifyRoute, async (input) => {
      const { match_id, user_a, user_b, matched_at } = input.body
      await decide(input, user_b, {
        action: 'notify',
        actor_id: user_a,
        match_id: match_id.toLowerCase(),
        matched_at: Date.parse(matched_at),
      })
      return { status: 202, headers: {}, body: null }
    }),
  ]
}
