import type { AvroSchema } from '../../pipelines/engine/index.ts'

/** Creates the schema of a record that has only long fields. */
export function longRecord(name: string, fields: readonly string[]): AvroSchema {
  return { type: 'record', name, namespace: 'millrace.bench', fields: fields.map((field) => ({ name: field, type: 'long' })) }
}

/**
 * Reads as many zigzag varints as `into` has elements. This code is separate from the codec under test, so that the
 * codec does not verify itself.
 * @returns whether these varints fill the range exactly
 */
export function readLongs(buffer: Buffer, start: number, end: number, into: Float64Array): boolean {
  let at = start
  for (let field = 0; field < into.length; field++) {
    let value = 0
    let scale = 1
    for (;;) {
      if (at >= end) return false
      const byte = buffer[at++]
      value += (byte & 0x7f) * scale
      scale *= 128
      if (byte < 0x80) break
    }
    into[field] = value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }
  return at === end
}
