import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * Script of the guardian. It waits until its standard input closes. This happens when the owner process ends, even by
 * kill -9. Then it kills every process whose working folder is inside the guarded folder, such as the servers of a test
 * run, and deletes the guarded folder. The guardian is a plain sh script, because sh needs only a megabyte and survives
 * the end of the Node process. One `ls` lists the working folders of all processes. A `readlink` for each process would
 * take half a second of CPU time per folder.
 */
const SCRIPT = `
trap '' INT TERM HUP
cat >/dev/null
cd /
for round in 1 2 3; do
  ls -dln /proc/[0-9]*/cwd 2>/dev/null | while read -r line; do
    process="\${line#*/proc/}"
    case "\${line#*/cwd -> }" in
      "$1"|"$1"/*|"$1 (deleted)"|"$1"/*" (deleted)") kill -9 "\${process%%/*}" 2>/dev/null ;;
    esac
  done
  rm -rf "$1" 2>/dev/null
  [ -e "$1" ] || [ "$round" = 3 ] || sleep 0.2
done
`

export interface Guardian {
  /** Kills the processes and deletes the folder now. Resolves when they are gone. */
  finish(): Promise<void>
}

/** Ensures that neither `folder` nor any process in it remains when this process ends, whatever the reason. */
export function guard(folder: string): Guardian {
  const child: ChildProcess = spawn('sh', ['-c', SCRIPT, 'sh', folder], { cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  child.unref()
  const pipe = child.stdin as NodeJS.WritableStream & { unref?: () => void }
  pipe.unref?.()
  async function finish(): Promise<void> {
    child.ref()
    const ended = once(child, 'exit')
    child.stdin?.end()
    await ended
  }
  return { finish }
}
