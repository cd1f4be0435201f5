import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const SIZE_MB = 256
const BLOCK = Buffer.alloc(1024 * 1024)
const FILLER = 'filler'

/**
 * A small file system that is mounted over a folder in a separate mount namespace. It disappears with the last process
 * in this namespace. One process keeps the namespace open until `close`.
 */
export interface SmallDisk {
  /** The folder's path as seen from other processes. */
  readonly reach: string
  /** Command prefix that runs a program inside the mount namespace, where the folder is on the small disk. */
  readonly enter: readonly string[]
  /** Name of the file that fills the disk. */
  readonly filler: string
  fill(): void
  free(): void
  close(): void
}

let reason: string | undefined | null = null

/** Returns the reason why this machine cannot have a small disk, or undefined if it can. */
export function noSmallDisk(): string | undefined {
  if (reason !== null) return reason
  const tried = spawnSync('unshare', ['-m', 'sh', '-c', 'mount -t tmpfs -o size=1m chaos /mnt'], { encoding: 'utf8' })
  reason = tried.status === 0 ? undefined : `a file system cannot be mounted here (${(tried.stderr || String(tried.error)).trim()})`
  return reason
}

/**
 * Mounts a small file system.
 * @param home working folder of the process that keeps the namespace open
 * @param folder the mount point
 */
export async function smallDisk(home: string, folder: string): Promise<SmallDisk> {
  const script = `mount -t tmpfs -o size=${SIZE_MB}m chaos "$1" && echo mounted && exec sleep infinity`
  const holder = spawn('unshare', ['-m', 'sh', '-c', script, 'sh', folder], { cwd: home, stdio: ['ignore', 'pipe', 'inherit'] })
  await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit').then(() => Promise.reject(new Error(`${folder} was not mounted`)))])
  const reach = `/proc/${holder.pid}/root${folder}`
  const file = join(reach, FILLER)
  return {
    reach,
    enter: ['nsenter', '-t', String(holder.pid), '-m', '--wd=.'],
    filler: FILLER,
    fill() {
      const handle = openSync(file, 'a')
      try {
        for (let room = BLOCK.length; room >= 1; room >>= 1) while (writes(handle, room));
      } finally {
        closeSync(handle)
      }
    },
    free: () => rmSync(file, { force: true }),
    close: () => void holder.kill('SIGKILL'),
  }
}

/**
 * Writes to the disk.
 * @returns false if it is full
 */
function writes(handle: number, bytes: number): boolean {
  try {
    return writeSync(handle, BLOCK, 0, bytes) === bytes
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false
    throw error
  }
}
