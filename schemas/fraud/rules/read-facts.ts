import { type Facts, factOf } from './facts.ts'
import type { Field, FieldValue, ScoredTransaction, Source } from './field.ts'
import { FIELDS } from './fields.ts'

type Read = (transaction: ScoredTransaction) => unknown

const readers = FIELDS.map((field) => ({ field, read: readerOf(field.source) }))

/**
 * Reads the facts of a transaction, once for all rules. The live evaluation and the back-test both call this function
 * with the data that `txn.scored` logs, so their results agree.
 */
export function factsOfTransaction(transaction: ScoredTransaction): Facts {
  const row = new Array<FieldValue | undefined>(readers.length)
  for (let slot = 0; slot < readers.length; slot++) {
    const { field, read } = readers[slot]
    row[slot] = factOf(field, read(transaction))
  }
  return row
}

/** Returns a function that reads one field of a transaction. The function returns undefined if the value is missing. */
export function valueReader(field: Field): (transaction: ScoredTransaction) => FieldValue | undefined {
  const read = readerOf(field.source)
  return (transaction) => factOf(field, read(transaction))
}

/** Returns the function that reads a source. A path must consist of two or three names. */
function readerOf(source: Source): Read {
  if (typeof source === 'function') return source
  const [part, name, inner] = source.split('.') as [keyof ScoredTransaction, string, string?]
  if (inner === undefined) return (transaction) => property(transaction[part], name)
  return (transaction) => property(property(transaction[part], name), inner)
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
