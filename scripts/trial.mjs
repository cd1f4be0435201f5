import { accessSync, constants, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'

/** Interval at which a run checks whether its parent process still exists. */
const PARENT_CHECK_MS = 1_000

/** The folder in which Linux keeps files in memory. */
const MEMORY_DISK = '/dev/shm'
/** Free space that tests need on the memory disk. All servers of a test run together write less than 1 GB. */
const MEMORY_DISK_BYTES = 4 * 1024 ** 3
/**
 * Free memory that is needed for tests with files in memory: 4 GB for servers and processes, and 4 GB for the files.
 */
const FREE_MEMORY_BYTES = 8 * 1024 ** 3

/**
 * Creates the temporary folder of one run of a test or benchmark. Every descendant process inherits the name of the
 * folder in its environment, so that processes left over from a killed run (a broker, a Redis) can be found.
 *   @param parent the folder in which it is created; by default, the system's folder of temporary files
 */
export function trialFolder(parent = tmpdir()) {
  return mkdtempSync(join(parent, 'millrace-run-'))
}

/**
 * Returns the folder for a test run's temporary files. It is in memory if the memory disk is usable and there is enough
 * memory. Tests start and stop servers all the time, and on a disk they would wait for fsync. Like files on disk, files
 * in memory survive a kill -9.
 *   @param env environment variables; a folder that the user chose with TMPDIR is kept
 */
export function testDisk(env, memoryDisk = MEMORY_DISK) {
  if (env.TMPDIR || !isRoomy(memoryDisk)) return tmpdir()
  return memoryDisk
}

/**
 * Returns whether tests can use a memory disk. Containers often mount one that has only 64 MB, or from which no program
 * may be executed.
 */
function isRoomy(folder) {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize >= MEMORY_DISK_BYTES && availableMemory() >= FREE_MEMORY_BYTES && !forbidsPrograms(folder)
  } catch {
    return false
  }
}

/** Returns the available memory. Newer Node versions take the memory limit of a container into account. */
function availableMemory() {
  return process.availableMemory?.() ?? freemem()
}

function forbidsPrograms(folder) {
  const mounted = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .find(([, place]) => place === folder)
  return mounted === undefined || mounted[3].split(',').includes('noexec')
}

/** Kills the processes that a run has left behind and removes its folder. The processes can be found only on Linux. */
export function sweepTrial(folder) {
  for (const pid of processIds()) {
    if (!knowsFolder(pid, folder)) continue
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // The process has already ended.
    }
  }
  rmSync(folder, { recursive: true, force: true })
}

/**
 * Calls `callback` once when the parent process has ended. The check is necessary because npm's shell does not forward
 * the signals that end it.
 */
export function whenOrphaned(callback) {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    callback()
  }, PARENT_CHECK_MS)
  timer.unref()
}

function processIds() {
  try {
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 0)
  } catch {
    return []
  }
}

function knowsFolder(pid, folder) {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`TMPDIR=${folder}`)
  } catch {
    return false
  }
}
