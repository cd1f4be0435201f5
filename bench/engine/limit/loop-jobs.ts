import { utf8 } from '../../../pipelines/engine/index.ts'
import { byteWriter } from '../../../schemas/codec.ts'
import { bareAvro } from '../bare-avro.ts'
import type { JobName } from '../names.ts'
import { enrichedSchema, type Payment, paymentSchema } from '../velocity/payments.ts'
import { addPayment, type CardState, type Enriched, newCard } from '../velocity/velocity.ts'
import { type TermSeen, termSeenSchema, type WindowCount, windowCountSchema } from '../windowed-counts/terms.ts'

/** Outputs a record. Copies the bytes of the record, so that the caller can reuse its buffers. */
export type Emit = (time: number, key: Uint8Array, keyEnd: number, value: Uint8Array, valueEnd: number) => void

/**
 * A job for one partition that keeps its state in a plain Map instead of an engine's store. It has no changelog and no
 * database, and does not handle late records.
 */
export interface LoopJob {
  record(buffer: Buffer, keyStart: number, keyEnd: number, valueStart: number, valueEnd: number, time: number, emit: Emit): void
  /** Called before each commit. Emits the results that are due. */
  beforeCommit(emit: Emit): void
}

const MINUTE_MS = 60_000
const WINDOW_MINUTES = 5
/**
 * The count of a term in a minute is dropped when the minute is more than this many minutes older than the term's
 * newest changed minute. The ring of the engine's job has the same length.
 */
const RING_MINUTES = 12

/** The counts of a term by minute, and the minutes whose counts have changed since the last commit. */
interface TermCounts {
  readonly byMinute: Map<number, number>
  readonly changed: Set<number>
}

function countsInWindows(): LoopJob {
  const seen = bareAvro<TermSeen>(termSeenSchema)
  const out = bareAvro<WindowCount>(windowCountSchema)
  const [key, value] = [byteWriter(), byteWriter()]
  const terms = new Map<string, TermCounts>()
  const changed = new Set<string>()
  return {
    record(buffer, keyStart, keyEnd, valueStart, valueEnd, time) {
      const term = utf8.decode(buffer, keyStart, keyEnd)
      seen.decode(buffer, valueStart, valueEnd)
      const minute = Math.floor(time / MINUTE_MS)
      let counts = terms.get(term)
      if (counts === undefined) {
        counts = { byMinute: new Map(), changed: new Set() }
        terms.set(term, counts)
      }
      counts.byMinute.set(minute, (counts.byMinute.get(minute) ?? 0) + 1)
      counts.changed.add(minute)
      changed.add(term)
    },
    beforeCommit(emit) {
      for (const term of changed) {
        const { byMinute, changed: minutes } = terms.get(term) as TermCounts
        key.length = 0
        utf8.encode(term, key)
        const windows = new Set<number>()
        for (const minute of minutes) for (let back = 0; back < WINDOW_MINUTES; back++) windows.add(minute - back)
        const oldest = Math.max(...minutes) - RING_MINUTES
        minutes.clear()
        for (const first of windows) {
          let count = 0
          for (let minute = first; minute < first + WINDOW_MINUTES; minute++) count += byMinute.get(minute) ?? 0
          value.length = 0
          out.encode({ window_start: first * MINUTE_MS, count }, value)
          emit(first * MINUTE_MS, key.buffer, key.length, value.buffer, value.length)
        }
        for (const minute of byMinute.keys()) if (minute < oldest) byMinute.delete(minute)
      }
      changed.clear()
    },
  }
}

function velocityOfCards(): LoopJob {
  const payments = bareAvro<Payment>(paymentSchema)
  const out = bareAvro<Enriched>(enrichedSchema)
  const [key, value] = [byteWriter(), byteWriter()]
  const cards = new Map<string, CardState>()
  return {
    record(buffer, keyStart, keyEnd, valueStart, valueEnd, time, emit) {
      const name = utf8.decode(buffer, keyStart, keyEnd)
      let card = cards.get(name)
      if (card === undefined) {
        card = newCard()
        cards.set(name, card)
      }
      const enriched = addPayment(card, payments.decode(buffer, valueStart, valueEnd))
      key.length = 0
      utf8.encode(name, key)
      value.length = 0
      out.encode(enriched, value)
      emit(time, key.buffer, key.length, value.buffer, value.length)
    },
    beforeCommit() {},
  }
}

/**
 * The jobs whose limit can be measured, keyed by name. Each function creates a job with empty state for one partition.
 */
export const LOOP_JOBS: Partial<Readonly<Record<JobName, () => LoopJob>>> = { J1: countsInWindows, J2: velocityOfCards }
