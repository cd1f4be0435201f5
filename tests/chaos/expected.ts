import { type Closing, type LedgerEntry, type Payment, type RegionEntry, type WindowEntry, windowKey } from './shop.ts'

export interface Keyed<V> {
  readonly key: string
  readonly value: V
}

/** A partition's committed records, in the order of the log. */
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

/** The real payments: without the records that only move time. */
function paid({ payments }: ShopInput): Log<Payment> {
  return payments.map((records) => records.filter(({ value }) => value.end !== true))
}

/**
 * Computes offline what the shop must have written for this input.
 * @returns what is wrong with the output, for people; empty when it is exactly right
 */
export function faults(input: ShopInput, output: ShopOutput): string[] {
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
    ...closingFaults(payments, output.closings),
  ]
  return found.length > MAX_SHOWN ? [...found.slice(0, MAX_SHOWN), `and ${found.length - MAX_SHOWN} more`] : found
}

/** How much of the output is there, for those who wait for the rest. */
export function progress(input: ShopInput, output: ShopOutput): { readonly done: boolean; readonly text: string } {
  const payments = paid(input).flat()
  const due = sum(payments.map(({ value }) => value.amount))
  const counts: [string, number, number][] = [
    ['ledger', output.ledger.flat().length, payments.length],
    ['matched', output.matched.flat().length, matchedIds(paid(input), input.receipts).length],
    ['reminders', output.reminders.flat().length, payments.length],
    ['windows', output.windows.flat().length, payments.length],
    ['amount in regions', sum(output.regions.flat().map(({ value }) => value.added)), due],
  ]
  return {
    done: counts.every(([, is, wanted]) => is >= wanted),
    text: counts.map(([what, is, wanted]) => `${what} ${is}/${wanted}`).join(', '),
  }
}

/** Each account's entries are exactly its payments in the order of the log, with the running balance. */
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

/** Each id exactly once. */
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

/** Each window holds exactly its payments, counted and added up one by one, in whatever order they came through the repartition. */
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
  // What was there was taken out above.
  const missing = [...wanted].flatMap(([key, left]) => (left.size > 0 ? [`window ${key}: ${left.size} missing`] : []))
  return [...faults, ...missing]
}

/** Each region's totals run on without a gap, and end at what was paid there. */
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

/** Each partition closes every time once, in order, and never with less than it has closed a time before. */
function closingFaults(payments: Log<Payment>, closings: Log<Closing>): string[] {
  const faults: string[] = []
  let last = 0
  for (const [partition, list] of grouped(closings)) {
    for (const [i, { time, payments: count }] of list.entries()) {
      const before = list[i - 1]
      if (before === undefined) continue
      if (time <= before.time) faults.push(`partition ${partition} closed ${time} after ${before.time}`)
      if (count < before.payments) faults.push(`partition ${partition} had ${count} payments at ${time}, but ${before.payments} before`)
    }
    last += list.at(-1)?.payments ?? 0
  }
  const paidInAll = payments.flat().length
  return last > paidInAll ? [...faults, `times were closed with ${last} payments of ${paidInAll}`] : faults
}
