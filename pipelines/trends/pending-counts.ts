import type { TermCounts, Tweet } from '../../schemas/trends/types.ts'
import { addForm } from './forms.ts'
import { addSample } from './samples.ts'

/**
 * Contributions since the last commit, combined by term and region, so that repeated terms of a burst are sent once.
 */
export function pendingCounts() {
  let pending = new Map<string, TermCounts>()

  function add(key: string, original: string, minute: number, tweet: Tweet): void {
    const { tweet_id, user_id, created_at } = tweet
    const counts = pending.get(key)
    if (counts === undefined) {
      const samples = [{ tweet_id, user_id, created_at }]
      pending.set(key, { minutes: [minute], counts: [1], forms: [{ form: original, count: 1 }], samples })
      return
    }
    const place = counts.minutes.indexOf(minute)
    if (place >= 0) counts.counts[place]++
    else {
      counts.minutes.push(minute)
      counts.counts.push(1)
    }
    addForm(counts.forms, original, 1)
    addSample(counts.samples, { tweet_id, user_id, created_at })
  }

  /** Passes all contributions to `take` and clears them. */
  function drain(take: (key: string, counts: TermCounts) => void): void {
    for (const [key, counts] of pending) take(key, counts)
    pending = new Map()
  }

  return {
    add,
    drain,
    get size() {
      return pending.size
    },
  }
}
