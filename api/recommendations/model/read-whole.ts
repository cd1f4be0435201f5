import { readSync } from 'node:fs'

/**
 * Fills `out` with the bytes at a position of a file.
 * @throws Error if the file ends too early
 */
export function readWhole(file: number, out: Uint8Array, position: number): void {
  const bytes = readSync(file, out, 0, out.length, position)
  if (bytes !== out.length) throw new Error(`a file of the model ends ${out.length - bytes} bytes too early`)
}
