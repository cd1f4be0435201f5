import { randomUUID } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** File mode that lets only the owner read the secret. */
const PRIVATE_MODE = 0o600
/** Mode of its folder, which only the owner may list. */
const PRIVATE_FOLDER_MODE = 0o700

/**
 * Reads a secret from a file, or creates it on first use. Several processes may start at once. Linking to an existing
 * name fails, so exactly one of several writers succeeds, and no reader sees a partial file.
 */
export async function createOnce(path: string, make: () => Promise<string>): Promise<string> {
  await mkdir(dirname(path), { recursive: true, mode: PRIVATE_FOLDER_MODE })
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
