import { openSync } from 'node:fs'
import { startChild } from '../../../../api/kit/child/link.ts'

/** Uses up the file descriptors of this process, and then tries to start a child. */
try {
  for (;;) openSync('/dev/null', 'r')
} catch {
  try {
    startChild({ file: import.meta.filename, onLine() {} })
  } catch (error) {
    process.stdout.write((error as Error).message)
  }
}
