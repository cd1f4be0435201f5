import { readFileSync, writeFileSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

/** The greatest nice value of Linux. */
export const LOWEST_PRIORITY = 19
/** Field of /proc/<pid>/stat with the session, counted from the state, which follows the name in parentheses. */
const SESSION_FIELD = 3
const AUTOGROUP = '/proc/self/autogroup'

/**
 * Lets other processes of the machine go first. Threads that start later, such as those of RocksDB, inherit the value.
 *
 * A desktop kernel shares the CPU between sessions first, and a process's nice value counts only within its session.
 * The leader of a session therefore gives the value to its session, too.
 * @param nice 0 to 19; lower than today's changes nothing
 */
export function lowerPriority(nice: number): void {
  if (nice <= getPriority()) return
  setPriority(nice)
  if (process.platform !== 'linux' || sessionOf() !== process.pid) return
  try {
    writeFileSync(AUTOGROUP, String(nice))
  } catch {
    // This kernel has no groups for sessions, or the process is in a container whose groups count instead.
  }
}

function sessionOf(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[SESSION_FIELD])
}
