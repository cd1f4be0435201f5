/** Default size of a value, similar to that of a card's recent payments in job J2. */
export const VALUE_BYTES = 150
/** A timed value has its kind, one byte, and then its sequence number, which is a double. */
export const SEQUENCE_AT = 1
export const SHORTEST_VALUE_BYTES = SEQUENCE_AT + Float64Array.BYTES_PER_ELEMENT
