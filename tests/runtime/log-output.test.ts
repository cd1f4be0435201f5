import { execFileSync, type StdioOptions, spawn } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { bufferedOutput } from '../../runtime/log-output.ts'

const PROCESS = fileURLToPath(new URL('logging-process.ts', import.meta.url))
const LINE = `${'x'.repeat(99)}\n`
const MAX_WAITING = 200_000
/** A number of lines that fit neither into the pipe nor into the memory for waiting lines. */
const TOO_MANY = 10_000
const SOON = { timeout: 20_000, interval: 1 }
const CHUNK_BYTES = 65_536

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'log-output-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Runs the logging process. Returns its exit code and its standard error. */
async function run(kind: string, stdout: number | 'pipe') {
  const stdio: StdioOptions = ['ignore', stdout, 'pipe']
  const child = spawn(process.execPath, [PROCESS, kind], { stdio, timeout: 20_000, killSignal: 'SIGKILL' })
  child.stdout?.destroy()
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  return { errors: await text(child.stderr!), code: await exited }
}

test.each(['direct', 'buffered'])('a process whose log is on a full disk continues, and can exit (%s output)', async (kind) => {
  const full = openSync('/dev/full', 'w')
  onTestFinished(() => closeSync(full))
  expect(await run(kind, full)).toEqual({ errors: 'still running', code: 0 })
})

test.each(['direct', 'buffered'])('a process continues after the reader of its log has gone, and can exit (%s output)', async (kind) => {
  expect(await run(kind, 'pipe')).toEqual({ errors: 'still running', code: 0 })
})

test.each(['direct', 'buffered'])('no line is lost when a process exits (%s output)', async (kind) => {
  const path = join(folder(), 'log')
  const file = openSync(path, 'w')
  onTestFinished(() => closeSync(file))
  expect(await run(kind, file)).toMatchObject({ code: 0 })
  const lines = Array.from({ length: 30 }, (_, line) => `line ${line}`)
  expect(readFileSync(path, 'utf8').split('\n')).toEqual([...lines, 'the last line', ''])
})

test('if nobody reads the log, lines are dropped instead of filling the memory, and their number is logged later', async () => {
  const path = join(folder(), 'pipe')
  execFileSync('mkfifo', [path])
  const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  onTestFinished(() => closeSync(pipe))
  const output = bufferedOutput(pipe, MAX_WAITING)
  for (let line = 0; line < TOO_MANY; line++) output.write(LINE)
  const chunk = Buffer.alloc(CHUNK_BYTES)
  let found = ''
  /** Reads the next chunk from the pipe, if there is one. Returns everything that has been read so far. */
  function read(): string {
    try {
      found += chunk.toString('utf8', 0, readSync(pipe, chunk))
    } catch (error) {
      expect((error as NodeJS.ErrnoException).code).toBe('EAGAIN')
    }
    return found
  }
  await expect.poll(() => read().length, SOON).toBeGreaterThanOrEqual(MAX_WAITING)
  output.write('the next line\n')
  await expect.poll(() => read().endsWith('the next line\n'), SOON).toBe(true)
  const kept = found.split(LINE).length - 1
  const [, loss] = /("lines":\d+,"event":"log_lines_dropped")/.exec(found) ?? []
  expect(loss).toBe(`"lines":${TOO_MANY - kept},"event":"log_lines_dropped"`)
})
