import { swipeEvents } from '../../schemas/matches/topics.ts'
import type { RecentSwipe } from '../../state/views/matches/recent.ts'
import {
  noteSwipeArguments,
  type SwipeAnswer,
  TAKE_REWIND,
  TAKE_SWIPE,
  type TakenSwipe,
  takenSwipe,
  takeRewindKeys,
  takeSwipeArguments,
  takeSwipeKeys,
} from '../../state/views/matches/take-swipe.ts'
import type { UserKeys } from '../../state/views/matches/users.ts'
import type { ViewScripts } from '../../state/views/view.ts'
import { reasonOf } from '../kit/errors.ts'
import type { Logger } from '../kit/logging.ts'
import { spacedWarning } from '../kit/spaced-warning.ts'
import type { SpoolingFacts } from '../kit/spool/spooling-publisher.ts'

/**
 * Stores notes about swipes, so that feeds leave out a swiped user even before the view contains the swipe. Redis may
 * be unavailable when the API answers a swipe, and may lose its data later, so notes are stored again.
 */
export interface SwipeNotes {
  /**
   * Stores a note about an accepted swipe. Never throws. If Redis does not accept the note, both fields of the result
   * are false, and the note is kept for a later attempt unless too many notes are waiting.
   */
  swiped(userId: string, swipe: RecentSwipe, answer: 'match' | 'queued'): Promise<TakenSwipe>
  /** Stores a note about an accepted rewind, in the same way as `swiped`. */
  rewound(userId: string, swipe: RecentSwipe): Promise<void>
  /** Returns those swipes of a user whose notes this process has not been able to store yet, oldest first. */
  pendingOf(userId: string): readonly RecentSwipe[]
  close(): void
}

export interface SwipeNotesDeps {
  readonly scripts: ViewScripts
  readonly facts: Pick<SpoolingFacts, 'spooled'>
  readonly log: Logger
  /** Returns the keys of a user. Throws if the number of partitions is not known yet. */
  keysOf(userId: string): UserKeys
}

/**
 * Time limit for storing a note. If Redis hangs, only the first requests wait this long. Then the circuit breaker of
 * the scripts opens.
 */
const NOTE_TIMEOUT_MS = 250
const NOTHING_TAKEN: TakenSwipe = { isRefillClaimed: false, isLiked: false }
const RETRY_MS = 1_000
/**
 * Interval at which the notes of spooled swipes are stored again. The view does not include these swipes, and Redis may
 * have lost the notes since the last time.
 */
const REPEAT_SPOOLED_MS = 60_000
/** Maximum number of notes that wait for Redis. This many notes take about 3 MB. Further notes are dropped. */
const MAX_PENDING = 10_000
const NOTES_AT_ONCE = 100
/** Minimum interval between two warnings about notes that Redis does not accept. */
const WARN_EVERY_MS = 1_000

interface Note {
  readonly userId: string
  readonly swipe: RecentSwipe
}

export function swipeNotes({ scripts, facts, log, keysOf }: SwipeNotesDeps): SwipeNotes {
  const pending = new Map<string, RecentSwipe[]>()
  let count = 0
  const timers = [every(RETRY_MS, retry), every(REPEAT_SPOOLED_MS, repeatSpooled)]
  /** Number of notes that were dropped since the last warning, because too many notes were waiting. */
  let dropped = 0
  /** Why Redis did not accept the latest note. */
  let reason = ''
  const notNoted = spacedWarning({
    everyMs: WARN_EVERY_MS,
    say(swipes) {
      log.warn({ swipes, dropped, waiting: count, reason }, 'swipe_not_noted')
      dropped = 0
    },
  })

  /**
   * Runs `work` at intervals. Skips a run if the previous run has not ended. Logs only the first failure in a row,
   * because an outage of Redis may last for hours.
   */
  function every(ms: number, work: () => Promise<void>): NodeJS.Timeout {
    let isRunning = false
    let hasFailed = false
    async function run(): Promise<void> {
      if (isRunning) return
      isRunning = true
      try {
        await work()
        if (hasFailed) log.info({ waiting: count }, 'swipe_notes_go_on')
        hasFailed = false
      } catch (error) {
        if (!hasFailed) log.warn({ waiting: count, reason: reasonOf(error) }, 'swipe_notes_wait')
        hasFailed = true
      } finally {
        isRunning = false
      }
    }
    return setInterval(() => void run(), ms).unref()
  }

  async function note({ userId, swipe }: Note, answer: SwipeAnswer): Promise<TakenSwipe> {
    const keys = keysOf(userId)
    const options = { timeoutMs: NOTE_TIMEOUT_MS }
    if (swipe.direction === 'REWIND') {
      await scripts.run(TAKE_REWIND, takeRewindKeys(keys), noteSwipeArguments(swipe), options)
      return NOTHING_TAKEN
    }
    return takenSwipe(await scripts.run(TAKE_SWIPE, takeSwipeKeys(keys), takeSwipeArguments(swipe, answer), options))
  }

  async function noteOrKeep(one: Note, answer: SwipeAnswer): Promise<TakenSwipe> {
    try {
      return await note(one, answer)
    } catch (error) {
      if (!keep(one)) dropped++
      reason = reasonOf(error)
      notNoted.happened()
      return NOTHING_TAKEN
    }
  }

  function keep({ userId, swipe }: Note): boolean {
    if (count >= MAX_PENDING) return false
    pending.set(userId, [...(pending.get(userId) ?? []), swipe])
    count++
    return true
  }

  function drop({ userId, swipe }: Note): void {
    const others = (pending.get(userId) ?? []).filter((one) => one !== swipe)
    if (others.length === 0) pending.delete(userId)
    else pending.set(userId, others)
    count--
  }

  async function retry(): Promise<void> {
    const attempts = attemptsToNote()
    for (const [userId, swipes] of [...pending])
      for (const swipe of swipes) if (await attempts.note({ userId, swipe })) drop({ userId, swipe })
    attempts.end()
  }

  async function repeatSpooled(): Promise<void> {
    const attempts = attemptsToNote()
    let batch: Note[] = []
    for await (const { key, value } of facts.spooled(swipeEvents)) {
      if (value === null) continue
      const { swipe_id: swipeId, target_id: targetId, direction, ts: at } = value
      if (batch.push({ userId: key, swipe: { swipeId, targetId, direction, at } }) < NOTES_AT_ONCE) continue
      await Promise.all(batch.map(attempts.note))
      batch = []
    }
    await Promise.all(batch.map(attempts.note))
    attempts.end()
  }

  /**
   * Stores notes again. After a failure, begins no further attempts for the same partition, because its shard of Redis
   * is unavailable and the notes of a user must stay in order. Other shards may be available.
   */
  function attemptsToNote() {
    const failures = new Map<string, Error>()
    return {
      /** Returns whether the note is stored. Throws if the number of partitions is not known yet. */
      async note(one: Note): Promise<boolean> {
        const { caughtUp: partition } = keysOf(one.userId)
        if (failures.has(partition)) return false
        try {
          await note(one, 'none')
          return true
        } catch (error) {
          failures.set(partition, error as Error)
          return false
        }
      },
      /** Throws the first failure, if any. */
      end(): void {
        for (const failure of failures.values()) throw failure
      },
    }
  }

  return {
    swiped: (userId, swipe, answer) => noteOrKeep({ userId, swipe }, answer),
    async rewound(userId, swipe) {
      await noteOrKeep({ userId, swipe }, 'queued')
    },
    pendingOf: (userId) => pending.get(userId) ?? [],
    close() {
      for (const timer of timers) clearInterval(timer)
      notNoted.flush()
    },
  }
}
