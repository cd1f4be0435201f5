import type { TermState, VolumesRound } from '../../schemas/trends/types.ts'
import { eachBucket } from '../../state/stores/buckets.ts'
import type { KeyedStore } from '../engine/index.ts'

/**
 * Maximum number of minutes that wait to be published. It is reached only if time markers are held back, as by a
 * backlog.
 */
const MAX_WAITING = 50_000
const ROUND_KEY = 'round'

export type PublishVolume = (key: string, minute: number, volume: number) => void

/**
 * Publishes, once a minute, the count of each term in each minute that has changed. The exact history consists of these
 * counts. Volumes are absolute and only grow, so publishing one twice has no effect.
 *
 * Waiting volumes are only in memory. Each term's state contains the round of its last change, so that after a restart
 * the terms of the unfinished round can be published completely (`catchUp`).
 */
export function volumeRounds(store: KeyedStore<string, VolumesRound>) {
  /** Maps each key to its waiting minutes and their volumes: minute, volume, minute, volume … */
  let waiting = new Map<string, number[]>()
  let isCaughtUp = false
  let round: number | undefined

  function currentRound(): number {
    round ??= store.get(ROUND_KEY)?.round ?? 0
    return round
  }

  /** Records a change of a minute's volume. */
  function changed(key: string, state: TermState, minute: number, volume: number): void {
    state.volumes_round = currentRound()
    // Until all terms have been through `catchUp`, the round in their state is enough to find the waiting volumes.
    if (!isCaughtUp) return
    const minutes = waiting.get(key)
    if (minutes === undefined) {
      waiting.set(key, [minute, volume])
      return
    }
    for (let i = 0; i < minutes.length; i += 2) {
      if (minutes[i] !== minute) continue
      minutes[i + 1] = volume
      return
    }
    minutes.push(minute, volume)
  }

  /** Must be called when a minute leaves the state. Publishes its volume unless it was published before. */
  function dropping(key: string, state: TermState, minute: number, volume: number, publish: PublishVolume): void {
    if (!isCaughtUp && state.volumes_round === currentRound()) publish(key, minute, volume)
  }

  /** Must be called for each term after a restart. */
  function catchUp(key: string, state: TermState, publish: PublishVolume): void {
    if (state.volumes_round === currentRound()) eachBucket(state.minutes, (minute, volume) => publish(key, minute, volume))
  }

  /** Publishes waiting volumes; with `onlyWhenFull`, only if there are too many. */
  function publishWaiting(publish: PublishVolume, onlyWhenFull = false): void {
    if (!isCaughtUp || waiting.size === 0 || (onlyWhenFull && waiting.size < MAX_WAITING)) return
    for (const [key, minutes] of waiting) for (let i = 0; i < minutes.length; i += 2) publish(key, minutes[i], minutes[i + 1])
    startRound()
  }

  function startRound(): void {
    waiting = new Map()
    round = currentRound() + 1
    store.put(ROUND_KEY, { round })
  }

  return {
    changed,
    dropping,
    catchUp,
    /** Must be called when every term has been through `catchUp`. */
    caughtUp() {
      isCaughtUp = true
      startRound()
    },
    publish: publishWaiting,
  }
}
