import { createReadStream } from 'node:fs'
import { createGunzip } from 'node:zlib'

/**
 * Reads a file in chunks, and decompresses it if its name ends with .gz.
 * @throws Error that names the file, if the file cannot be read or decompressed. The errors of zlib, and those of
 * reading a folder, do not name it
 */
export async function* fileBytes(path: string): AsyncGenerator<Buffer> {
  const raw = createReadStream(path)
  const bytes = path.endsWith('.gz') ? raw.pipe(createGunzip()) : raw
  raw.on('error', (error) => bytes.destroy(error))
  try {
    yield* bytes
  } catch (error) {
    throw new Error(`${path} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}
