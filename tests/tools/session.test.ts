import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const SCRIPT = `
const { runStreamCommand } = await import(process.argv[1])
await runStreamCommand(({ produce }) => produce(async () => ({ close: async () => {} }), async () => {}))
`

test('the message about unreachable servers does not contain the passwords of the schema registry', async () => {
  const home = mkdtempSync(join(tmpdir(), 'millrace-tools-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const session = join(import.meta.dirname, '../../tools/session.ts')
  const env = {
    ...process.env,
    MILLRACE_HOME: home,
    KAFKA_BROKERS: '127.0.0.1:9',
    SCHEMA_REGISTRY_URL: 'http://name:hidden@127.0.0.1:9,http://name:h@hidden@localhost:9',
  }
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, ['--input-type=module', '-e', SCRIPT, session], { env }, (_, stdout, stderr) => resolve(stdout + stderr))
  })
  expect(output).toContain('the schema registry at http://…@127.0.0.1:9,http://…@localhost:9 failed')
  expect(output).not.toContain('hidden')
}, 30_000)

const SESSION = join(import.meta.dirname, '../../tools/session.ts')

function started(command: string) {
  const script = `const { runStreamCommand } = await import(process.argv[1])\nawait runStreamCommand(${command})`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, SESSION], { stdio: 'pipe' })
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, ended: once(child, 'exit') }
}

test('a command ends when one of its streams fails, although another stream still waits', async () => {
  const { child, ended } = started(`async ({ stopped, pause }) => {
    async function wait() {
      while (!stopped()) await pause(1000)
    }
    await Promise.all([wait(), Promise.reject(new Error('no servers'))])
  }`)
  const [[message]] = await Promise.all([once(child.stderr, 'data'), ended])
  expect(String(message)).toBe('millrace: no servers\n')
  expect(child.exitCode).toBe(1)
})

test('Ctrl-C that arrives twice, from the terminal and from the parent process, does not cut the shutdown short', async () => {
  const { child, ended } = started(`async ({ say, stopped, pause }) => {
    performance.now = () => 0
    say('ready')
    while (!stopped()) await pause(1000)
    say('stopping')
    await new Promise((resolve) => process.stdin.once('data', resolve))
    process.stdin.destroy()
    say('done')
  }`)
  let output = ''
  child.stdout.on('data', (text) => {
    output += text
  })
  const printed = async (text: string) => {
    while (!output.includes(text)) await once(child.stdout, 'data')
  }
  await printed('ready')
  child.kill('SIGINT')
  await printed('stopping')
  child.kill('SIGINT')
  child.stdin.write('go')
  expect(await ended).toEqual([0, null])
  expect(output).toBe('ready\nstopping\ndone\n')
})
