import { readFileSync } from 'node:fs'

/**
 * Returns the content of a file, or an empty buffer if the file cannot be read. A server may have deleted it since the
 * test listed the folder.
 */
export function contentOf(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch {
    return Buffer.alloc(0)
  }
}
