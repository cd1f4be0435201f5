import type { Command, Decision } from '../../../schemas/commands/topics.ts'
import type {
  AcceptedSwipe,
  DesirabilitySwipe,
  MatchDeletion,
  MatchEvent,
  MatchNotification,
  MatchSeen,
  PairCommand,
  PairRow,
  PairSwipe,
  SwipeEvent,
} from '../../../schemas/matches/types.ts'
import type { Logged } from '../log-reader.ts'
import type { Inflicted } from './faults.ts'
import type { Asked } from './requests.ts'

/** The records of each topic about the users of a round. Those of one partition are in log order. */
export interface Logs {
  readonly swipeEvents: readonly Logged<SwipeEvent>[]
  readonly matchSwipes: readonly Logged<AcceptedSwipe>[]
  readonly pairSwipes: readonly Logged<PairSwipe>[]
  readonly pairCommands: readonly Logged<Command<PairCommand>>[]
  /** Includes decisions about users of other rounds, and no tombstones. */
  readonly pairDecisions: readonly Logged<Decision<PairRow>>[]
  readonly matchEvents: readonly Logged<MatchEvent>[]
  readonly matchNotifications: readonly Logged<MatchNotification>[]
  readonly matchDeletions: readonly Logged<MatchDeletion>[]
  /** The records by partition. Their offsets are compared with those in `ViewSample`. */
  readonly matchSeen: readonly (readonly Logged<MatchSeen>[])[]
  readonly scored: readonly Logged<DesirabilitySwipe>[]
}

/** What a user sees after the system has recovered. */
export interface Lists {
  readonly matches: readonly { readonly match_id: string; readonly conversation_id: string; readonly user_id: string }[]
  /** Ids of the users whose likes this user sees. `blocks` and `feed` contain ids of users as well. */
  readonly likes: readonly string[]
  readonly blocks: readonly string[]
  readonly feed: readonly string[]
}

export interface TableRows {
  readonly swipes: readonly { readonly swipe_id: string; readonly direction: string; readonly ts: number }[]
  readonly matches: readonly { readonly match_id: string; readonly conversation_id: string; readonly matched_at: number }[]
}

/** A push notification that reached the webhook. */
export interface Delivered {
  /** Idempotency-Key of the request to the webhook. */
  readonly key: string
  /** Whether the signature is correct and the signed id equals the key. */
  readonly isGenuine: boolean
}

/** A time, and the offset in a partition of `match-seen` up to which the user view was complete at that time. */
export interface ViewSample {
  readonly at: number
  readonly partition: number
  readonly next: number
}

/** Everything that the verdict about a finished round is based on. */
export interface Evidence {
  readonly users: readonly string[]
  readonly asked: readonly Asked[]
  readonly inflicted: Inflicted
  readonly logs: Logs
  readonly tables: TableRows
  /** The requests to the webhook, in order of arrival. The same key may occur several times. */
  readonly delivered: readonly Delivered[]
  readonly lists: ReadonlyMap<string, Lists>
  readonly view: readonly ViewSample[]
  /** Keys of the user view in Redis that belong to users without a profile. */
  readonly remains: readonly string[]
}
