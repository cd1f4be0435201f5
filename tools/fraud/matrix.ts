import { closeSync, openSync, writeSync } from 'node:fs'
import { INPUT_FIELDS, type ModelInput, writeInputs } from '../../schemas/fraud/models/inputs.ts'

/** A file of float32 rows with all model inputs, in the format that the Python program reads. */
export interface MatrixFile {
  readonly path: string
  /** Number of values per row. */
  readonly width: number
  readonly count: number
  add(input: ModelInput): void
  close(): void
}

const ROWS_PER_WRITE = 4_096

export function matrixFile(path: string): MatrixFile {
  const width = INPUT_FIELDS.length
  const file = openSync(path, 'w')
  const rows = new Float32Array(ROWS_PER_WRITE * width)
  let waiting = 0
  let count = 0

  function write(): void {
    writeSync(file, rows.subarray(0, waiting * width))
    waiting = 0
  }

  return {
    path,
    width,
    get count() {
      return count
    },
    add(input) {
      writeInputs(input, rows, waiting * width)
      count++
      if (++waiting === ROWS_PER_WRITE) write()
    },
    close() {
      write()
      closeSync(file)
    },
  }
}
