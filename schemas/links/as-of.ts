/**
 * Key of the records of link-stats that report the time up to which a partition is counted. Short codes never contain a
 * colon.
 */
export const AS_OF_KEY = ':as-of'
