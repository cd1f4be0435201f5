/** Default size of a value, about as large as the state of a card in job J2. */
export const VALUE_BYTES = 150
/**
 * Offset of the sequence number in a timed value. The value begins with one byte for its kind; the sequence number is a
 * double.
 */
export const SEQUENCE_AT = 1
export const SHORTEST_VALUE_BYTES = SEQUENCE_AT + Float64Array.BYTES_PER_ELEMENT
