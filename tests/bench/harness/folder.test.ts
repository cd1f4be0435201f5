import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { inFolder, ownStack, withStarted } from '../../../bench/harness/folder.ts'

const FOLDER = join(import.meta.dirname, '../../../bench/harness/folder.ts')

test('if the benchmark fails, the stack is stopped and the folder is deleted', async () => {
  const stopped: string[] = []
  const start = async (folder: string) => ({ stop: async () => void stopped.push(folder) })
  let folder = ''
  const failing = withStarted(start, async (_, own) => {
    folder = own
    writeFileSync(join(own, 'data'), 'x')
    throw new Error('no figures')
  })
  await expect(failing).rejects.toThrow('no figures')
  expect(stopped).toEqual([folder])
  expect(existsSync(folder)).toBe(false)
})

test('if the stack does not start, the folder is deleted', async () => {
  let folder = ''
  const start = async (own: string): Promise<{ stop(): Promise<void> }> => {
    folder = own
    throw new Error('no broker')
  }
  await expect(withStarted(start, async () => undefined)).rejects.toThrow('no broker')
  expect(existsSync(folder)).toBe(false)
})

test('a private stack has its own folder and ports, and uses the installed tools', async () => {
  await inFolder(async (folder) => {
    const [one, other] = [await ownStack(join(folder, 'one')), await ownStack(join(folder, 'other'))]
    expect(one.MILLRACE_HOME).toBe(join(folder, 'one'))
    const ports = [one, other].map((env) => Object.entries(env).flatMap(([name, port]) => (name.endsWith('_PORT') ? port : [])))
    expect(ports[0].length).toBeGreaterThan(5)
    expect(new Set(ports.flat()).size).toBe(2 * ports[0].length)
    expect(Object.keys(other)).toEqual(Object.keys(one))
    expect(statSync(readlinkSync(join(folder, 'one', 'tools'))).isDirectory()).toBe(true)
  })
})

/**
 * Runs a benchmark in its own process, sends it SIGTERM once it is working, and returns its outcome.
 * @param work the code of the benchmark. It must call `working` with the path of its folder
 */
async function terminated(work: string) {
  const code = `
    const { writeSync } = await import('node:fs')
    const { inFolder, withStarted } = await import(${JSON.stringify(FOLDER)})
    const working = (folder) => new Promise(() => { setInterval(() => {}, 1_000); writeSync(1, folder) })
    ${work}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let errors = ''
  child.stderr.on('data', (data) => {
    errors += data
  })
  const [folder] = await once(child.stdout, 'data')
  child.kill('SIGTERM')
  const [exitCode, signal] = await once(child, 'close')
  return { folder: String(folder), errors, exitCode, signal }
}

test('a signal immediately ends a benchmark that has no stack to stop, even during a long computation', async () => {
  const { folder, errors, signal } = await terminated('await inFolder(async (folder) => { void working(folder); for (;;); })')
  rmSync(folder, { recursive: true })
  expect(errors).toBe('')
  expect(signal).toBe('SIGTERM')
})

test('a signal also ends a benchmark that has already stopped its stack', async () => {
  const { errors, exitCode, signal } = await terminated(
    'await withStarted(async () => ({ stop: async () => {} }), async () => {}); await working("no folder")',
  )
  expect({ errors, exitCode, signal }).toEqual({ errors: '', exitCode: 1, signal: null })
})

test('at a signal, a benchmark stops its stack before it ends', async () => {
  const start = `async () => ({ stop: async () => console.error('stopped') })`
  const use = '(_, folder) => working(folder)'
  const { folder, errors, exitCode } = await terminated(
    // The timer in `working` is not stopped. It keeps the process alive like a client that retries its requests.
    `await withStarted(${start}, ${use}).catch((error) => console.error(error.message))`,
  )
  expect(errors).toBe('stopped\ninterrupted\n')
  expect(exitCode).toBe(1)
  expect(existsSync(folder)).toBe(false)
})
