import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const PROGRAM = fileURLToPath(new URL('signalled-process.ts', import.meta.url))

async function starting() {
  const child = spawn(process.execPath, [PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ended = once(child, 'close')
  expect(await lines.next()).toMatchObject({ value: 'starting' })
  return { child, lines, ended }
}

// The kernel ignores a signal for PID 1 unless the process listens for it. A process without a listener would report
// the signal here, and no exit code.
test.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('if a process is still starting, %s ends it with exit code %i', async (signal, code) => {
  const { child, ended } = await starting()
  child.kill(signal)
  expect(await ended).toEqual([code, null])
})

test('after the start, the first signal stops the process, and a repetition of the signal ends it immediately', async () => {
  const { child, lines, ended } = await starting()
  child.stdin.write('\n\n')
  expect([await lines.next(), await lines.next()]).toMatchObject([{ value: 'started 0' }, { value: 'started 1' }])
  child.kill('SIGTERM')
  expect([await lines.next(), await lines.next()]).toMatchObject([{ value: 'stopping 0' }, { value: 'stopping 1' }])
  child.kill('SIGTERM')
  expect(await ended).toEqual([143, null])
})

test('while one part of a process is starting, a signal stops the other parts at once, and this part once it has started', async () => {
  const { child, lines, ended } = await starting()
  child.stdin.write('\n')
  expect(await lines.next()).toMatchObject({ value: 'started 0' })
  child.kill('SIGTERM')
  expect(await lines.next()).toMatchObject({ value: 'stopping 0' })
  child.stdin.write('\n')
  expect([await lines.next(), await lines.next()]).toMatchObject([{ value: 'started 1' }, { value: 'stopping 1' }])
  child.kill('SIGKILL')
  await ended
})
