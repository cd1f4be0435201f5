import { KeptBeats, type KeptSession } from './kept-session.ts'

/** How often the thread checks whether the event loop is running. */
export const CHECK_EVERY_MS = 1_000
/**
 * The event loop counts as blocked after this time without a sign of life. Normally the loop gives one every second.
 * The shortest session in use is 6 s, with a heartbeat interval of 1 s. In this case the member may have sent its last
 * heartbeat up to two intervals (2 s) before the last sign of life. The thread checks once a second, so at most about
 * 4.5 s pass between this heartbeat and the thread's first one. In the first stall of a process, more time passes,
 * because the thread first loads the protocol package (about 0.5 s of CPU time). On a busy machine, a session of 6 s
 * may then end.
 */
const STALLED_AFTER_MS = 1_500
/**
 * Share of the heartbeat interval by which a heartbeat may be early, because the checks do not happen at exact times.
 */
const EARLY_BEAT = 0.1

/** The answer to a heartbeat of the thread. */
export type BeatAnswer =
  | { readonly type: 'kept'; readonly epoch: number }
  /**
   * There was no usable answer, for example because the coordinator is moving. The thread sends the heartbeat again at
   * its next check.
   */
  | { readonly type: 'again' }
  /** The group refuses the member. Only the member itself may join again. */
  | { readonly type: 'lost' }

/** Sends heartbeats for one member to its coordinator. */
export interface KeptMember {
  beat(session: KeptSession): Promise<BeatAnswer>
  close(): Promise<void>
}

export interface StallWatchDeps {
  /** Reads the clock that the main thread and the stall thread share, in milliseconds. */
  now(): number
  /** Time on the same clock at which the event loop last gave a sign of life. */
  lastTurn(): number
  /** After this time without a sign of life, the thread sends no more heartbeats. */
  readonly toleranceMs: number
  open(session: KeptSession): Promise<KeptMember>
}

/** Decides which heartbeats the thread sends. */
export interface StallWatch {
  keep(id: number, session: KeptSession, beats: SharedArrayBuffer): void
  release(id: number): void
  readonly isEmpty: boolean
  /** Must be called every `CHECK_EVERY_MS`. */
  check(): void
}

interface Kept {
  session: KeptSession
  readonly beats: KeptBeats
  member: Promise<KeptMember> | undefined
  underWay: boolean
  lost: boolean
  lastBeatAt: number
}

export function stallWatch({ now, lastTurn, toleranceMs, open }: StallWatchDeps): StallWatch {
  const sessions = new Map<number, Kept>()

  function standsStill(): boolean {
    const silence = now() - lastTurn()
    return silence >= STALLED_AFTER_MS && silence <= toleranceMs
  }

  function rest(kept: Kept): void {
    kept.lost = false
    kept.lastBeatAt = -Infinity
    const { member } = kept
    kept.member = undefined
    member?.then((opened) => opened.close()).catch(() => {})
  }

  async function beat(kept: Kept): Promise<void> {
    kept.underWay = true
    kept.lastBeatAt = now()
    try {
      kept.member ??= open(kept.session)
      const member = await kept.member
      // While the thread was loading and connecting, the event loop may have resumed, or may have been blocked for
      // longer than `toleranceMs`.
      if (!standsStill()) return
      const answer = await member.beat(kept.session)
      if (answer.type === 'kept') {
        // While the heartbeat was in flight, the event loop may have resumed and passed a later epoch to the thread.
        kept.session = { ...kept.session, epoch: Math.max(kept.session.epoch, answer.epoch) }
        kept.beats.answered(answer.epoch)
      } else if (answer.type === 'again') kept.lastBeatAt = -Infinity
      else kept.lost = true
    } catch {
      kept.lastBeatAt = -Infinity
    } finally {
      kept.underWay = false
    }
  }

  return {
    keep(id, session, beats) {
      const known = sessions.get(id)
      if (known !== undefined) known.session = session
      else {
        const kept = { session, beats: new KeptBeats(beats), member: undefined, underWay: false, lost: false, lastBeatAt: -Infinity }
        sessions.set(id, kept)
      }
    },
    release(id) {
      const kept = sessions.get(id)
      if (kept === undefined) return
      sessions.delete(id)
      rest(kept)
    },
    get isEmpty() {
      return sessions.size === 0
    },
    check() {
      const stalled = standsStill()
      for (const kept of sessions.values()) {
        if (!stalled) rest(kept)
        else if (!kept.underWay && !kept.lost && now() - kept.lastBeatAt >= kept.session.intervalMs * (1 - EARLY_BEAT)) void beat(kept)
      }
    },
  }
}
