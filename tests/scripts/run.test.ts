import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { sweepTrial, testDisk, trialFolder } from '../../scripts/trial.mjs'

const RUN = fileURLToPath(new URL('../../scripts/run.mjs', import.meta.url))

/**
 * Simulates a machine whose PATH contains only Node and the given programs. The keys of `programs` are their names, and
 * the values are shell scripts.
 */
function machine(programs: Readonly<Record<string, string>> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-setup-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  symlinkSync(process.execPath, join(bin, 'node'))
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`)
    chmodSync(join(bin, name), 0o755)
  }
  const home = join(folder, 'home')
  return {
    home,
    log: () => readFileSync(join(home, 'logs', 'setup.log'), 'utf8'),
    run(...args: string[]) {
      const env = { PATH: bin, MILLRACE_HOME: home, HOME: folder }
      const { status, stderr } = spawnSync(process.execPath, [RUN, ...args], { env, encoding: 'utf8' })
      return { status, stderr }
    },
  }
}

/** A fake Java that answers the request for its version. */
const JAVA = 'echo \'openjdk version "21.0.1" 2023-10-17\' >&2'

test('for an unknown command, the most similar command is suggested, and all commands are listed', () => {
  const { status, stderr } = machine().run('strat')
  expect(machine().run('constructor')).toMatchObject({ status: 2, stderr: expect.stringMatching(/^millrace: unknown command constructor/) })
  expect(status).toBe(2)
  expect(stderr).toMatch(/^millrace: unknown command strat, did you mean start\? Commands: start, status, test, .*\n$/)
})

test('if programs cannot be installed, an error names the missing programs and the command that installs them', () => {
  const { status, stderr } = machine({ java: JAVA }).run('start')
  expect(status).toBe(1)
  expect(stderr).toBe(
    'millrace: missing on this machine: Maven (to fetch Kafka and the search server), redis-server. ' +
      'As root: apt-get update && apt-get install -y --no-install-recommends maven redis-server\n',
  )
})

test('if apt-get fails, its reason is reported in one line, and the rest of its output is written to the log', ({ skip }) => {
  skip(process.getuid?.() !== 0, 'only root may install')
  const failing = machine({ java: JAVA, 'apt-get': 'echo "Reading package lists..."; echo "E: Unable to locate package $5"; exit 100' })
  const { status, stderr } = failing.run('start')
  expect(status).toBe(1)
  expect(stderr).toMatch(
    /installing system packages: maven, redis \.\.\.\nmillrace: system packages could not be installed: E: Unable to locate package/,
  )
  expect(stderr).toMatch(/Check the network and try again; details are in .*setup\.log\n$/)
  expect(failing.log()).toContain('Reading package lists...')
})

test('a data folder that cannot be created is reported in one line', ({ skip }) => {
  skip(process.getuid?.() !== 0, 'only root may install')
  const { home, run } = machine({ 'apt-get': 'exit 0' })
  writeFileSync(home, '')
  const { status, stderr } = run('start')
  expect(stderr).toMatch(/^ {2}installing system packages: .*\nmillrace: E(NOTDIR|EXIST): .*\n$/)
  expect(status).toBe(1)
})

test('commands run without write access to the checkout if another user has installed its packages', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-checkout-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(dirname(RUN), join(folder, 'scripts'), { recursive: true })
  mkdirSync(join(folder, 'node_modules'))
  for (const lockfile of ['package-lock.json', 'node_modules/.package-lock.json']) writeFileSync(join(folder, lockfile), '{"packages":{}}')
  // Even root cannot write through a link into a folder that does not exist.
  symlinkSync(join(folder, 'absent', 'stamp'), join(folder, 'node_modules', '.millrace-lock'))
  writeFileSync(join(folder, 'task.ts'), "process.stdout.write('runs')")
  const { stdout, stderr } = spawnSync(process.execPath, [join(folder, 'scripts', 'run.mjs'), 'task.ts'], { encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(stdout).toBe('runs')
})

test('if a help text cannot be written, for example to a full disk, no stack trace is printed', () => {
  const shell = spawnSync('sh', ['-c', '"$1" "$2" --help 2>&1 >&3 | cat', 'sh', process.execPath, RUN], {
    stdio: ['ignore', 'pipe', 'pipe', openSync('/dev/full', 'w')],
  })
  expect(String(shell.stdout)).toBe('')
})

test('temporary files of tests are on disk if no file system in memory is suitable, and in TMPDIR if the user has set it', () => {
  const { TMPDIR: _, ...env } = process.env
  expect(testDisk(env, '/nowhere')).toBe(tmpdir())
  // A folder is suitable only if a file system in memory is mounted there.
  expect(testDisk(env, import.meta.dirname)).toBe(tmpdir())
  expect(testDisk({ ...env, TMPDIR: '/chosen' })).toBe(tmpdir())
  expect([tmpdir(), '/dev/shm']).toContain(testDisk(env))
})

test('processes and folders that an interrupted test or benchmark left behind are removed', async () => {
  const folder = trialFolder()
  const env = { ...process.env, TMPDIR: folder }
  // Like the servers of the local stack, this process runs in its own process group.
  const left = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { env, stdio: 'ignore', detached: true })
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' })
  onTestFinished(() => void other.kill('SIGKILL'))
  await Promise.all([once(left, 'spawn'), once(other, 'spawn')])
  const ended = once(left, 'exit')

  sweepTrial(folder)
  expect(await ended).toEqual([null, 'SIGKILL'])
  expect(other.exitCode ?? other.signalCode).toBeNull()
  expect(existsSync(folder)).toBe(false)
})
