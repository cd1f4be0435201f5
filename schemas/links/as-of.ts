/**
 * Key of the link-stats records with the time up to which a partition's clicks have been counted. The key cannot be a
 * short code, because short codes never contain a colon.
 */
export const AS_OF_KEY = ':as-of'
