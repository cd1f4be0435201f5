import { readFileSync, writeFileSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

/** The highest nice value on Linux. It means the lowest priority. */
export const LOWEST_PRIORITY = 19
/** Index of the session id among the fields of /proc/<pid>/stat that follow the name in parentheses, from 0. */
const SESSION_FIELD = 3
const AUTOGROUP = '/proc/self/autogroup'

/**
 * Lowers the CPU priority of this process in favour of the other processes on the machine. Threads that start later,
 * such as those of RocksDB, inherit the priority.
 *
 * With autogrouping, as on desktops, the kernel first divides the CPU between sessions, so a process's nice value
 * matters only within its session. The leader of a session therefore also sets the value for its session.
 * @param nice from 0 to 19; a value that is not above the current one changes nothing
 */
export function lowerPriority(nice: number): void {
  if (nice <= getPriority()) return
  setPriority(nice)
  if (process.platform !== 'linux' || sessionOf() !== process.pid) return
  try {
    writeFileSync(AUTOGROUP, String(nice))
  } catch {
    // The write fails if this kernel does not group processes by session, or if the process runs in a container. A
    // container's own group determines its share of the CPU.
  }
}

function sessionOf(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[SESSION_FIELD])
}
