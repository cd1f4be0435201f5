import { playInTime } from '../../pace.ts'
import type { StreamSession } from '../../session.ts'

const MAX_IN_FLIGHT = 8
const REPORT_EVERY_MS = 15_000

/** Counts one occurrence of `what` for the report. */
export type Count = (what: string) => void

export interface RequestStream<Event> {
  next(): Event
  /** Sends the event's requests. Refused requests are counted and not repeated. */
  perform(event: Event, count: Count): Promise<void>
  /** Epoch ms. */
  readonly endAt: number
}

/** Performs each event when it is due, several at once if necessary, and reports the results at intervals. */
export async function playRequests<Event extends { readonly at: number }>(
  { say, stopped, pause }: StreamSession,
  { next, perform, endAt }: RequestStream<Event>,
): Promise<void> {
  const counts = new Map<string, number>()
  const inFlight = new Set<Promise<void>>()
  const count = (what: string) => void counts.set(what, (counts.get(what) ?? 0) + 1)
  const report = () => say([...counts].map(([what, times]) => `${what} ${times}`).join(', ') || 'nothing yet')
  const reporting = setInterval(report, REPORT_EVERY_MS)
  try {
    await playInTime({
      next() {
        const event = next()
        return event.at < endAt ? event : undefined
      },
      send(event) {
        const sending = perform(event, count).finally(() => inFlight.delete(sending))
        inFlight.add(sending)
      },
      isFull: () => inFlight.size >= MAX_IN_FLIGHT,
      flush: async () => void (await Promise.all(inFlight)),
      now: Date.now,
      pause,
      stopped,
    })
  } finally {
    clearInterval(reporting)
    report()
  }
}
