import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startChild } from '../../../../api/kit/child/link.ts'

test('each line that a child writes to standard error is reported as a whole', async () => {
  const lines: string[] = []
  const file = fileURLToPath(new URL('talkative-child.ts', import.meta.url))
  const child = startChild({ file, onLine: (line) => lines.push(line) })
  await child.ended
  await expect.poll(() => lines).toEqual(['a line in two parts', 'another line'])
})

test('a process without free file descriptors cannot start a child, but continues', async () => {
  const parent = fileURLToPath(new URL('crowded-parent.ts', import.meta.url))
  const limited = promisify(execFile)('sh', ['-c', 'ulimit -n 100; exec "$0" "$1"', process.execPath, parent])
  expect((await limited).stdout).toBe('no free file descriptors')
})
