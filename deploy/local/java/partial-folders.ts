import { readdir, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

const PARTIAL = '.partial-'
/**
 * An unfinished folder of this age belongs to no running process, because the longest step, a download, is stopped
 * after 10 minutes. Process ids are not compared, because processes of other containers may use the same volume.
 */
const ABANDONED_MS = 24 * 3_600_000

/** Returns the common prefix of the paths of unfinished folders. A complete folder is renamed to `target`. */
export function partialPath(target: string): string {
  return target + PARTIAL
}

/**
 * Removes unfinished folders that are at least a day old, both of `target` and of its other versions. The names of
 * versions differ only in the hash after the last hyphen.
 * @param now epoch ms
 */
export async function removeAbandoned(target: string, now = Date.now()): Promise<void> {
  const parent = dirname(target)
  const name = basename(target).replace(/[^-]*$/, '')
  const names = await readdir(parent).catch(() => [])
  for (const entry of names.filter((one) => one.startsWith(name) && one.includes(PARTIAL))) {
    const path = join(parent, entry)
    // Another process may remove the folder at the same time.
    const writtenAt = (await stat(path).catch(() => undefined))?.mtimeMs ?? now
    if (now - writtenAt >= ABANDONED_MS) await rm(path, { recursive: true, force: true })
  }
}
