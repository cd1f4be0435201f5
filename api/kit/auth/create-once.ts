import { randomUUID } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Readable by its owner alone. */
const PRIVATE_MODE = 0o600

/**
 * A secret that is made on first use and kept in a file. Several processes may start at once: a hard link to an existing name
 * fails, so that exactly one of several writers succeeds, and nobody sees half a file.
 */
export async function createOnce(path: string, make: () => Promise<string>): Promise<string> {
  await mkdir(dirname(path), { recursive: true })
  try {
    return await readFile(path, 'utf8')
  } catch {
    const draft = `${path}.${randomUUID()}`
    await writeFile(draft, await make(), { mode: PRIVATE_MODE })
    try {
      await link(draft, path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      await rm(draft)
    }
    return await readFile(path, 'utf8')
  }
}
