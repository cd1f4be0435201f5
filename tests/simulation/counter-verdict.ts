import type { Guarantee } from '../../pipelines/engine/worker/worker-config.ts'
import type { ReadRecord } from './read-log.ts'
import type { InputTimes } from './subject.ts'

export const KEYS = 6
const GROUPS = 3
export const BROKEN = 'broken'
const MAX_SHOWN = 5

export function groupOf(key: string): string {
  return `g${Number(key.slice(1)) % GROUPS}`
}

type Records = readonly ReadRecord[]

/** Everything that the counter has read and written. */
export interface CounterLogs {
  readonly guarantee: Guarantee
  readonly input: Records
  /** The records of the ledger, by partition. */
  readonly ledger: readonly Records[]
  readonly totals: Records
  readonly letters: Records
  readonly notes: Records
  /** The copies of the notes that the counter has written. */
  readonly passed: Records
}

function isGood({ value }: { readonly value: string }): boolean {
  return !value.startsWith(BROKEN)
}

function textOf({ value }: ReadRecord): string {
  return value
}

function idOf({ value }: ReadRecord): string {
  return value.split(' ')[1]
}

/** Returns true if the output is not complete yet. */
export function missing({ guarantee, input, ledger, totals, letters, notes, passed }: CounterLogs): boolean {
  const wanted = input.filter(isGood).length
  const count = (records: Records, id: (record: ReadRecord) => string) =>
    guarantee === 'exactly-once' ? records.length : new Set(records.map(id)).size
  const lettersWanted = input.length - wanted
  if (count(passed, textOf) < notes.length || count(letters, textOf) < lettersWanted) return true
  return count(ledger.flat(), idOf) < wanted || count(totals, idOf) < wanted
}

/**
 * Returns deviations of the output from the output that is computed offline from the input; at most five.
 * @param sent the numbers of all records that were sent, in ascending order
 */
export function deviations(logs: CounterLogs, sent: readonly number[], times: InputTimes): string[] {
  const { guarantee, input, notes, passed } = logs
  const ids = [...input, ...notes].map(({ value }) => Number(value.replace(BROKEN, ''))).sort((a, b) => a - b)
  const inputFaults = ids.join() === sent.join() ? [] : [`the input holds the records ${ids.join()} instead of ${sent.join()}`]
  const copies = guarantee === 'exactly-once' ? passed.map(textOf) : [...new Set(passed.map(textOf))]
  const [are, wanted] = [copies, notes.map(textOf)].map((list) => list.sort().join())
  const noteFaults = are === wanted ? [] : [`the notes ${are} have passed instead of ${wanted}`]
  return [...inputFaults, ...noteFaults, ...(guarantee === 'exactly-once' ? exactly(logs) : atLeast(logs, times))].slice(0, MAX_SHOWN)
}

function exactly({ input, ledger, totals, letters }: CounterLogs): string[] {
  const given = input.filter(isGood)
  const [is, wanted] = [letters, input.filter((record) => !isGood(record))].map((list) => list.map(({ value }) => value).sort())
  return [
    ...(is.join() === wanted.join() ? [] : [`the dead letters are ${is.join()} instead of ${wanted.join()}`]),
    ...compare('ledger', ledger.flat(), byKey(given), (list) => list.join()),
    ...compare('totals', totals, byGroup(given), (list) => [...list].sort().join()),
    ...ledger.flatMap(unloggedFaults),
  ]
}

function byKey(records: Records): Map<string, ReadRecord[]> {
  return Map.groupBy(records, ({ key }) => key)
}

function byGroup(records: Records): Map<string, ReadRecord[]> {
  return Map.groupBy(records, ({ key }) => groupOf(key))
}

/** Checks that each key is counted 1, 2, 3 and so on, with the same ids as in the input. */
function compare(what: string, output: Records, wanted: Map<string, Records>, show: (ids: string[]) => string): string[] {
  const found = byKey(output)
  return [...new Set([...wanted.keys(), ...found.keys()])].flatMap((key) => {
    const entries = (found.get(key) ?? []).map(({ value }) => value.split(' '))
    const faults: string[] = []
    if (entries.some(([count], i) => Number(count) !== i + 1)) faults.push(`${what} of ${key} counts ${entries.map(([n]) => n).join()}`)
    const is = show(entries.map(([, id]) => id))
    const must = show((wanted.get(key) ?? []).map(({ value }) => value))
    if (is !== must) faults.push(`${what} of ${key} has ${is} instead of ${must}`)
    return faults
  })
}

/**
 * Checks that the store without a changelog loses either all of its state or none, and never returns to an earlier
 * state.
 * @param ledger the ledger of one partition
 */
function unloggedFaults(ledger: Records): string[] {
  let seen = new Map<string, number>()
  let all = 0
  return ledger.flatMap(({ key, value, partition }) => {
    const [ofKey, ofAll] = value.split(' ').slice(2, 4).map(Number)
    if (ofAll === 1) {
      seen = new Map()
      all = 0
    }
    const [wantedOfKey, wantedOfAll] = [(seen.get(key) ?? 0) + 1, all + 1]
    seen.set(key, ofKey)
    all = ofAll
    if (ofKey === wantedOfKey && ofAll === wantedOfAll) return []
    return [`without a changelog, ${key} counts ${ofKey} of ${ofAll} in partition ${partition} instead of ${wantedOfKey} of ${wantedOfAll}`]
  })
}

/**
 * Checks that no record is lost and that no count is too low. Counts may be too low only if requests arrived late:
 * without transactions, a broker does not refuse late requests from a worker that has been replaced.
 */
function atLeast({ input, ledger, totals, letters }: CounterLogs, { requestsWereLate: mayBeLow }: InputTimes): string[] {
  const given = input.filter(isGood)
  const found = new Set(letters.map(({ value }) => value))
  const broken = input.filter((record) => !isGood(record)).filter(({ value }) => !found.has(value))
  return [
    ...broken.map(({ value }) => `the dead letters lack ${value}`),
    ...compareAtLeast('ledger', ledger.flat(), byKey(given), mayBeLow, (ids) => ids.join()),
    ...compareAtLeast('totals', totals, byGroup(given), mayBeLow, (ids) => [...ids].sort().join()),
  ]
}

function compareAtLeast(
  what: string,
  output: Records,
  wanted: Map<string, Records>,
  mayBeLow: boolean,
  show: (ids: string[]) => string,
): string[] {
  const found = byKey(output)
  return [...new Set([...wanted.keys(), ...found.keys()])].flatMap((key) => {
    const entries = found.get(key) ?? []
    const ids = (wanted.get(key) ?? []).map(({ value }) => value)
    const [is, must] = [show([...new Set(entries.map(idOf))]), show(ids)]
    const most = Math.max(0, ...entries.map(({ value }) => Number(value.split(' ')[0])))
    return [
      ...(is === must ? [] : [`${what} of ${key} has ${is} instead of at least ${must}`]),
      ...(mayBeLow || most >= ids.length ? [] : [`${what} of ${key} counts to ${most} instead of ${ids.length}`]),
    ]
  })
}
