import { createReadStream } from 'node:fs'
import { createGunzip } from 'node:zlib'

/**
 * Reads a file in chunks, and decompresses it if its name ends with .gz.
 * @throws Error that names the file, if the file cannot be read or decompressed. The original error may not name the
 * file, for example if it comes from zlib or if the path is a folder
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
