import { z } from '@hono/zod-openapi'
import { errors } from '../kit/errors.ts'
import { integerParameter, pageLimitParameter, pageParameter } from '../kit/parameters.ts'
import { defineRoute } from '../kit/route.ts'
import { matchesErrors } from './errors.ts'
import {
  BlocksSchema,
  ExplanationSchema,
  FeedSchema,
  feedPlace,
  LikesSchema,
  LocationBody,
  MAX_CANDIDATES,
  MatchesSchema,
  NewProfileBody,
  NotifyBody,
  ProfilePatchBody,
  ProfileSchema,
  QueuedRewindSchema,
  QueuedSwipeSchema,
  RewindResultSchema,
  SearchExplanationSchema,
  SwipeBody,
  SwipeResultSchema,
  userId,
} from './model.ts'

const DEFAULT_CANDIDATES = 20
/** Maximum page number. No list of a user's relations has more pages. */
const MAX_PAGE = 1_000_000
const NAME_EXAMPLE = { display_name: 'Ann', birth_date: '1990-05-01', gender: 'f', seeking_gender: ['m'] }
const user = { kind: 'user' } as const

export const putProfileRoute = defineRoute({
  method: 'put',
  path: '/v1/me',
  operationId: 'putMatchProfile',
  summary: 'Create or replace your profile',
  description: 'Omitted fields get their defaults. Other users can find you once you have sent a location.',
  auth: user,
  idempotent: true,
  body: NewProfileBody,
  bodyExample: NAME_EXAMPLE,
  answers: {
    200: { description: 'The replaced profile.', schema: ProfileSchema },
    201: { description: 'The new profile.', schema: ProfileSchema },
  },
  errors: [matchesErrors.under_age, matchesErrors.profile_not_found, errors.not_ready],
})

export const readProfileRoute = defineRoute({
  method: 'get',
  path: '/v1/me',
  operationId: 'readMatchProfile',
  summary: 'Read your profile',
  description: 'Returns your profile and your last known location. Other users never see the location.',
  auth: user,
  answers: { 200: { description: 'The profile.', schema: ProfileSchema } },
  errors: [matchesErrors.profile_not_found, errors.not_ready],
})

export const patchProfileRoute = defineRoute({
  method: 'patch',
  path: '/v1/me',
  operationId: 'patchMatchProfile',
  summary: 'Change your profile',
  description: 'Changes only the fields that the request contains.',
  auth: user,
  idempotent: true,
  body: ProfilePatchBody,
  bodyExample: { max_dist_km: 100 },
  answers: { 200: { description: 'The changed profile.', schema: ProfileSchema } },
  errors: [matchesErrors.under_age, matchesErrors.profile_not_found, errors.not_ready],
})

export const deleteProfileRoute = defineRoute({
  method: 'delete',
  path: '/v1/me',
  operationId: 'deleteMatchProfile',
  summary: 'Delete your profile',
  description:
    'Hides you at once, ends your matches, and erases your profile and location within an hour. A new profile contains none of the old data.',
  auth: user,
  idempotent: true,
  answers: { 204: { description: 'The profile is deleted.' } },
  errors: [matchesErrors.profile_not_found, errors.not_ready],
})

export const locationRoute = defineRoute({
  method: 'post',
  path: '/v1/location',
  operationId: 'sendLocation',
  summary: 'Send your location',
  description: 'From now on, other users find you at this location. A location that is less accurate than 10 km is ignored.',
  auth: user,
  body: LocationBody,
  bodyExample: { lat: 37.77, lon: -122.42, accuracy_m: 20 },
  answers: { 204: { description: 'The location is stored, or ignored because it is too inaccurate.' } },
  errors: [matchesErrors.profile_not_found, errors.not_ready],
})

export const feedRoute = defineRoute({
  method: 'get',
  path: '/v1/feed',
  operationId: 'readFeed',
  summary: 'Find candidates',
  description:
    'Returns candidates, best first. Reading the feed does not remove candidates from it. If you send `lat` and `lon`, the search is made around this location, which also becomes your location.',
  auth: user,
  query: z.object({
    limit: integerParameter({
      minimum: 1,
      maximum: MAX_CANDIDATES,
      default: DEFAULT_CANDIDATES,
      description: 'Maximum number of candidates.',
    }),
    ...feedPlace,
  }),
  answers: { 200: { description: 'The candidates.', schema: FeedSchema } },
  errors: [matchesErrors.location_required, matchesErrors.profile_inactive, matchesErrors.profile_not_found, errors.not_ready],
})

export const swipeRoute = defineRoute({
  method: 'post',
  path: '/v1/swipe',
  operationId: 'swipe',
  summary: 'Like or pass on a candidate',
  description:
    'Records your swipe. The API responds as soon as the swipe is stored safely. If you like each other, `match` contains the expected match.',
  auth: user,
  idempotent: true,
  body: SwipeBody,
  bodyExample: { target_user_id: '3f2a6c1e-8b1d-4c0f-9a86-d1f0c4e7b25a', direction: 'RIGHT' },
  answers: {
    200: { description: 'The swipe is stored.', schema: SwipeResultSchema },
    202: {
      description: 'The swipe is stored safely. It will take effect later, because the event log is slow or unavailable.',
      schema: QueuedSwipeSchema,
    },
  },
  errors: [matchesErrors.invalid_target, matchesErrors.profile_inactive, matchesErrors.profile_not_found, errors.not_ready],
})

export const rewindRoute = defineRoute({
  method: 'post',
  path: '/v1/swipe/rewind',
  operationId: 'rewindSwipe',
  summary: 'Take back your last swipe',
  description: 'Takes back your last swipe. Earlier swipes cannot be taken back. The candidate then comes first in the feed.',
  auth: user,
  idempotent: true,
  answers: {
    200: { description: 'The swipe that was taken back.', schema: RewindResultSchema },
    202: {
      description:
        'The rewind is stored safely, but the event log is slow or unavailable. It will take effect later, unless the swipe leads to a match before then.',
      schema: QueuedRewindSchema,
    },
  },
  errors: [matchesErrors.profile_not_found, matchesErrors.already_matched, matchesErrors.nothing_to_rewind, errors.not_ready],
})

export const likesRoute = defineRoute({
  method: 'get',
  path: '/v1/likes',
  operationId: 'listLikes',
  summary: 'List who likes you',
  description:
    'Returns the users who liked you most recently, at most 1,000, newest first. Leaves out users whom you have swiped or may not see, and users whose profiles are switched off. Also leaves out users who do not suit you, or whom you do not suit, in age and gender.',
  auth: user,
  answers: { 200: { description: 'The users.', schema: LikesSchema } },
  errors: [matchesErrors.profile_not_found, errors.not_ready],
})

const page = z.object({ page: pageParameter(MAX_PAGE), limit: pageLimitParameter('entries') })

export const matchesRoute = defineRoute({
  method: 'get',
  path: '/v1/matches',
  operationId: 'listMatches',
  summary: 'List your matches, newest first',
  description:
    'Returns your newest 10,000 matches. Leaves out matches that have ended, and matches with users who have switched off their profile.',
  auth: user,
  query: page,
  answers: { 200: { description: 'A page of matches.', schema: MatchesSchema } },
  errors: [matchesErrors.profile_not_found, errors.not_ready],
})

export const unmatchRoute = defineRoute({
  method: 'delete',
  path: '/v1/matches/{match_id}',
  operationId: 'unmatch',
  summary: 'End a match',
  description: 'Ends the match permanently for both users, who then no longer see each other.',
  auth: user,
  idempotent: true,
  params: z.object({ match_id: z.uuid() }),
  answers: { 204: { description: 'The match has ended.' } },
  errors: [matchesErrors.match_not_found, errors.not_ready],
})

export const blocksRoute = defineRoute({
  method: 'get',
  path: '/v1/blocks',
  operationId: 'listBlocks',
  summary: 'List the users whom you block, newest first',
  description: 'Returns the users whom you block.',
  auth: user,
  query: page,
  answers: { 200: { description: 'A page of users.', schema: BlocksSchema } },
  errors: [errors.not_ready],
})

const other = z.object({ user_id: userId })

export const blockRoute = defineRoute({
  method: 'put',
  path: '/v1/blocks/{user_id}',
  operationId: 'blockUser',
  summary: 'Block a user',
  description: 'You and the other user cannot see each other until you lift the block. If you have a match with this user, the match ends.',
  auth: user,
  idempotent: true,
  params: other,
  answers: { 204: { description: 'The user is blocked.' } },
  errors: [matchesErrors.invalid_target, errors.not_ready],
})

export const unblockRoute = defineRoute({
  method: 'delete',
  path: '/v1/blocks/{user_id}',
  operationId: 'unblockUser',
  summary: 'Lift a block',
  description: 'You and the other user can find each other again, unless a match between you has ended or the other user blocks you.',
  auth: user,
  idempotent: true,
  params: other,
  answers: { 204: { description: 'The block is lifted.' } },
  errors: [matchesErrors.invalid_target, errors.not_ready],
})

export const notifyRoute = defineRoute({
  method: 'post',
  path: '/v1/match/notify',
  operationId: 'notifyMatch',
  summary: 'Report a match',
  description:
    'This endpoint is for match detectors and operators. A report never creates a match. It only triggers the push notifications about the match that have not been sent yet.',
  auth: { kind: 'scope', scope: 'internal' },
  idempotent: true,
  body: NotifyBody,
  answers: { 202: { description: 'The report is accepted.' } },
  errors: [matchesErrors.invalid_target, errors.not_ready],
})

export const explainRoute = defineRoute({
  method: 'get',
  path: '/v1/feed/explain',
  operationId: 'explainFeed',
  summary: 'Explain why a user does or does not see other users',
  description:
    "With `candidate`, returns the verdict of every filter on that user and the values that each filter compared. Without `candidate`, repeats the user's search and returns the visited cells with the number of users that each filter excludes there. A user is counted once, under the first filter that excludes the user.",
  auth: { kind: 'scope', scope: 'admin' },
  query: z.object({ user: userId, candidate: userId.optional() }),
  answers: { 200: { description: 'The verdicts, or the cells.', schema: z.union([ExplanationSchema, SearchExplanationSchema]) } },
  errors: [matchesErrors.profile_not_found, matchesErrors.location_required, errors.not_ready],
})
