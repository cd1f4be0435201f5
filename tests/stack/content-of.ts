import { readFileSync } from 'node:fs'

/**
 * Returns the content of a file, or an empty content if a server has deleted the file since the test listed the folder.
 */
export function contentOf(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch {
    return Buffer.alloc(0)
  }
}
