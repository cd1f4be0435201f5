/**
 * The policy for records on which a processor fails. They are skipped, because they must not stop the records of all
 * other products and sellers.
 */
export const SKIPPED = { process: 'dead-letter', produce: 'dead-letter' } as const

/** The policy for records that the topology itself writes. It stops on a bad record, because that is a bug. */
export const INTERNAL = { onError: { decode: 'fail', reject: 'fail' } } as const
