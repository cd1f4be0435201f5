/**
 * Key of the records in link-stats that report the time up to which a partition has been counted. It cannot be a short
 * code, because these never contain a colon.
 */
export const AS_OF_KEY = ':as-of'
