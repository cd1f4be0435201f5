/** Key of the records of link-stats that tell up to when a partition is counted; no short code has a colon. */
export const AS_OF_KEY = ':as-of'
