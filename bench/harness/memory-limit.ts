import { appendFileSync, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A memory limit for processes. The page cache of the files that they read and write counts towards the limit. */
export interface MemoryLimit {
  /** Returns the program and arguments that start `command` under the limit. */
  wrap(command: string, args: readonly string[]): [string, string[]]
  /** Removes the limit's control group. Its processes must have ended. */
  remove(): void
}

const CGROUPS = '/sys/fs/cgroup'
const BYTES_PER_MIB = 1024 * 1024
/**
 * Shell script that joins the control group named by its first argument, and then runs the program named by the
 * remaining arguments in place of the shell.
 */
const ENTER = 'echo $$ > "$0/cgroup.procs" && exec "$@"'

/**
 * Creates a Linux control group (version 1 or 2) with a memory limit.
 * @throws Error when the machine has no memory controller, or the process may not create control groups
 */
export function memoryLimit(mib: number, name: string, root: string = CGROUPS): MemoryLimit {
  const { parent, file } = controller(root)
  const group = join(parent, name)
  try {
    mkdirSync(group, { recursive: true })
    writeFileSync(join(group, file), String(mib * BYTES_PER_MIB))
  } catch (error) {
    throw new Error(`cannot limit memory, because ${group} cannot be written: run as root`, { cause: error })
  }
  return {
    wrap: (command, args) => ['/bin/sh', ['-c', ENTER, group, command, ...args]],
    remove: () => rmdirSync(group),
  }
}

/**
 * Finds the folder for new control groups, and the name of the file that holds a group's limit. In version 2, also
 * enables the memory controller for the new groups.
 */
function controller(root: string): { parent: string; file: string } {
  const first = join(root, 'memory')
  if (existsSync(join(first, 'memory.limit_in_bytes'))) return { parent: first, file: 'memory.limit_in_bytes' }
  const controllers = join(root, 'cgroup.controllers')
  if (!existsSync(controllers) || !readFileSync(controllers, 'utf8').split(/\s+/).includes('memory'))
    throw new Error(`cannot limit memory, because ${root} has no memory controller`)
  try {
    appendFileSync(join(root, 'cgroup.subtree_control'), '+memory')
  } catch (error) {
    throw new Error(`cannot limit memory, because ${root} cannot be written: run as root`, { cause: error })
  }
  return { parent: root, file: 'memory.max' }
}
