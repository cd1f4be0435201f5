import type { DemoKind, DemoStream } from './stream.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
/** Maximum number of bursts named per line. */
const NAMED = 3

/** Counts sent events for the progress output. */
export interface DemoEvents {
  sent(kind: DemoKind): void
  line(now: number, stream: Pick<DemoStream, 'happening'>): string
}

export function demoEvents(startAt: number): DemoEvents {
  const counts = new Map<DemoKind, number>()
  let total = 0

  return {
    sent(kind) {
      total++
      counts.set(kind, (counts.get(kind) ?? 0) + 1)
    },
    line(now, stream) {
      const seconds = Math.max(1, (now - startAt) / SECOND_MS)
      const odd = [...counts].filter(([kind]) => kind !== 'ordinary').map(([kind, count]) => `${kind.replace('_', ' ')} ${count}`)
      const named = stream.happening(now).slice(0, NAMED)
      const happening = named.map(
        ({ hashtag, place, ends }) => `${hashtag} (${place.name}, ${Math.ceil((ends - now) / MINUTE_MS)} min left)`,
      )
      return `${total} events, ${(total / seconds).toFixed(1)}/s; ${odd.join(', ') || 'nothing unusual yet'}; trending: ${happening.join(', ') || 'nothing'}`
    },
  }
}
