import { partitionFor } from '../../kafka/partitioner.ts'
import { type Closing, type LedgerEntry, PARTITIONS, type Payment, type RegionEntry, type WindowEntry, windowKey } from './shop.ts'

export interface Keyed<V> {
  readonly key: string
  readonly value: V
}

/** Committed records by partition, in log order. */
export type Log<V> = readonly (readonly Keyed<V>[])[]

export interface ShopInput {
  readonly payments: Log<Payment>
  readonly receipts: Log<{ readonly id: string }>
}

export interface ShopOutput {
  readonly ledger: Log<LedgerEntry>
  readonly matched: Log<{ readonly id: string }>
  readonly reminders: Log<{ readonly id: string }>
  readonly windows: Log<WindowEntry>
  readonly regions: Log<RegionEntry>
  readonly closings: Log<Closing>
}

/** Times by a correct clock, in epoch ms. They determine which payments each closing must have counted. */
export interface Timing {
  /**
   * Time by which each payment was certainly in the log, keyed by the payment's id. A payment without such a time is
   * required only in the last closing.
   */
  readonly inLogBy: ReadonlyMap<string, number>
  /**
   * Ranges of times that may close with too few payments. During such a range a clock was wrong, or a wrong clock
   * showed a time within the range.
   */
  readonly doubtful: readonly (readonly [from: number, to: number])[]
  /** Time at which the output is judged. */
  readonly now: number
}

const MAX_SHOWN = 8

function grouped<V>(log: Log<V>): Map<string, V[]> {
  const groups = new Map<string, V[]>()
  for (const { key, value } of log.flat()) {
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [value])
    else group.push(value)
  }
  return groups
}

function sum(numbers: Iterable<number>): number {
  let total = 0
  for (const number of numbers) total += number
  return total
}

/** Returns the payments that count. Leaves out malformed payments and records that only advance time. */
function paid({ payments }: ShopInput): Log<Payment> {
  return payments.map((records) => records.filter(({ value }) => value.end !== true && value.broken !== true))
}

/**
 * Computes offline what the shop must have written for this input, and compares it with the output.
 * @returns up to eight deviations, and the number of the others; empty if the output is exactly right
 */
export function faults(input: ShopInput, output: ShopOutput, timing: Timing): string[] {
  const payments = paid(input)
  const found = [
    ...ledgerFaults(payments, output.ledger),
    ...idFaults('matched', matchedIds(payments, input.receipts), output.matched),
    ...idFaults(
      'reminders',
      payments.flat().map(({ value }) => value.id),
      output.reminders,
    ),
    ...windowFaults(payments, output.windows),
    ...regionFaults(payments, output.regions),
    ...closingFaults(payments, output.closings, timing),
  ]
  return found.length > MAX_SHOWN ? [...found.slice(0, MAX_SHOWN), `and ${found.length - MAX_SHOWN} more`] : found
}

/** Reports how much of the output has been written, so that tests can wait for the rest. */
export function progress(input: ShopInput, output: ShopOutput, timing: Timing): { readonly done: boolean; readonly text: string } {
  const payments = paid(input).flat()
  const due = sum(payments.map(({ value }) => value.amount))
  const counts: [string, number, number][] = [
    ['ledger', output.ledger.flat().length, payments.length],
    ['matched', output.matched.flat().length, matchedIds(paid(input), input.receipts).length],
    ['reminders', output.reminders.flat().length, payments.length],
    ['windows', output.windows.flat().length, payments.length],
    ['amount in regions', sum(output.regions.flat().map(({ value }) => value.added)), due],
    ['partitions closed', PARTITIONS - unclosed(paid(input), output.closings, timing).length, PARTITIONS],
  ]
  return {
    done: counts.every(([, is, wanted]) => is >= wanted),
    text: counts.map(([what, is, wanted]) => `${what} ${is}/${wanted}`).join(', '),
  }
}

/** Checks that each account's ledger contains exactly its payments in log order, with the running balance. */
function ledgerFaults(payments: Log<Payment>, ledger: Log<LedgerEntry>): string[] {
  const wanted = new Map<string, string[]>()
  for (const [account, list] of grouped(payments)) {
    let balance = 0
    wanted.set(
      account,
      list.map(({ id, amount }, i) => {
        balance += amount
        return `${i + 1} ${balance} ${id}`
      }),
    )
  }
  const is = new Map(
    [...grouped(ledger)].map(([account, list]) => [account, list.map(({ seq, balance, id }) => `${seq} ${balance} ${id}`)]),
  )
  return [...new Set([...wanted.keys(), ...is.keys()])].flatMap((account) => {
    const a = is.get(account) ?? []
    const b = wanted.get(account) ?? []
    const at = Array.from({ length: Math.max(a.length, b.length) }, (_, i) => i).find((i) => a[i] !== b[i])
    return at === undefined ? [] : [`ledger of ${account}, entry ${at + 1}: ${a[at] ?? 'missing'} instead of ${b[at] ?? 'nothing'}`]
  })
}

function matchedIds(payments: Log<Payment>, receipts: ShopInput['receipts']): string[] {
  const received = new Set(receipts.flat().map(({ value }) => value.id))
  return payments.flat().flatMap(({ value }) => (received.has(value.id) ? [value.id] : []))
}

/** Checks that the log contains each wanted id exactly once, and no other ids. */
function idFaults(what: string, wanted: readonly string[], log: Log<{ readonly id: string }>): string[] {
  const left = new Set(wanted)
  const seen = new Set<string>()
  const faults: string[] = []
  for (const { value } of log.flat()) {
    if (seen.has(value.id)) faults.push(`${what}: ${value.id} twice`)
    else if (!left.delete(value.id)) faults.push(`${what}: ${value.id} should not be there`)
    seen.add(value.id)
  }
  return [...faults, ...[...left].map((id) => `${what}: ${id} is missing`)]
}

/**
 * Checks that each window counted and summed exactly its payments, one by one. Any order is correct, because the
 * repartition determines in which order payments arrive.
 */
function windowFaults(payments: Log<Payment>, windows: Log<WindowEntry>): string[] {
  const wanted = new Map<string, Map<string, number>>()
  for (const { value } of payments.flat()) {
    const key = windowKey(value.merchant, value.at)
    const window = wanted.get(key) ?? new Map<string, number>()
    wanted.set(key, window.set(value.id, value.amount))
  }
  const faults: string[] = []
  for (const [key, entries] of grouped(windows)) {
    const left = wanted.get(key) ?? new Map<string, number>()
    let running = 0
    for (const [i, { count, sum: total, id, amount }] of entries.entries()) {
      running += amount
      if (left.get(id) !== amount) faults.push(`window ${key}: ${id} twice or wrong`)
      else if (count !== i + 1 || total !== running)
        faults.push(`window ${key}: entry ${i + 1} says ${count} and ${total} instead of ${i + 1} and ${running}`)
      left.delete(id)
    }
  }
  // The loop above removed the payments that it found.
  const missing = [...wanted].flatMap(([key, left]) => (left.size > 0 ? [`window ${key}: ${left.size} missing`] : []))
  return [...faults, ...missing]
}

/**
 * Checks that each total of a region is the previous total plus the added sum, and that the last total is the sum of
 * the region's payments.
 */
function regionFaults(payments: Log<Payment>, regions: Log<RegionEntry>): string[] {
  const wanted = new Map<string, number>()
  for (const { value } of payments.flat()) wanted.set(value.region, (wanted.get(value.region) ?? 0) + value.amount)
  const is = grouped(regions)
  return [...new Set([...wanted.keys(), ...is.keys()])].flatMap((region) => {
    let running = 0
    for (const [i, { added, total }] of (is.get(region) ?? []).entries()) {
      running += added
      if (total !== running) return [`region ${region}: entry ${i + 1} says ${total} instead of ${running}`]
    }
    return running === (wanted.get(region) ?? 0) ? [] : [`region ${region}: ${running} instead of ${wanted.get(region) ?? 0}`]
  })
}

/** Groups payments by the partition of their merchant, because that partition counts them and closes times. */
function byMerchant(payments: Log<Payment>): Payment[][] {
  const partitions: Payment[][] = Array.from({ length: PARTITIONS }, () => [])
  for (const { value } of payments.flat()) partitions[partitionFor(Buffer.from(value.merchant), PARTITIONS)].push(value)
  return partitions
}

/**
 * Returns true if a partition has closed a time that is still in the future, because a clock was ahead. Until that time
 * has come, the partition closes no other time.
 */
function isAhead({ time }: Closing, { doubtful, now }: Timing): boolean {
  return doubtful.length > 0 && time > now
}

/**
 * Finds partitions that have closed no time, or whose last closing has not counted all payments. A partition is excused
 * if the last time that it closed is still in the future, because a clock was ahead.
 */
function unclosed(payments: Log<Payment>, closings: Log<Closing>, timing: Timing): string[] {
  const closed = grouped(closings)
  return byMerchant(payments).flatMap((wanted, partition) => {
    const last = closed.get(String(partition))?.at(-1)
    if (last !== undefined && (isAhead(last, timing) || last.payments === wanted.length)) return []
    const is = last === undefined ? 'has closed no time and counted 0 payments' : `closed its last time with ${last.payments} payments`
    return [`partition ${partition} ${is}, but ${wanted.length} exist`]
  })
}

/**
 * Checks that each partition closes its times once and in order. Each closing must count all payments that were in the
 * log before that time, no closing may count fewer than the previous one, and the last closing must count all payments.
 * Only a wrong clock excuses missing payments.
 */
function closingFaults(payments: Log<Payment>, closings: Log<Closing>, timing: Timing): string[] {
  const { inLogBy, doubtful } = timing
  const closed = grouped(closings)
  const faults = byMerchant(payments).flatMap((wanted, partition) => {
    const list = closed.get(String(partition)) ?? []
    const arrivals = wanted.flatMap(({ id }) => inLogBy.get(id) ?? []).toSorted((a, b) => a - b)
    let there = 0
    return list.flatMap((closing, i) => {
      const { time, payments: count } = closing
      const before = list[i - 1]
      while (arrivals[there] < time) there++
      const isDoubtful = isAhead(closing, timing) || doubtful.some(([from, to]) => time >= from && time <= to)
      return [
        ...(before !== undefined && time <= before.time ? [`partition ${partition} closed ${time} after ${before.time}`] : []),
        ...(before !== undefined && count < before.payments
          ? [`partition ${partition} had ${count} payments at ${time}, but ${before.payments} before`]
          : []),
        ...(count > wanted.length ? [`partition ${partition} closed ${time} with ${count} payments, but only ${wanted.length} exist`] : []),
        ...(count < there && !isDoubtful ? [`partition ${partition} closed ${time} with ${count} payments, but the log had ${there}`] : []),
      ]
    })
  })
  return [...faults, ...unclosed(payments, closings, timing)]
}
