/**
 * Key of the records in link-stats that report the time up to which the clicks of a partition have been counted. The
 * key cannot be a short code, because short codes never contain a colon.
 */
export const AS_OF_KEY = ':as-of'
