/**
 * The type of a field's values. The last four types are strings of a known form. The check of a condition rejects a
 * literal that does not have the form of the field with which it is compared.
 */
export type FieldType = 'number' | 'boolean' | 'string' | 'country' | 'currency' | 'ip' | 'tier'

export type FieldValue = number | string | boolean

/**
 * The parts of a `txn.scored` event that rules read. Only values that a `Source` function reads are declared, because
 * paths are not type-checked. Absent values are null or undefined.
 */
export interface ScoredTransaction {
  /** `timestamp` is in epoch ms. */
  readonly request: { readonly timestamp: number }
  readonly ip: object
  readonly features: { readonly device_age_days?: number | null; readonly time_since_last_txn_s?: number | null }
}

/** The source of a value: a path in the transaction, or a function of the transaction. */
export type Source = string | ((transaction: ScoredTransaction) => unknown)

export interface Field {
  /** The dotted name in conditions. */
  readonly name: string
  readonly type: FieldType
  /** True if some transactions lack the field. */
  readonly optional: boolean
  /** The unit or meaning of the field, for authors of rules. */
  readonly description: string
  /** The index of the field's value in a row of facts. */
  readonly slot: number
  readonly source: Source
}
