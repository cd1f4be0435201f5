import type { TermState, VolumesRound } from '../../schemas/trends/types.ts'
import { eachBucket } from '../../state/stores/buckets.ts'
import type { KeyedStore } from '../engine/index.ts'

/**
 * Number of keys with waiting volumes at which the volumes are published early. It is reached only if time markers are
 * delayed, for example by a backlog.
 */
const MAX_WAITING = 50_000
const ROUND_KEY = 'round'

export type PublishVolume = (key: string, minute: number, volume: number) => void

/**
 * Publishes, once a minute, the changed counts of frequent terms, each for a region and a minute. These counts and the
 * volumes of rare terms (rare-volumes.ts) are the exact history. Volumes are absolute and only grow, so publishing a
 * volume twice has no effect.
 *
 * Waiting volumes are only in memory. Each term's state contains the round of its last change. After a restart, the
 * states therefore show which terms belong to unfinished rounds. All volumes of such a term are published when the term
 * changes, or at the latest when the next scan of the store visits it.
 */
export function volumeRounds(store: KeyedStore<string, VolumesRound>) {
  /** Maps each key to its waiting minutes and their volumes: minute, volume, minute, volume … */
  let waiting = new Map<string, number[]>()
  let started: { round: number; unfinished: Set<number> } | undefined

  function current(): { round: number; unfinished: Set<number> } {
    if (started !== undefined) return started
    const stored = store.get(ROUND_KEY)
    started = { round: (stored?.round ?? 0) + 1, unfinished: new Set(stored?.unfinished) }
    if (stored !== undefined) started.unfinished.add(stored.round)
    save(started)
    return started
  }

  function save({ round, unfinished }: { round: number; unfinished: Set<number> }): void {
    store.put(ROUND_KEY, { round, unfinished: [...unfinished] })
  }

  /**
   * Notes the new volume of a minute, so that it will be published. Must be called whenever a minute's volume changes.
   */
  function changed(key: string, state: TermState, minute: number, volume: number, publish: PublishVolume): void {
    catchUp(key, state, publish)
    state.volumes_round = current().round
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

  /**
   * Publishes the volume of a minute that leaves the state, unless an earlier round has certainly published it. Must be
   * called for each such minute. The volume may still be waiting, but after a restart, the state would no longer show
   * it.
   */
  function dropping(key: string, state: TermState, minute: number, volume: number, publish: PublishVolume): void {
    const { round, unfinished } = current()
    if (state.volumes_round === round || unfinished.has(state.volumes_round)) publish(key, minute, volume)
  }

  /**
   * Publishes all volumes in a state whose last change belongs to an unfinished round. Must be called for each term
   * that a scan of the store visits, including terms that the scan deletes.
   */
  function catchUp(key: string, state: TermState, publish: PublishVolume): void {
    if (current().unfinished.has(state.volumes_round)) eachBucket(state.minutes, (minute, volume) => publish(key, minute, volume))
  }

  /**
   * Marks all earlier rounds as finished. Must be called once a scan of the store has visited all terms. The scan must
   * have begun after this task started.
   */
  function caughtUp(): void {
    const { unfinished } = current()
    if (unfinished.size === 0) return
    unfinished.clear()
    save(current())
  }

  /** Publishes the waiting volumes. With `onlyWhenFull`, publishes them only if too many are waiting. */
  function publishWaiting(publish: PublishVolume, onlyWhenFull = false): void {
    if (waiting.size === 0 || (onlyWhenFull && waiting.size < MAX_WAITING)) return
    for (const [key, minutes] of waiting) for (let i = 0; i < minutes.length; i += 2) publish(key, minutes[i], minutes[i + 1])
    waiting = new Map()
    const state = current()
    state.round++
    save(state)
  }

  return { changed, dropping, catchUp, caughtUp, publish: publishWaiting }
}
