/** Describes how a table keeps the values of a topic. */
export interface Holding<V, H> {
  /**
   * Version of the JSON. Increase the version when the meaning of the JSON changes, so that older snapshots are
   * ignored.
   */
  readonly version: number
  /** Returns the value in its in-memory form. Throws CodecError for a value that must be skipped. */
  hold(value: V): H
  /** Returns a JSON value that represents the entry in the snapshot. */
  save(held: H): unknown
  load(saved: unknown): H
  /** Called after every change to the served contents, and when the table begins to serve different contents. */
  onChange?(): void
}

/** Keeps values unchanged. Suitable only for records without bigints or bytes, which JSON cannot represent. */
export function heldAsIs<V>(version: number, onChange?: () => void): Holding<V, V> {
  return { version, hold: (value) => value, save: (held) => held, load: (saved) => saved as V, onChange }
}
