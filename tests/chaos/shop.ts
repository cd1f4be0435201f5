import {
  type Codec,
  drop,
  keyedStore,
  rawValue,
  type Topic,
  type Topology,
  type TopologyBuilder,
  type TopologyOptions,
  timerStore,
  topology,
  utf8,
  windowedCounterStore,
} from '../../pipelines/engine/index.ts'
import { CodecError } from '../../schemas/codec.ts'

/** A payment from an account. Payments are keyed by account, and `at` never decreases in log order. */
export interface Payment {
  readonly id: string
  readonly merchant: string
  readonly region: string
  readonly amount: number
  /** Event time, epoch ms. */
  readonly at: number
  /** True for the last record of a partition. It advances the event time past every timer. */
  readonly end?: boolean
  /**
   * If true, the shop fails on this payment after it has changed state and emitted records. None of this may be
   * committed, and the payment must become a dead letter.
   */
  readonly broken?: boolean
  /** Text that makes the payment, and the balance of its account, as large as a test needs. */
  readonly note?: string
}

/** A receipt for a payment, keyed by account. It arrives before or after its payment, or never. */
export interface Receipt {
  readonly id: string
}

/**
 * An entry of an account's ledger. It has the payment's number within the account, from 1, and the balance after the
 * payment.
 */
export interface LedgerEntry {
  readonly seq: number
  readonly balance: number
  readonly id: string
}

/** Count and sum of a merchant's window after one more payment. */
export interface WindowEntry {
  readonly count: number
  readonly sum: number
  readonly id: string
  readonly amount: number
}

/**
 * Announces that a partition of merchants has closed a time. `payments` is the number of payments that it had counted
 * by then.
 */
export interface Closing {
  readonly time: number
  readonly partition: number
  readonly payments: number
}

/** A region's total after one more commit, with the sum that the commit added. */
export interface RegionEntry {
  readonly added: number
  readonly total: number
}

interface Balance {
  seq: number
  balance: number
  /** The note of the last payment. */
  note?: string
}

export const PARTITIONS = 4
const WINDOW_MS = 1_000
/**
 * Number of windows that are kept. They cover more time than a payment can be in flight, even with faults, so dropping
 * older windows loses nothing.
 */
const WINDOWS_KEPT = 600
const REMINDER_AFTER_MS = 700
const TICK_MS = 500
const TIMERS_AT_ONCE = 100
const CLOSED_EVERY_MS = 20
/** The only key of the store `added`, which keeps one number per partition. */
const ALL = 'all'

function json<T>(): Codec<T> {
  return {
    encode: (value, out) => utf8.encode(JSON.stringify(value), out),
    decode(buffer, start, end) {
      try {
        return JSON.parse(utf8.decode(buffer, start, end)) as T
      } catch (error) {
        throw new CodecError(`invalid JSON: ${(error as Error).message}`)
      }
    },
  }
}

function jsonTopic<T>(name: string): Topic<string, T> {
  return { name, key: utf8, value: rawValue(json<T>()), partitions: PARTITIONS }
}

/** Returns the topics that the shop reads and writes, except its internal topics. */
export function shopTopics(name: string) {
  return {
    payments: jsonTopic<Payment>(`${name}-payments`),
    receipts: jsonTopic<Receipt>(`${name}-receipts`),
    ledger: jsonTopic<LedgerEntry>(`${name}-ledger`),
    matched: jsonTopic<{ id: string }>(`${name}-matched`),
    reminders: jsonTopic<{ id: string }>(`${name}-reminders`),
    windows: jsonTopic<WindowEntry>(`${name}-windows`),
    regions: jsonTopic<RegionEntry>(`${name}-regions`),
    closings: jsonTopic<Closing>(`${name}-closings`),
  }
}
export type ShopTopics = ReturnType<typeof shopTopics>

export function windowKey(merchant: string, at: number): string {
  return `${merchant}@${Math.floor(at / WINDOW_MS)}`
}

/**
 * Creates the topology under test: two co-partitioned sources with a join, a keyed store, event-time timers, an
 * aggregate that is emitted before each commit, time markers that let a later stage close times, and two repartitions,
 * one of which feeds windows. Except for the closed times, the output can be computed from the input's log alone,
 * regardless of the order in which partitions are read.
 */
export function shop(name: string, options: TopologyOptions = {}): Topology {
  const topics = shopTopics(name)
  const build = (t: TopologyBuilder) => {
    const byMerchant = t.repartition<string, Payment>('by-merchant', { key: utf8, value: rawValue(json()), partitions: PARTITIONS })
    const byRegion = t.repartition<string, number>('by-region', { key: utf8, value: rawValue(json()), partitions: 2 })

    const balances = keyedStore<string, Balance>('balances', { key: utf8, value: rawValue(json()) })
    /** For each id without its counterpart, whether the payment or the receipt has arrived. */
    const unmatched = keyedStore<string, 'payment' | 'receipt'>('unmatched', { key: utf8, value: rawValue(json()) })
    const reminders = timerStore<string>('due', { key: utf8 })
    const pending = new Map<string, number>()

    /** @returns true if the matching payment or receipt had already arrived */
    function match(id: string, kind: 'payment' | 'receipt'): boolean {
      const waiting = unmatched.get(id)
      if (waiting === undefined || waiting === kind) {
        unmatched.put(id, kind)
        return false
      }
      unmatched.delete(id)
      return true
    }

    t.source(topics.payments, { onError: { process: 'dead-letter' } })
      .process(
        'book',
        {
          reads(payment, account) {
            balances.prefetch(account)
            unmatched.prefetch(payment.id)
          },
          stores: [balances, unmatched, reminders],
          emits: [topics.ledger, topics.matched, byMerchant],
        },
        function book(payment, ctx) {
          if (payment.end === true) return drop('end')
          const { seq, balance } = balances.get(ctx.key) ?? { seq: 0, balance: 0 }
          const next = { seq: seq + 1, balance: balance + payment.amount }
          balances.put(ctx.key, payment.note === undefined ? next : { ...next, note: payment.note })
          ctx.emit(topics.ledger, ctx.key, { ...next, id: payment.id })
          reminders.schedule(payment.id, payment.at + REMINDER_AFTER_MS)
          if (match(payment.id, 'payment')) ctx.emit(topics.matched, ctx.key, { id: payment.id })
          ctx.emit(byMerchant, payment.merchant, payment)
          pending.set(payment.region, (pending.get(payment.region) ?? 0) + payment.amount)
          if (payment.broken === true) throw new Error('a broken payment')
        },
      )
      .tick('remind', { everyMs: TICK_MS, clock: 'event', stores: [reminders], emits: [topics.reminders] }, function remind(now, ctx) {
        for (let due = reminders.takeDue(now, TIMERS_AT_ONCE); due.length > 0; due = reminders.takeDue(now, TIMERS_AT_ONCE))
          for (const { key } of due) ctx.emit(topics.reminders, key, { id: key })
      })
      .beforeCommit('send', { emits: [byRegion] }, function send(ctx) {
        for (const [region, added] of pending) ctx.emit(byRegion, region, added)
        pending.clear()
      })
      .markTime({ everyMs: CLOSED_EVERY_MS, delayMs: 0, to: byMerchant })
    t.source(topics.receipts).process(
      'receive',
      { reads: (receipt) => unmatched.prefetch(receipt.id), stores: [unmatched, balances], emits: [topics.matched] },
      function receive({ id }, ctx) {
        if (match(id, 'receipt')) ctx.emit(topics.matched, ctx.key, { id })
      },
    )

    const counts = windowedCounterStore<string>('counts', { key: utf8, bucketMs: WINDOW_MS, buckets: WINDOWS_KEPT })
    const added = keyedStore<string, number>('added', { key: utf8, value: rawValue(json()) })
    const sums = keyedStore<string, number>('sums', { key: utf8, value: rawValue(json()) })
    t.source(byMerchant)
      .process(
        'add-up',
        {
          reads(payment, merchant) {
            counts.prefetch(merchant)
            sums.prefetch(windowKey(merchant, payment.at))
          },
          stores: [counts, sums, added],
          emits: [topics.windows],
        },
        function addUp({ id, amount, at }, ctx) {
          const start = Math.floor(at / WINDOW_MS) * WINDOW_MS
          const key = windowKey(ctx.key, at)
          counts.add(ctx.key, at)
          const before = sums.get(key)
          const sum = (before ?? 0) + amount
          sums.put(key, sum)
          if (before === undefined) sums.delete(windowKey(ctx.key, at - WINDOWS_KEPT * WINDOW_MS))
          added.put(ALL, (added.get(ALL) ?? 0) + 1)
          ctx.emit(topics.windows, key, { count: counts.count(ctx.key, start, start + WINDOW_MS), sum, id, amount })
        },
      )
      .onTime('close', { stores: [added], emits: [topics.closings] }, function* close(time, ctx) {
        const closing = { time, partition: ctx.partition, payments: added.get(ALL) ?? 0 }
        // Lets other work run before the next step.
        yield
        ctx.emit(topics.closings, String(ctx.partition), closing)
      })

    const totals = keyedStore<string, number>('totals', { key: utf8, value: rawValue(json()) })
    t.source(byRegion).process(
      'total',
      { reads: (_, region) => totals.prefetch(region), stores: [totals], emits: [topics.regions] },
      function total(added, ctx) {
        const next = (totals.get(ctx.key) ?? 0) + added
        totals.put(ctx.key, next)
        ctx.emit(topics.regions, ctx.key, { added, total: next })
      },
    )
  }
  return topology(name, build, options)
}
