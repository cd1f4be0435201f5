import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { startChild } from '../../../../api/kit/child/link.ts'

test('each line that a child writes to standard error is reported as a whole', async () => {
  const lines: string[] = []
  const file = fileURLToPath(new URL('talkative-child.ts', import.meta.url))
  const child = startChild({ file, onLine: (line) => lines.push(line) })
  await child.ended
  await vi.waitFor(() => expect(lines).toEqual(['a line in two parts', 'another line']))
})
