import { PackedRows } from '../engine/index.ts'
import { TextBytes } from './term-table.ts'

/** A set of texts, kept as bytes. */
export class TextSet {
  readonly #rows = new PackedRows()
  readonly #given = new TextBytes()

  /** @returns false if the set already had the text */
  add(text: string): boolean {
    const { record, termEnd, hash } = this.#given.of(text)
    if (this.#rows.find(record, 0, termEnd, hash) >= 0) return false
    this.#rows.add(record, 0, termEnd, hash)
    return true
  }

  *[Symbol.iterator](): Generator<string, void, void> {
    const rows = this.#rows
    for (let row = 0; row < rows.count; row++) yield rows.buffer.toString('utf8', rows.keyStart(row), rows.keyEnd(row))
  }
}
