import { readdirSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * Patterns for the names of record files and of their folders. Each partition has one folder, named after the topic and
 * the partition number.
 */
const LOG = /^\d+\.log$/
const PARTITION = /^(.+)-\d+$/

/** Returns the size of each topic's records on the broker's disk, in bytes. */
export function bytesByTopic(folder: string): Map<string, number> {
  const sums = new Map<string, number>()
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!LOG.test(basename(file))) continue
    const topic = PARTITION.exec(basename(dirname(file)))?.[1]
    if (topic !== undefined) sums.set(topic, (sums.get(topic) ?? 0) + sizeOf(join(folder, file)))
  }
  return sums
}

/** Returns the total size of all files in a folder and its subfolders, in bytes. */
export function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).reduce((sum, file) => sum + sizeOf(join(folder, file)), 0)
}

/** Returns the size of a file; 0 if it is not a file or no longer exists. The servers may delete files at any time. */
function sizeOf(file: string): number {
  const found = statSync(file, { throwIfNoEntry: false })
  return found?.isFile() === true ? found.size : 0
}
