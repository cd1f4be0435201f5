/** A record on which a processor fails must not stop the records of all other products and sellers. */
export const SKIPPED = { process: 'dead-letter', produce: 'dead-letter' } as const

/** The topology itself writes these records, so a bad one is a bug. */
export const INTERNAL = { onError: { decode: 'fail', reject: 'fail' } } as const
