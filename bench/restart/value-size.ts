/** Default size of a value, similar to that of a card's recent payments in job J2. */
export const VALUE_BYTES = 150
/** A timed value consists of one byte for its kind and a double for its sequence number. */
export const SEQUENCE_AT = 1
export const SHORTEST_VALUE_BYTES = SEQUENCE_AT + Float64Array.BYTES_PER_ELEMENT
