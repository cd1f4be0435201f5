/**
 * Policy for records on which a processor fails or whose output cannot be written. They become dead letters, so that
 * one bad record does not hold up all other products and sellers.
 */
export const SKIPPED = { process: 'dead-letter', produce: 'dead-letter' } as const

/** Policy for records that the topology itself writes. Only a bug can make such a record bad, so the worker stops. */
export const INTERNAL = { onError: { decode: 'fail', reject: 'fail' } } as const
